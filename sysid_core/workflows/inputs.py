# SPDX-License-Identifier: Apache-2.0
"""Provenance of a result: files with their hashes, settings, and result.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sysid_core.errors import EstimationError
from sysid_core.files import FileKind, hash_of
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
    """Paths of the entries by role."""
    out: dict[str, list[Path]] = {}
    for file in listed:
        out.setdefault(file["role"], []).append(Path(file["path"]))
    return out


RESULT = FileKind(
    "result", "Give the folder that `sysid identify` wrote with this version.", EstimationError
)


def json_text(value: object) -> str:
    """JSON with null for non-finite numbers, ending with a newline."""
    return json.dumps(_finite(value), indent=2, allow_nan=False) + "\n"


def write_result(value: object, path: Path) -> None:
    """Write a result."""
    path.write_text(json_text(value), encoding="utf-8")


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
