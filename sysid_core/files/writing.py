# SPDX-License-Identifier: Apache-2.0
"""Writing of files that appear only when they are complete, even after a power failure."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Context manager for writing a file, which gets its name only when it is complete and on disk.

    Until then a file that had the name keeps it, also if the writer fails or is killed. Pipes and
    devices are written directly.

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
