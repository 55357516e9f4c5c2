# SPDX-License-Identifier: Apache-2.0
"""Recordings as tables: CSV, NPZ, Parquet, MAT, or columns in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import SignalError
from sysid_core.files import FileKind
from sysid_core.robot import Array
from sysid_core.signals.array_file import ARRAY_ENDINGS, flat_columns, read_arrays
from sysid_core.signals.column_map import Column, ColumnMap
from sysid_core.signals.recording import JointStream, Recording
from sysid_core.signals.text_table import TextTable

LEAST_STEP, LONGEST_STEP = 2e-5, 0.5  # [s] no robot is logged faster, or identified slower
MOST_LOST = 0.05  # share of rows: a file with more isn't damaged, its map is wrong
_HEAD = 10  # first rows in which drivers leave what their buffers held
_JUMP = 10.0  # times as fast as in all of the later rows: no motion


def read_table(source: str | Path | Mapping[str, ArrayLike], columns: ColumnMap) -> Recording:
    """Read a recording from a table, from several tables in a folder, or from columns in memory.

    Rows that are unreadable, contain NaN, or have decreasing times are removed and counted, and so
    are initial rows that precede a jump in a position. If the share of removed rows exceeds
    `MOST_LOST`, the table is assumed to have another format, and an error is raised.

    Args:
        source: CSV, NPZ, Parquet or MAT file, or folder if the map lists `files`; or arrays by name (a
            pandas DataFrame) of shape (K,), or (K, n), whose columns are then named `name.0`, …
        columns: Column map of the table.

    Raises:
        SignalError: The table or a column is missing, or too many rows are invalid (the message
            contains the first one).
    """
    if not isinstance(source, str | Path):
        flat = flat_columns({str(name): np.asarray(source[name]) for name in source.keys()})  # noqa: SIM118
        return _recording([_of_arrays(flat)], columns, Path("table"))
    path = Path(source)
    paths = [path / name for name in columns.files] if columns.files else [path]
    return _recording([_opened_table(p, columns) for p in paths], columns, path)


@dataclass(frozen=True, eq=False)
class _Table:
    """Table that has not been read yet.

    Attributes:
        names: Names of the columns; empty strings without a header.
        read: Function that returns the values of columns by their numbers (NaN in unreadable rows),
            and the fault of the first unreadable row.
        first: Number of the first row in messages.
    """

    names: list[str]
    read: Callable[[list[int]], tuple[dict[int, Array], str]]
    first: int = 1


def _recording(tables: Sequence[_Table], columns: ColumnMap, path: Path) -> Recording:
    if not columns.position or (columns.time is None and columns.rate_hz <= 0.0):
        raise SignalError(
            "The column map lacks the columns of positions or of time.",
            remedy="Give `position: {columns: [...]}` and `time: {column: 0, unit: s}` or"
            " `rate_hz: 1000`. Maps without them only describe the drives of a bag.",
        )
    values, problem = _used_columns(tables, path, columns)
    n_rows = len(next(iter(values.values())))
    finite = np.all([np.isfinite(x) for x in values.values()], axis=0)
    if columns.time is None:
        time = np.arange(n_rows) / columns.rate_hz
    else:
        time = values[columns.time] * columns.time_scale
    first_row = tables[0].first
    if not finite.any():
        raise SignalError(
            f"'{path}' isn't a table of numbers: {problem or 'no row is whole'}.",
            remedy="Check `delimiter` and `header` of the column map.",
        )
    forward, back = _forward(np.where(finite, time, np.nan))
    repeated = np.zeros(n_rows, dtype=bool)
    repeated[np.flatnonzero(forward)[1:]] = np.diff(time[forward]) <= 0.0
    keep = forward & ~repeated
    q, v, a, effort = _joint_signals(columns, values, n_rows)
    jumps = _first_jumps(q[keep], time[keep])
    keep[np.flatnonzero(keep)[:jumps]] = False
    lost = {
        "hold no number": int(np.sum(~finite)),
        "go back in time": int(np.sum(finite & ~forward)),
        "precede a jump of the positions": jumps,
    }
    if sum(lost.values()) > MOST_LOST * n_rows:
        _refuse(path, values, finite, back, time, problem, first_row)
    _require_usual_step(time[forward], path)
    notes = [f"{count} of {n_rows} rows {why}: omitted." for why, count in lost.items() if count]
    if repeated.any():
        notes.append(f"{repeated.sum()} rows with a repeated time stamp were dropped.")
    start = time[np.argmax(keep)]
    stream = JointStream(
        names=columns.joints,
        stamps_ns=np.round((np.where(keep, time, start) - start) * 1e9).astype(np.int64),
        q=q,
        v=v,
        a=a,
        effort=effort,
        effort_kind=columns.effort_kind,
    )
    stream = columns.without_unused(stream.select(keep))
    return Recording(joints=stream, source=str(path), notes=tuple(notes))


def _refuse(
    path: Path,
    values: Mapping[Column, Array],
    finite: NDArray[np.bool_],
    back: int | None,
    time: Array,
    problem: str,
    first_row: int,
) -> NoReturn:
    """Error for the first invalid row, with the recommended action."""
    most = f"more than {100 * MOST_LOST:g} % of the rows are bad"
    if problem:
        raise SignalError(
            f"'{path}' isn't a table of numbers: {problem}; {most}.",
            remedy="Check `delimiter` and `header` of the column map; every row needs all columns.",
        )
    if not finite.all():
        column = next(name for name, x in values.items() if not np.isfinite(x).all())
        bad = np.flatnonzero(~np.isfinite(values[column]))
        raise SignalError(
            f"Column {column!r} of '{path}' is NaN or infinite in {len(bad)} rows, first in"
            f" row {bad[0] + first_row}; {most}.",
            remedy="Remove these rows or record again.",
            rows=bad,
        )
    row = 1 if back is None else back
    raise SignalError(
        f"Time runs backward in row {row + first_row} of '{path}':"
        f" {time[row - 1]:.6f} s, then {time[row]:.6f} s; {most}.",
        remedy="Sort the rows, or split the file where the clock was reset.",
        row=row,
    )


def _forward(time: Array) -> tuple[NDArray[np.bool_], int | None]:
    """Mask of the rows with increasing time, (K,), and the first row at which the time decreases.

    The longest stretch in order is kept. Of earlier and later stretches, the rows that lie before
    or after it in time are kept as well. NaN rows are left out.
    """
    rows = np.flatnonzero(np.isfinite(time))
    keep = np.zeros(len(time), dtype=bool)
    t = time[rows]
    backward = np.flatnonzero(np.diff(t) < 0.0) + 1
    edges = np.concatenate([[0], backward, [len(t)]])
    longest = int(np.argmax(np.diff(edges)))
    begin, end = edges[longest], edges[longest + 1]
    newest = np.maximum.accumulate(np.concatenate([t[end - 1 : end], t[end:]]))
    oldest = np.minimum.accumulate(np.concatenate([t[begin : begin + 1], t[:begin][::-1]]))
    keep[rows[begin:end]] = True
    keep[rows[end:]] = t[end:] > newest[:-1]
    keep[rows[:begin]] = (t[:begin][::-1] < oldest[:-1])[::-1]
    return keep, int(rows[backward[0]]) if len(backward) else None


def _require_usual_step(time: Array, path: Path) -> None:
    """Raise an error if the time step shows that the time column is probably in another unit than
    seconds.
    """
    step = np.diff(time)
    usual = float(np.median(step[step > 0])) if np.any(step > 0) else 1.0
    if not LEAST_STEP < usual < LONGEST_STEP:
        raise SignalError(
            f"The samples of '{path}' are {usual:.3g} s apart, if the column map is right.",
            remedy="Check `time: {column: ..., unit: s | ms | us | ns}` (or `rate_hz`).",
            step=usual,
        )


def _first_jumps(q: Array, time: Array) -> int:
    """Number of samples to remove at the beginning, before a jump of a position that is larger than
    any later one.
    """
    head = min(_HEAD, len(q) // 4)
    if head == 0:
        return 0
    speed = np.abs(np.diff(q, axis=0)) / np.diff(time)[:, None]
    usual = np.max(speed[head:], axis=0)
    jumps = np.flatnonzero(np.any(speed[:head] > _JUMP * usual, axis=1) & np.any(usual > 0.0))
    return int(jumps[-1]) + 1 if len(jumps) else 0


def _used_columns(
    tables: Sequence[_Table], path: Path, columns: ColumnMap
) -> tuple[dict[Column, Array], str]:
    """Columns used by the column map, each of shape (K,), from one or several tables; and the first
    invalid row.
    """
    first = np.cumsum([0, *(len(table.names) for table in tables)])  # of each table's columns
    if columns.n_columns and first[-1] != columns.n_columns:
        raise SignalError(
            f"'{path}' has {first[-1]} columns, the column map expects {columns.n_columns}.",
            remedy="Use the column map that belongs to this recording.",
            found=int(first[-1]),
            expected=columns.n_columns,
        )
    names: list[str] = []
    for table, file in zip(tables, columns.files or [""], strict=True):
        pre = f"{Path(file).stem}:" if file else ""
        names += [pre + (name or (str(k) if pre else "")) for k, name in enumerate(table.names)]
    used = [columns.time] if columns.time is not None else []
    used += [*columns.position, *columns.velocity, *columns.acceleration]
    used += [column for column in columns.effort if column is not None]
    used += columns.known_torques.values()
    index = {column: _column_index(column, names, path) for column in used}
    values: dict[int, Array] = {}
    problem = ""
    for table, (start, end) in zip(tables, pairwise(first), strict=True):
        here = sorted({k - start for k in index.values() if start <= k < end})
        read, wrong = table.read(here)
        values |= {start + k: x for k, x in read.items()}
        problem = problem or wrong
    lengths = sorted({len(one) for one in values.values()})
    if lengths[0] < 2:
        raise SignalError(f"'{path}' has {lengths[0]} rows.", remedy="Give a whole recording.")
    if lengths[-1] - lengths[0] > MOST_LOST * lengths[-1]:
        raise SignalError(
            f"The tables in '{path}' have {lengths} rows.",
            remedy="Tables that are joined side by side must be from the same recording.",
        )
    return {column: values[k][: lengths[0]] for column, k in index.items()}, problem


def _of_arrays(flat: Mapping[str, Array]) -> _Table:
    names = list(flat)

    def read(which: list[int]) -> tuple[dict[int, Array], str]:
        return {k: np.asarray(flat[names[k]], dtype=float) for k in which}, ""

    return _Table(names, read)


def _opened_table(path: Path, columns: ColumnMap) -> _Table:
    """Open a table in the format of its file extension."""
    if path.suffix in ARRAY_ENDINGS:
        return _of_arrays(read_arrays(path))
    text = TextTable.of(path, _kind(columns), delimiter=columns.delimiter, header=columns.header)
    return _Table(list(text.names), text.read, 1 + columns.header)


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


def _kind(columns: ColumnMap) -> FileKind:
    folder = f"; the column map expects a folder with {', '.join(columns.files)}"
    return FileKind("table", f"Check the path{folder if columns.files else ''}.", SignalError)


def _column_index(column: Column, names: list[str], path: Path) -> int:
    count = len(names)
    if isinstance(column, str):
        if column not in names:
            raise SignalError(
                f"'{path}' has no column '{column}'.",
                remedy=f"Columns: {', '.join(names)}."
                if any(names)
                else "None of its columns has a name: a table needs a header line, a file of arrays numeric arrays.",
            )
        return names.index(column)
    if not 0 <= column < count:
        raise SignalError(
            f"'{path}' has {count} columns; the column map refers to number {column} (from 0).",
            remedy="Check `delimiter`, or use the column map that belongs to this recording.",
        )
    return column
