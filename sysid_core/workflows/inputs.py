# SPDX-License-Identifier: Apache-2.0
"""What a result came from: files with their hashes, and settings, so that it can be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sysid_core.batch import hash_of
from sysid_core.settings import plain_settings
from sysid_core.workflows.settings import IdentifySettings


def inputs_of(settings: IdentifySettings) -> dict[str, Any]:
    """The `inputs` of result.json."""
    return {
        "robot": settings.robot,
        "files": [f for role, paths in settings.files.items() for f in hashed(role, paths)],
        "options": plain_settings(settings),
    }


def hashed(role: str, paths: Sequence[Path]) -> list[dict[str, str]]:
    """Entries of files with their sha256."""
    return [{"role": role, "path": str(path.resolve()), "sha256": hash_of(path)} for path in paths]


def paths_by_role(listed: Sequence[Mapping[str, str]]) -> dict[str, list[Path]]:
    """Paths of entries by what the files are."""
    out: dict[str, list[Path]] = {}
    for file in listed:
        out.setdefault(file["role"], []).append(Path(file["path"]))
    return out
