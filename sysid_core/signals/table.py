# SPDX-License-Identifier: Apache-2.0
"""Recordings as tables (CSV)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import SignalError
from sysid_core.files import FileKind, open_regular
from sysid_core.robot import Array
from sysid_core.signals.column_file import Column
from sysid_core.signals.column_map import ColumnMap
from sysid_core.signals.recording import JointStream, Recording

LEAST_STEP, LONGEST_STEP = 2e-5, 0.5  # [s] no robot is logged faster, or identified slower
_LONGEST_LINE = 1_000_000  # characters: 1000 joints need 50 000
_ENCODING = "utf-8-sig"  # spreadsheets begin with a byte-order mark


def read_table(path: str | Path, columns: ColumnMap) -> Recording:
    """Read a recording from a table, or from a folder of tables side by side.

    Args:
        path: A CSV file; a folder where the map lists `files`.
        columns: What is in it.

    Raises:
        SignalError: Wrong number of columns, text where a number should be, NaN, infinite
            values, or time that runs backward.
    """
    path = Path(path)
    if not columns.position or (columns.time is None and columns.rate_hz <= 0.0):
        raise SignalError(
            "The column map says nothing of positions, or nothing of time.",
            remedy="Give `position: {columns: [...]}` and `time: {column: 0, unit: s}` or"
            " `rate_hz: 1000`. Maps without them only describe the drives of a bag.",
        )
    values, n_rows = _used_columns(path, columns)
    if columns.time is None:
        time = np.arange(n_rows) / columns.rate_hz
    else:
        time = values[columns.time] * columns.time_scale
    keep = _new_stamps(time, path, columns.header)
    repeated = int(np.sum(~keep))
    notes = (f"{repeated} rows with a repeated time stamp were dropped.",) if repeated else ()
    q, v, a, effort = _joint_signals(columns, values, n_rows)
    stream = JointStream(
        names=columns.joints,
        stamps_ns=np.round((time - time[0]) * 1e9).astype(np.int64),
        q=q,
        v=v,
        a=a,
        effort=effort,
        effort_kind=columns.effort_kind,
    )
    stream = columns.without_unused(stream.select(keep))
    return Recording(joints=stream, source=str(path), notes=notes)


def _used_columns(path: Path, columns: ColumnMap) -> tuple[dict[Column, Array], int]:
    """The columns that the map names, each (K,), from one table or several side by side; and K."""
    paths = [path / name for name in columns.files] if columns.files else [path]
    heads = [_head(p, columns) for p in paths]
    first = np.cumsum([0, *(len(head) for head in heads)])  # of each table's columns
    if columns.n_columns and first[-1] != columns.n_columns:
        raise SignalError(
            f"'{path}' has {first[-1]} columns, the column map expects {columns.n_columns}.",
            remedy="Use the column map that belongs to this recording.",
            found=int(first[-1]),
            expected=columns.n_columns,
        )
    prefix = [f"{p.stem}:" if columns.files else "" for p in paths]
    names = [pre + name for pre, head in zip(prefix, heads, strict=True) for name in head]
    used = [columns.time] if columns.time is not None else []
    used += [*columns.position, *columns.velocity, *columns.acceleration]
    used += [column for column in columns.effort if column is not None]
    used += columns.known_torques.values()
    index = {column: _column_index(column, names, path) for column in used}
    values = {
        start + k: one
        for p, (start, end) in zip(paths, pairwise(first), strict=True)
        for k, one in _read_columns(
            p, columns, sorted({k - start for k in index.values() if start <= k < end})
        ).items()
    }
    lengths = sorted({len(one) for one in values.values()})
    if len(lengths) > 1:
        raise SignalError(
            f"The tables in '{path}' have {lengths} rows.",
            remedy="Tables that are put side by side must belong to the same run.",
        )
    for column, k in index.items():
        bad = np.flatnonzero(~np.isfinite(values[k]))
        if len(bad):
            raise SignalError(
                f"Column {column!r} of '{path}' is NaN or infinite in {len(bad)} rows, first in"
                f" row {bad[0] + 1 + columns.header}.",
                remedy="Remove these rows or record again.",
                rows=bad,
            )
    return {column: values[k] for column, k in index.items()}, lengths[0]


def _joint_signals(
    columns: ColumnMap, values: dict[Column, Array], n_rows: int
) -> tuple[Array, Array | None, Array | None, Array | None]:
    """q, v, a and efforts at the joints, (K, n) each."""

    def pick(which: Sequence[Column | None], scale: float | Array) -> NDArray[Any] | None:
        none = np.zeros(n_rows)
        arrays = [none if c is None else values[c] for c in which]
        return np.column_stack(arrays) * scale if which else None

    q = np.column_stack([values[c] for c in columns.position]) * columns.position_scale
    v = pick(columns.velocity, columns.velocity_scale)
    a = pick(columns.acceleration, columns.acceleration_scale)
    effort = pick(columns.effort, 1.0)
    if columns.reduction is not None:
        to_joint = np.linalg.inv(columns.reduction).T
        q = q @ to_joint + columns.zero
        v, a = (None if x is None else x @ to_joint for x in (v, a))
        if effort is not None:
            effort = (effort * columns.drives.gains) @ columns.reduction
    for joint, column in columns.known_torques.items():
        if effort is not None:  # what acts beside the drive, as if the drive gave it
            j = columns.joints.index(joint)
            gain = columns.drives.gains[j] if columns.reduction is None else 1.0
            effort[:, j] += values[column] / gain
    return q, v, a, effort


def _new_stamps(time: Array, path: Path, header: bool) -> NDArray[np.bool_]:
    """Rows that don't repeat a stamp, (K,); time must not run backward, nor be of another unit."""
    if np.any((step := np.diff(time)) < 0):
        row = int(np.argmax(step < 0)) + 1
        raise SignalError(
            f"Time runs backward in row {row + 1 + header} of '{path}':"
            f" {time[row - 1]:.6f} s, then {time[row]:.6f} s.",
            remedy="Sort the rows, or split the file where the clock was reset.",
            row=row,
        )
    usual = float(np.median(step[step > 0])) if np.any(step > 0) else 1.0
    if not LEAST_STEP < usual < LONGEST_STEP:
        raise SignalError(
            f"The samples of '{path}' are {usual:.3g} s apart, if the column map is right.",
            remedy="Check `time: {column: ..., unit: s | ms | us | ns}` (or `rate_hz`).",
            step=usual,
        )
    return np.concatenate([[True], step > 0]) if len(time) else np.empty(0, dtype=bool)


