# SPDX-License-Identifier: Apache-2.0
"""Result files: JSON that every parser takes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from sysid_core.errors import EstimationError
from sysid_core.files import FileKind

RESULT = FileKind(
    "result", "Give the folder that `sysid identify` wrote with this version.", EstimationError
)


def json_text(value: object) -> str:
    """JSON with null where a number isn't finite, and a line's end."""
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
