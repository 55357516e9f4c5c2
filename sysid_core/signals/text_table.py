# SPDX-License-Identifier: Apache-2.0
"""The reader of all text tables, which recognises their delimiter, decimal sign and header."""

from __future__ import annotations

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np

from sysid_core.files import FileKind
from sysid_core.robot import Array

_LONGEST_LINE = 1_000_000  # characters: 1000 joints need 50 000
_FIRST = 20  # rows in which the format is recognised
_DECIMAL_COMMA = re.compile(r"[+-]?\d*(?:,\d+)?(?:[eE][+-]?\d+)?")
_REMARK = ("#", "%")


@dataclass(frozen=True, eq=False)
class TextTable:
    """Table in a text file whose format is known and whose rows have not been read yet.

    Attributes:
        path: Path of the file.
        kind: Kind of the file in messages.
        names: Names of the columns; empty strings without a header.
        header: True if the table has a header.
        delimiter: Delimiter between columns; None for any number of blanks.
        decimal_comma: True if numbers are written with decimal commas.
        before: Number of lines up to the header; 0 without a header.
    """

    path: Path
    kind: FileKind
    names: tuple[str, ...]
    header: bool
    delimiter: str | None
    decimal_comma: bool
    before: int

    @classmethod
    def of(
        cls, path: Path, kind: FileKind, *, delimiter: str = "", header: bool | None = None
    ) -> TextTable:
        """Recognise the format of a table by its first rows.

        Args:
            path: Path of the file (UTF-8 or UTF-16).
            kind: Kind of the file in messages.
            delimiter: Delimiter, if it is known; "whitespace" for any number of blanks.
            header: True if the first line contains names, if this is known.

        Raises:
            SysIdError: The file cannot be read, is not text, or has no row.
        """
        with _opened(path, kind) as file:
            numbered = ((k, line.strip()) for k, line in enumerate(_lines(file), start=1))
            first = list(islice(((k, x) for k, x in numbered if x.strip("#% ")), _FIRST))
        while header is not False and _is_remark(first):
            del first[0]
        if header is False:
            first = [(k, line) for k, line in first if not line.startswith(_REMARK)]
        lines = [line.lstrip("#% ") for _, line in first]
        if len(lines) < (2 if header else 1):
            raise kind.refusal(path, "it has no samples", "Give a whole recording.")
        split = {"": _delimiter(lines[:2]), "whitespace": None}.get(delimiter, delimiter)
        head = _names(lines[0], split)
        comma = split != "," and not any(
            re.fullmatch(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", cell.strip("\"'"))
            for line in lines[1:] or lines
            for cell in _cells(line, split)
        )
        if header is None:
            next_row = _cells(lines[1], split) if len(lines) > 1 else head
            header = sum(map(_is_number, head)) < sum(_is_number(x, comma) for x in next_row)
        names = head if header else [""] * len(_cells(lines[0], split))
        return cls(path, kind, tuple(names), header, split, comma, first[0][0] if header else 0)

    def read(
        self, which: Sequence[int] | None = None, most: int | None = None
    ) -> tuple[dict[int, Array], str]:
        """Read columns; cells that are not numbers become NaN, and so do rows whose length differs
        from that of most rows.

        Args:
            which: Numbers of the columns; None: all.
            most: Largest number of rows to read; None: all.

        Returns:
            The columns by their numbers, shape (K,) each, and the fault of the first such row.

        Raises:
            SysIdError: The file cannot be read.
        """
        if which is not None and not which:
            return {}, ""
        with _opened(self.path, self.kind) as file:
            try:
                values = np.loadtxt(
                    self._rows_alike(islice(self._rows(file), most)),
                    delimiter=self.delimiter,
                    usecols=which,
                    ndmin=2,
                    comments=None,
                )
                fault = ""
            except ValueError:
                file.seek(0)
                values, fault = self._damaged(list(islice(self._rows(file), most)), which)
        return dict(zip(which or range(values.shape[1]), values.T, strict=True)), fault

    def _rows(self, file: TextIO) -> Iterator[tuple[int, str]]:
        """Yield number and text of the lines after the header, with decimal points."""
        for number, line in enumerate(_lines(file), start=1):
            row = line.partition("#")[0].strip()
            if row and number > self.before and not row.startswith(_REMARK):
                yield number, row.replace(",", ".") if self.decimal_comma else row

    def _rows_alike(self, rows: Iterator[tuple[int, str]]) -> Iterator[str]:
        """Yield the text of rows, which must have the same number of cells."""
        cells = 0
        for number, row in rows:
            n = len(row.split()) if self.delimiter is None else row.count(self.delimiter) + 1
            cells = cells or n
            if n != cells:
                raise ValueError(f"line {number} has {n} cells, those before have {cells}")
            yield row

    def _damaged(
        self, rows: list[tuple[int, str]], which: Sequence[int] | None
    ) -> tuple[Array, str]:
        split = [_cells(row, self.delimiter) for _, row in rows]
        lengths = [len(cells) for cells in split]
        width = max(set(lengths), key=lambda n: (lengths.count(n), n), default=0)
        columns = range(width) if which is None else which
        values = np.full((len(rows), len(columns)), np.nan)
        fault = ""
        for k, ((line, _), cells) in enumerate(zip(rows, split, strict=True)):
            if len(cells) != width:
                fault = fault or f"line {line} has {len(cells)} cells, most have {width}"
                continue
            for j, column in enumerate(columns):
                try:
                    values[k, j] = float(cells[column].strip("\"'"))
                except (ValueError, IndexError) as err:
                    fault = fault or f"{err} in line {line}"
        return values, fault