def _head(path: Path, columns: ColumnMap) -> list[str]:
    """Names of a table's columns, empty strings where it has no header."""
    delimiter = _delimiter(columns)
    with _opened(path, columns) as file:
        lines = [_line(file).strip().lstrip("#")] if columns.header else []
        line = _line(file)
        while line and not line.partition("#")[0].strip():
            line = _line(file)
        lines.append(line)
    if not lines[-1]:
        raise SignalError(f"'{path}' has no samples.", remedy="Check the path.")
    names, row = (
        [c.strip().strip("\"'") for c in x.split(delimiter)] for x in (lines[0], lines[-1])
    )
    return names if columns.header else [""] * len(row)


def _line(file: TextIO) -> str:
    line = file.readline(_LONGEST_LINE + 1)
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"a line has more than {_LONGEST_LINE} characters")
    return line


def _read_columns(path: Path, columns: ColumnMap, which: list[int]) -> dict[int, Array]:
    """Some columns of a table: what is in the others needn't be numbers."""
    if not which:
        return {}
    with _opened(path, columns) as file:
        values = np.loadtxt(
            _rows_alike(file, _delimiter(columns)),
            delimiter=_delimiter(columns),
            skiprows=int(columns.header),
            usecols=which,
            ndmin=2,
        )
    if len(values) < 2:
        raise SignalError(f"'{path}' has {len(values)} rows.", remedy="Give a whole recording.")
    return dict(zip(which, values.T, strict=True))


def _rows_alike(file: Iterable[str], delimiter: str | None) -> Iterator[str]:
    """Lines of a table; after its header all must have as many cells."""
    cells = 0
    for number, line in enumerate(file, start=1):
        if (row := line.partition("#")[0].strip()) and number > 1:
            n = len(row.split()) if delimiter is None else row.count(delimiter) + 1
            cells = cells or n
            if n != cells:
                raise ValueError(f"line {number} has {n} cells, those before have {cells}")
        yield line


def _delimiter(columns: ColumnMap) -> str | None:
    return None if columns.delimiter == "whitespace" else columns.delimiter


@contextmanager
def _opened(path: Path, columns: ColumnMap) -> Iterator[TextIO]:
    """The table's text; what goes wrong with it, in words."""
    with TextIOWrapper(open_regular(path, _kind(columns)), encoding=_ENCODING) as file:
        try:
            yield file
        except (OSError, ValueError) as err:
            raise SignalError(
                f"'{path}' isn't a table of numbers: {str(err).rstrip('.')}.",
                remedy="Check `delimiter` and `header` of the column map; every row needs all"
                " columns.",
            ) from err


def _kind(columns: ColumnMap) -> FileKind:
    folder = f"; the column map expects a folder with {', '.join(columns.files)}"
    return FileKind("table", f"Check the path{folder if columns.files else ''}.", SignalError)


def _column_index(column: Column, names: list[str], path: Path) -> int:
    count = len(names)
    if isinstance(column, str):
        if column not in names:
            raise SignalError(
                f"'{path}' has no column '{column}'.",
                remedy=f"Columns: {', '.join(names)}." if any(names) else "It has no header line.",
            )
        return names.index(column)
    if not 0 <= column < count:
        raise SignalError(
            f"'{path}' has {count} columns; the column map asks for number {column} (from 0).",
            remedy="Check `delimiter`, or use the column map that belongs to this recording.",
        )
    return column
