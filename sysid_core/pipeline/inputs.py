# SPDX-License-Identifier: Apache-2.0
"""What a result came from: files with their hashes, and settings, so that it can be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def inputs_of(
    *,
    robot: str,
    recordings: Sequence[Path],
    validate: Sequence[Path] = (),
    loaded: Sequence[Path] = (),
    columns: Path | None = None,
    others: Mapping[str, Sequence[Path]] | None = None,
    settings: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The `inputs` of result.json.

    Args:
        robot: URDF file, or a robot of example-robot-data.
        recordings: Fitted.
        validate: Only predicted.
        loaded: Carried a known load.
        columns: Column map.
        others: Further files by role.
        settings: Options of the command that changed what was done.
        options: All options of the command, for results that only it repeats.
    """
    from sysid_core.batch import hash_of  # `--help` imports this room

    groups = {
        "robot": [Path(robot)] if Path(robot).is_file() else [],
        "columns": [] if columns is None else [columns],
        "recordings": recordings,
        "validate": validate,
        "loaded": loaded,
        **(others or {}),
    }
    files = [
        {"role": role, "path": str(path.resolve()), "sha256": hash_of(path)}
        for role, paths in groups.items()
        for path in paths
    ]
    return {
        "robot": robot,
        "files": files,
        "settings": dict(settings),
        "options": dict(options or {}),
    }
