# SPDX-License-Identifier: Apache-2.0
"""Binary tables (NPZ, Parquet, MAT), and export of recordings as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.files import FileKind, written_whole
from sysid_core.robot import Array
from sysid_core.signals.recording import Recording

ARRAY_ENDINGS = (".npz", ".parquet", ".mat")
_TABLE = FileKind(
    "table",
    "Give a CSV, NPZ, Parquet or MAT file (MATLAB's version 7.3 is HDF5: save with -v7).",
    SignalError,
)


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the columns of a binary table by name, shape (K,) each.

    Raises:
        SignalError: The file cannot be read.
    """
    if path.suffix != ".parquet":
        return flat_columns(stored_arrays(path))
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as err:
        raise SignalError("Parquet needs pyarrow.", remedy="pip install pyarrow.") from err
    with _TABLE.open(path) as file:
        try:
            read = pyarrow.parquet.read_table(file)
        except (OSError, ValueError, pyarrow.ArrowException) as err:
            raise _TABLE.refusal(path, str(err)) from err
    return flat_columns({name: read[name].to_numpy() for name in read.column_names})


def stored_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of an NPZ or MAT file by name.

    Raises:
        SignalError: The file cannot be read.
    """
    if path.suffix != ".mat":
        return _TABLE.read_npz(path)
    import scipy.io

    with _TABLE.open(path) as file:
        try:
            stored = scipy.io.loadmat(file, simplify_cells=True)
        except Exception as err:  # damaged files raise what their bytes happen to hit
            raise _TABLE.refusal(path, str(err)) from err
    return dict(_unnested({k: v for k, v in stored.items() if not k.startswith("__")}))


def _unnested(stored: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield all arrays of a MAT file, with the fields of MATLAB structs as `struct.field`."""
    for name, value in stored.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{field}", array) for field, array in _unnested(value))
        else:
            yield name, value


def flat_columns(arrays: Mapping[str, Any]) -> dict[str, Array]:
    """Return the columns of shape (K,); arrays (K, n) and (K, m, n) become `name.0`, …. If the
    samples are along the last axis of an array, this axis is first moved to the front. Non-numeric
    arrays are omitted.
    """
    stored = {name: _numbers(values) for name, values in arrays.items()}
    count = max((len(array) for array in stored.values() if array.ndim == 1), default=0)
    out: dict[str, Array] = {}
    for name, array in stored.items():
        if array.dtype.kind not in "biuf" or not array.size or array.ndim not in (1, 2, 3):
            continue
        if array.shape[0] < array.shape[-1] == count:  # such as MATLAB's 4x4xK
            array = np.moveaxis(array, -1, 0)
        if array.ndim == 1:
            out[name] = array
        else:
            rows = array.reshape(len(array), -1)
            out |= {f"{name}.{k}": rows[:, k] for k in range(rows.shape[1])}
    return out


def _numbers(values: Any) -> Array:
    """Array without axes of length 1; lists of numbers in a column of Parquet become rows."""
    array = np.asarray(values)
    if array.dtype.kind == "O" and array.ndim and len({np.shape(row) for row in array}) == 1:
        array = np.array([np.asarray(row) for row in array])
    return array.squeeze() if array.ndim == 2 and 1 in array.shape else array


def export_recording(recording: Recording, out: str | Path) -> tuple[Path, ...]:
    """Write joint states and wrenches to a file, in the format given by the file extension.

    Columns: `stamp_ns`, then `q.<joint>` [rad or m], `v.<joint>`, `effort.<joint>`; wrenches `fx fy
    fz tx ty tz` [N, N m]. An NPZ file contains all streams, and the marks as well. CSV and Parquet
    have one file for each stream (`run.csv`, `run.wrench.csv`) and no marks.

    Args:
        recording: Recording to be written.
        out: Path of the new file, with ending .npz, .csv or .parquet.

    Returns:
        Paths of the written files.

    Raises:
        SignalError: The path has another ending, the file exists, or pyarrow is not installed (for
            Parquet).
    """
    out = Path(out)
    write = {".csv": _write_csv, ".parquet": _write_parquet}.get(out.suffix)
    if write is None and out.suffix != ".npz":
        raise SignalError(
            f"'{out}' ends in neither .npz nor .csv nor .parquet.",
            remedy="The extension of the file selects the format.",
        )
    streams = {"": _joint_columns(recording)}
    if recording.wrench is not None:
        streams[".wrench"] = _wrench_columns(recording)
    files = (
        (out,)
        if write is None
        else tuple(out.with_name(out.stem + name + out.suffix) for name in streams)
    )
    for file in files:
        if file.exists():
            raise SignalError(f"'{file}' exists already.", remedy="Name another file.")
    if write is None:
        arrays: dict[str, Any] = {
            f"{'wrench' if name else 'joints'}.{column}": values
            for name, columns in streams.items()
            for column, values in columns.items()
        }
        arrays["marks.label"] = np.array([mark.label for mark in recording.marks], dtype=str)
        arrays["marks.stamp_ns"] = np.array([mark.stamp_ns for mark in recording.marks])
        with written_whole(out) as target:
            np.savez_compressed(target, **arrays)
    else:
        for file, columns in zip(files, streams.values(), strict=True):
            with written_whole(file) as target:
                write(target, columns)
    return files


def _joint_columns(recording: Recording) -> dict[str, Any]:
    joints = recording.joints
    columns: dict[str, Any] = {"stamp_ns": joints.stamps_ns}
    for key in ("q", "v", "effort"):
        values = getattr(joints, key)
        if values is not None:
            columns |= {f"{key}.{name}": values[:, j] for j, name in enumerate(joints.names)}
    return columns


def _wrench_columns(recording: Recording) -> dict[str, Any]:
    wrench = recording.wrench
    assert wrench is not None
    names = ("fx", "fy", "fz", "tx", "ty", "tz")
    return {"stamp_ns": wrench.stamps_ns} | {n: wrench.wrench[:, k] for k, n in enumerate(names)}


def _write_csv(file: BinaryIO, columns: dict[str, Any]) -> None:
    file.write((",".join(columns) + "\n").encode())
    for row in zip(*(values.tolist() for values in columns.values()), strict=True):
        file.write((",".join(map(repr, row)) + "\n").encode())


def _write_parquet(file: BinaryIO, columns: dict[str, Any]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as err:
        raise SignalError(
            "Parquet needs pyarrow, which isn't installed.",
            remedy="pip install pyarrow, or export .npz or .csv.",
        ) from err
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