def _is_remark(first: list[tuple[int, str]]) -> bool:
    """True if the first line is a remark before the header."""
    if len(first) < 2 or not first[0][1].startswith(_REMARK):
        return False
    return not any(map(_is_number, re.split(r"[;,\s]+", first[1][1])))


def _delimiter(lines: Sequence[str]) -> str | None:
    """Delimiter that the header and the first row have in common; None: blanks.

    Commas between numbers that are separated by blanks are decimal commas.
    """
    common = next((d for d in ";\t," if all(d in line for line in lines)), None)
    row = lines[-1].split()
    numbers = len(row) > 1 and all(map(_DECIMAL_COMMA.fullmatch, row))
    return None if common == "," and numbers else common


def _cells(line: str, delimiter: str | None) -> list[str]:
    return [cell.strip() for cell in line.split(delimiter)]


def _names(line: str, delimiter: str | None) -> list[str]:
    """Cells of a header; a quoted name may contain the delimiter."""
    text = " ".join(line.split()) if delimiter is None else line
    cells = next(csv.reader([text], delimiter=delimiter or " ", skipinitialspace=True))
    return [cell.strip().strip("\"'") for cell in cells]


def _is_number(cell: str, decimal_comma: bool = False) -> bool:
    try:
        float(cell.replace(",", ".") if decimal_comma else cell or "nan")
    except ValueError:
        return False
    return True


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise ValueError(f"a line has more than {_LONGEST_LINE} characters")
        if "\0" in line:
            raise ValueError("it isn't text")
        yield line


@contextmanager
def _opened(path: Path, kind: FileKind) -> Iterator[TextIO]:
    """Provide the text of a table, and convert reading errors to messages."""
    stream = kind.open(path)
    wide = stream.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE)
    stream.seek(0)
    with TextIOWrapper(stream, "utf-16" if wide else "utf-8-sig", errors="replace") as file:
        try:
            yield file
        except (OSError, ValueError, csv.Error) as err:
            raise kind.error(
                f"'{path}' isn't a table of numbers: {str(err).rstrip('.')}.",
                remedy="Check its delimiter and its header; every row needs all columns.",
            ) from err
