# SPDX-License-Identifier: Apache-2.0
"""Files on disk: writing of complete files, and hashes."""

from __future__ import annotations

import hashlib
import json
import math
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sysid_core.errors import SysIdError
from sysid_core.progress import report_progress

_BLOCK = 1 << 20  # bytes


@contextmanager
def written_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Provide a file for writing, which gets its name only when it is complete and on disk.

    Until then an existing file with this name is unchanged, even if the writer fails or is killed.
    If the path is a pipe or a device, it is written directly, without a temporary file.

    Args:
        path: Path of the file.

    Raises:
        OSError: The file cannot be written; `filename` is its name.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    hidden = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex[:8]}")
    try:
        with hidden.open("wb") as file:
            yield file
        move_whole(hidden, path)
    except OSError as err:  # of a full disk Python doesn't say which file it was
        if err.filename is None or str(err.filename) == str(hidden):
            raise OSError(err.errno, err.strerror, str(path)) from err
        raise
    finally:
        with suppress(OSError):  # not there; the folder isn't one
            hidden.unlink()


def move_whole(file: Path, place: Path) -> None:
    """Rename a complete file after it has been flushed to disk, and then flush its folder, so that
    a power failure leaves neither a partial file nor the previous one.

    Raises:
        OSError: The file cannot be renamed.
    """
    with file.open("rb") as content:
        os.fsync(content.fileno())
    file.replace(place)
    with suppress(OSError):  # some file systems have no folders that can be written
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file that appears only when it is complete (see `written_whole`).

    Raises:
        OSError: The file cannot be written.
    """
    with written_whole(path) as file:
        file.write(text.encode("utf-8"))


def hash_of(path: str | Path) -> str:
    """Compute the SHA-256 hash of a file, or of a folder from its files and their names.

    Raises:
        SysIdError: The path does not exist, or is a device or pipe.
    """
    path, whole = Path(path), hashlib.sha256()
    if not path.exists():
        raise SysIdError(f"There is no '{path}'.", remedy="Check the path.")
    if not (path.is_file() or path.is_dir()):
        raise SysIdError(f"'{path}' is not a regular file.", remedy="Give a file or a folder.")
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        if path.is_dir():
            whole.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        size = file.stat().st_size
        try:
            with file.open("rb") as content:
                while block := content.read(_BLOCK):
                    whole.update(block)
                    report_progress(file.name, min(content.tell() / max(size, 1), 1.0))
        except OSError as err:
            raise SysIdError(
                f"'{file}' can't be read: {err.strerror}.", remedy="Check the disk and permissions."
            ) from err
    return whole.hexdigest()


def json_text(value: object) -> str:
    """Return the JSON text in which non-finite numbers are null, ending with a newline."""
    return json.dumps(_finite(value), indent=2, allow_nan=False) + "\n"


def write_json(path: str | Path, value: object) -> None:
    """Write a JSON file, which appears only when it is complete; non-finite numbers are null."""
    write_text(path, json_text(value))


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
