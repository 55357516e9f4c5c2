# SPDX-License-Identifier: Apache-2.0
"""Files on disk: kinds with their error messages, safe opening, whole writing, hashes."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sysid_core.errors import SysIdError
from sysid_core.progress import report_progress

MOST_BYTES = 64 << 20  # of a text file: an estimate of 500 parameters with its covariance has 6 MB
_BLOCK = 1 << 20  # bytes


@dataclass(frozen=True)
class FileKind:
    """Kind of file that the package reads, such as URDF or bag.

    Attributes:
        name: What it is called in errors: "column map".
        remedy: What to do about a file that can't be used, one sentence.
        error: The error that its readers raise.
    """

    name: str
    remedy: str
    error: type[SysIdError] = SysIdError

    def refusal(self, path: str | Path, why: str, remedy: str = "") -> SysIdError:
        """Error for an unusable file of this kind.

        Args:
            path: The file.
            why: What is wrong, a clause without its full stop.
            remedy: What to do; the kind's own where empty.
        """
        return self.error(
            f"The {self.name} '{path}' can't be used: {why.rstrip('.')}.",
            remedy=remedy or self.remedy,
            path=str(path),
        )


def open_regular(path: str | Path, kind: FileKind) -> BinaryIO:
    """Open a regular file for reading; pipes, devices and folders are refused because they may
    block.

    Raises:
        SysIdError: it can't be opened, or is no regular file.
    """
    try:
        # Without O_NONBLOCK a named pipe without a writer blocks in open() itself.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as err:
        raise kind.refusal(path, err.strerror or str(err)) from err
    except ValueError as err:  # a NUL in the path
        raise kind.refusal(repr(str(path)), str(err)) from err
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        os.close(handle)
        what = "it is a folder" if folder else "it is a pipe or a device, not a file"
        raise kind.refusal(path, what, "" if folder else "Write it to a file first.")
    return os.fdopen(handle, "rb")


def read_bytes(path: str | Path, kind: FileKind, *, most: int = MOST_BYTES) -> bytes:
    """Content of a regular file.

    Args:
        path: The file.
        kind: What it should be.
        most: Bytes that such a file may have.

    Raises:
        SysIdError: it can't be read, or is larger.
    """
    with open_regular(path, kind) as file:
        try:
            content = file.read(most + 1)
        except OSError as err:
            raise kind.refusal(path, err.strerror or str(err)) from err
    if len(content) > most:
        raise kind.refusal(path, f"it has more than {most >> 20} MB")
    return content


def read_text(path: str | Path, kind: FileKind, *, most: int = MOST_BYTES) -> str:
    """Text of a UTF-8 file, without the byte-order mark that spreadsheets write.

    Raises:
        SysIdError: it can't be read, or isn't UTF-8.
    """
    content = read_bytes(path, kind, most=most)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = content.count(b"\n", 0, err.start) + 1
        raise kind.refusal(
            path,
            f"line {line} holds the byte 0x{content[err.start]:02x}, which isn't UTF-8",
            f"If it is a {kind.name}, save it with the encoding UTF-8; letters such as µ in comments"
            " matter as well.",
        ) from err


@contextmanager
def written_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Context manager for writing a file, which gets its name only when it is complete and on disk.

    Until then an existing file with this name is unchanged, even if the writer fails or is killed.
    Pipes and devices are written directly.

    Args:
        path: The file's name.

    Raises:
        OSError: It can't be written; `filename` is the file's.
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
    """Rename a complete file after it has been written to disk, so that a power failure never
    leaves a partial file.

    Raises:
        OSError: It can't be moved.
    """
    with file.open("rb") as content:
        os.fsync(content.fileno())
    file.replace(place)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file that appears only when it is complete (see `written_whole`).

    Raises:
        OSError: It can't be written.
    """
    with written_whole(path) as file:
        file.write(text.encode("utf-8"))


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


def json_text(value: object) -> str:
    """JSON text in which non-finite numbers are null, ending with a newline."""
    return json.dumps(_finite(value), indent=2, allow_nan=False) + "\n"


def write_json(path: str | Path, value: object) -> None:
    """Write a JSON file whole; non-finite numbers are null."""
    write_text(path, json_text(value))


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
