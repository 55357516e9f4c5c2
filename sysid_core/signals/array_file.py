# SPDX-License-Identifier: Apache-2.0
"""Tables that are no text: NPZ, Parquet, MAT."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.robot import Array

ARRAY_ENDINGS = (".npz", ".parquet", ".mat")
_REMEDY = "Give a CSV, NPZ, Parquet or MAT file (MATLAB's version 7.3 is HDF5: save with -v7)."


def read_arrays(path: Path) -> dict[str, Array]:
    """Columns by name, shape (K,) each.

    Raises:
        SignalError: The file can't be read.
    """
    if path.suffix != ".parquet":
        return flat_columns(stored_arrays(path))
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as err:
        raise SignalError("Parquet needs pyarrow.", remedy="pip install pyarrow.") from err
    try:
        read = pyarrow.parquet.read_table(path)
    except (OSError, ValueError, pyarrow.ArrowException) as err:
        raise SignalError(f"'{path}' can't be read: {err}.", remedy=_REMEDY) from err
    return flat_columns({name: read[name].to_numpy() for name in read.column_names})


def stored_arrays(path: Path) -> dict[str, Any]:
    """Arrays of an NPZ or MAT file by name.

    Raises:
        SignalError: The file can't be read.
    """
    try:
        if path.suffix == ".mat":
            import scipy.io

            return {k: v for k, v in scipy.io.loadmat(path).items() if not k.startswith("__")}
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except Exception as err:  # damaged files of these kinds raise what their bytes happen to hit
        raise SignalError(f"'{path}' can't be read: {err}.", remedy=_REMEDY) from err


def flat_columns(arrays: Mapping[str, Any]) -> dict[str, Array]:
    """Columns of shape (K,); arrays (K, n) become n of them, `name.0`, …; what are no numbers is left out."""
    out: dict[str, Array] = {}
    for name, values in arrays.items():
        array = np.asarray(values)
        if array.dtype.kind not in "biuf" or not array.size:
            continue
        array = array.squeeze() if array.ndim == 2 and 1 in array.shape else array
        if array.ndim == 1:
            out[name] = array
        elif array.ndim == 2:
            out |= {f"{name}.{k}": array[:, k] for k in range(array.shape[1])}
    return out
