# SPDX-License-Identifier: Apache-2.0
"""Arrays in NPZ files."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Collection
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sysid_core.files.kind import FileKind

MOST_ARRAY_BYTES = 256 << 20  # all arrays of a file: 20 hours of seven joints at 100 Hz


def read_npz(path: str | Path, kind: FileKind, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an NPZ file, with any shapes; pickled objects are refused.

    Args:
        path: The file.
        kind: Expected kind of the file.
        names: Arrays that it must have; others are left alone.

    Raises:
        SysIdError: damaged, an array missing, or larger than it may be.
    """
    try:
        with kind.open(path) as file, zipfile.ZipFile(file) as archive:
            sizes = {item.filename: item.file_size for item in archive.infolist()}
            missing = [name for name in names if f"{name}.npy" not in sizes]
            if missing:
                raise kind.refusal(path, f"it has no array {', '.join(map(repr, missing))}")
            if sum(sizes[f"{name}.npy"] for name in names) > MOST_ARRAY_BYTES:
                raise kind.refusal(path, f"its arrays have more than {MOST_ARRAY_BYTES >> 20} MB")
            return {name: _array(archive.read(f"{name}.npy")) for name in names}
    except (
        zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
        RuntimeError, SyntaxError, MemoryError,
    ) as err:  # fmt: skip
        raise kind.refusal(path, f"it is not a valid NPZ file ({err})") from err


def _array(content: bytes) -> NDArray[Any]:
    """One `.npy` member, whose header must fit its size."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else (np.lib.format.read_array_header_2_0)
    )
    shape, _, dtype = read(stream)
    if dtype.hasobject or prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"an array of shape {shape} and type {dtype} is not supported")
    stream.seek(0)
    return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
