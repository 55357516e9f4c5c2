# SPDX-License-Identifier: Apache-2.0
"""Hashes of input files, to which results refer."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sysid_core.errors import SysIdError
from sysid_core.progress import report_progress

_BLOCK = 1 << 20  # bytes


def hash_of(path: str | Path) -> str:
    """SHA-256 of a file, or of a folder's files with their names.

    Raises:
        SysIdError: It isn't there, or is a device or pipe, which has no end.
    """
    path, whole = Path(path), hashlib.sha256()
    if not path.exists():
        raise SysIdError(f"There is no '{path}'.", remedy="Check the path.")
    if not (path.is_file() or path.is_dir()):
        raise SysIdError(f"'{path}' is not a regular file.", remedy="Give files and folders.")
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        if path.is_dir():
            whole.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        size = file.stat().st_size
        with file.open("rb") as content:
            while block := content.read(_BLOCK):
                whole.update(block)
                report_progress(file.name, min(content.tell() / max(size, 1), 1.0))
    return whole.hexdigest()
