# SPDX-License-Identifier: Apache-2.0
"""Results as rows of a Parquet dataset, to be read with DuckDB, pandas or `Rows.table`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sysid_core.errors import BatchError
from sysid_core.files import written_whole

# One row per recording and parameter. Name: (type, meaning).
FIELDS: Mapping[str, tuple[str, str]] = {
    "job": ("string", "key of the computation and the recording"),
    "recording": ("string", "path or address of the recording"),
    "robot": ("string", "the robot's id"),
    "tool": ("string", "the tool's id; '' for none"),
    "time": ("timestamp[ns, UTC]", "start of the recording"),
    "temperature": ("float64", "of the drives or the ambient air [deg C]; null if not recorded"),
    "warm_up": ("float64", "time in motion before the middle of the recording [s]"),
    "parameter": ("string", "name, such as joint2.F_c; '' in a row about the recording alone"),
    "value": ("float64", "estimate, in `unit`"),
    "deviation": ("float64", "standard deviation; null if the data do not determine it"),
    "unit": ("string", "unit of value and deviation"),
    "verdict": ("string", "verdict of the parameter: identifiable, in combination, ..."),
    "outcome": ("string", "of the recording: pass, warn, fail; refused, error, lost"),
    "reason": ("string", "why, in words"),
    "error": ("float64", "relative error of predicted efforts"),
    "seconds": ("float64", "processing time [s]"),
    "data_hash": ("string", "sha256 of the recording"),
    "model_hash": ("string", "hash of the robot description"),
    "settings_hash": ("string", "sha256 of the settings"),
    "version": ("string", "of robot_sysid"),
}
_NEEDED = ("job", "parameter", "outcome")
_IN_EVERY_ROW = (*_NEEDED, "recording", "robot", "time", "value")
AGAIN = ("lost", "error")  # outcomes that `--resume` tries again


def arrow() -> Any:
    """Return the package pyarrow.

    Raises:
        BatchError: It is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.dataset
        import pyarrow.parquet
    except ModuleNotFoundError as err:
        raise BatchError(
            "Results of many recordings are Parquet, and pyarrow isn't installed.",
            remedy='Install the missing packages: pip install "robot_sysid[cluster]".',
        ) from err
    return pa


def _schema(pa: Any) -> Any:
    types = {
        "string": pa.string(),
        "float64": pa.float64(),
        "timestamp[ns, UTC]": pa.timestamp("ns", "UTC"),
    }
    return pa.schema([(name, types[kind]) for name, (kind, _) in FIELDS.items()])


def _require_fields(pa: Any, file: Path) -> None:
    if not file.is_file():  # a pipe would never end
        raise _unreadable(file, "it is not a regular file")
    try:
        missing = sorted(set(_IN_EVERY_ROW) - set(pa.parquet.read_schema(file).names))
    except (pa.ArrowException, OSError) as err:
        raise _unreadable(file, err) from err
    if missing:
        raise _unreadable(file, f"it has no columns {missing}")


def _unreadable(place: Path, why: object) -> BatchError:
    return BatchError(
        f"The results in '{place}' can't be read: {why}",
        remedy="Move the file away, and run again with --resume: its contents are computed again.",
    )


class Rows:
    """Folder of Parquet files. Every append adds one file, which appears only when it is complete.

    Any number of jobs may therefore write at the same time, and a reader never sees an incomplete
    file.

    Args:
        folder: Folder of the files; it is created with the first rows.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def append(self, rows: Sequence[Mapping[str, Any]]) -> Path | None:
        """Add rows; missing fields are null.

        Raises:
            BatchError: A row has an unknown field.
        """
        if not rows:
            return None
        pa = arrow()
        unknown = sorted({key for row in rows for key in row} - set(FIELDS))
        if unknown:
            raise BatchError(
                f"Rows have no fields {unknown}.", remedy=f"Fields: {', '.join(FIELDS)}."
            )
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=_schema(pa))
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"part-{time.time_ns()}-{uuid.uuid4().hex[:12]}.parquet"
        with written_whole(self.folder / name) as file:
            pa.parquet.write_table(table, file)
        return self.folder / name

    def table(self, columns: Sequence[str] = ()) -> Any:
        """Return all rows as a `pyarrow.Table`, in the order in which they were written.

        Args:
            columns: Names of the columns to read.

        Raises:
            BatchError: A file is truncated, is not Parquet, or has other columns.
        """
        pa = arrow()
        files = sorted(self.folder.glob("part-*.parquet"))
        if not files:
            return _schema(pa).empty_table().select(list(columns or FIELDS))
        for file in files:
            _require_fields(pa, file)
        data = pa.dataset.dataset(files, schema=_schema(pa), format="parquet")
        try:
            return data.to_table(columns=list(columns or FIELDS))
        except (pa.ArrowException, OSError) as err:
            raise _unreadable(self.folder, err) from err

    def latest(
        self, columns: Sequence[str] = (), wanted: Callable[[str], bool] | None = None
    ) -> list[dict[str, Any]]:
        """Return the rows as mappings; if a job was repeated, only its last row.

        Args:
            columns: Names of the columns to read, besides `job`, `parameter` and `outcome`;
                default: all.
            wanted: Function that selects the parameters whose rows are kept in memory; None: all.
        """
        names = tuple(dict.fromkeys((*columns, *_NEEDED))) if columns else tuple(FIELDS)
        jobs: dict[str, list[dict[str, Any]]] = {}
        for batch in self.table(names).to_batches(max_chunksize=4096):
            for row in batch.to_pylist():
                if wanted is None or wanted(row["parameter"]):
                    jobs.setdefault(row["job"], []).append(row)
        last: dict[tuple[str, str], dict[str, Any]] = {}
        for job, rows in jobs.items():
            good = [row for row in rows if row["outcome"] not in AGAIN]
            for row in good or rows:
                last[(job, row["parameter"])] = row
        return list(last.values())

    def done(self) -> set[str]:
        """Return the keys of the completed jobs."""
        table = self.table(["job", "outcome"])
        pairs = zip(table["job"].to_pylist(), table["outcome"].to_pylist(), strict=True)
        return {job for job, outcome in pairs if outcome not in AGAIN}


class RowWriter:
    """Writer that collects rows and appends them every few seconds, and at the end.

    Args:
        rows: Dataset to which rows are appended.
        seconds: Longest time before rows are written [s].
        count: Largest number of rows that are not written yet.
    """

    def __init__(self, rows: Rows, *, seconds: float = 5.0, count: int = 5000) -> None:
        self.rows, self.seconds, self.count = rows, seconds, count
        self._waiting: list[Mapping[str, Any]] = []
        self._since = time.monotonic()

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows to be written later."""
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting += rows
        if len(self._waiting) >= self.count or time.monotonic() - self._since >= self.seconds:
            self.flush()

    def flush(self) -> None:
        """Write the collected rows."""
        waiting, self._waiting = self._waiting, []
        self.rows.append(waiting)

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.flush()
