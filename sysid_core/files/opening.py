# SPDX-License-Identifier: Apache-2.0
"""Safe opening of files named by users: regular files of bounded size, valid text."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from sysid_core.files.kind import FileKind

MOST_BYTES = 64 << 20  # of a text file: an estimate of 500 parameters with its covariance has 6 MB


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
            "Save it with the encoding UTF-8 (special letters in comments count too)"
            f" if it is a {kind.name}.",
        ) from err
