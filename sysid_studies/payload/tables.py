# SPDX-License-Identifier: Apache-2.0
"""Tables of the payload study, compared with the numbers of the paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from sysid_studies.payload.runs import SPEEDS, Result
from sysid_studies.table import StudyTable

TABLE_SPEEDS = SPEEDS[:3]
_GAP = 2 * "\N{NO-BREAK SPACE}"  # between speeds: three numbers stay on one line

# Nadeau, Giamou and Kelly 2022, table III: mass, COM, inertia in percent at 1, 1.5, 2 rad/s.
# 500 stands for "> 500".
PAPER_TABLE_III = {
    "OLS": ((1.36, 2.88, 3.22), (34.4, 44.0, 36.1), (500.0, 500.0, 500.0)),
    "RTLS": ((1.84, 1.77, 2.41), (97.5, 37.7, 38.2), (500.0, 500.0, 500.0)),
    "GEO": ((1.45, 2.65, 4.09), (33.0, 33.1, 32.6), (500.0, 252.0, 109.0)),
    "PMD": ((1.34, 2.15, 1.91), (9.83, 15.5, 16.4), (44.1, 43.5, 43.6)),
}
# Table IV: xArm 7 with an FT-300, 1.5 s, 1.1 rad/s.
PAPER_TABLE_IV = {
    "OLS": (3.18, 24.9, 500.0),
    "RTLS": (11.7, 500.0, 500.0),
    "GEO": (3.75, 30.3, 500.0),
    "PMD c1=5000": (4.51, 8.12, 36.75),
    "PMD c1=25000": (4.45, 4.50, 29.11),
}


Means = dict[tuple[str, float], dict[str, float]]


def means(results: Iterable[Result]) -> Means:
    """Return the mean errors over objects and seeds, by method and speed."""
    groups: dict[tuple[str, float], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.method, result.case.speed].append(result)
    keys = ("mass", "com", "inertia", "consistent", "nees", "inside", "score")
    return {
        group: {key: float(np.mean([getattr(r, key) for r in rows])) for key in keys}
        for group, rows in groups.items()
    }


def table_iii(
    results: Sequence[Result],
    title: str,
    note: str,
    methods: Sequence[str],
    *,
    with_paper: bool = True,
) -> StudyTable:
    """Return the mean errors by method, with three speeds in each cell as in the paper.

    With `with_paper`, the published numbers are printed below those of this package.
    """
    m = means(results)

    def three(values: Iterable[float]) -> str:
        return _GAP.join(short(x) for x in values)

    rows = []
    for method in methods:
        at = [m[method, speed] for speed in TABLE_SPEEDS]
        errors = [three(x[key] for x in at) for key in ("mass", "com", "inertia")]
        shares = [_GAP.join(f"{100 * x[key]:.0f}" for x in at) for key in ("consistent", "inside")]
        told = (three(x[key] for x in at) for key in ("nees", "score"))
        rows.append((method, *errors, *shares, *told))
        if with_paper and method in PAPER_TABLE_III:
            printed = (_GAP.join(as_printed(x) for x in row) for row in PAPER_TABLE_III[method])
            rows.append((f"{method} in the paper", *printed, *["–"] * 4))
    columns = (
        *("method", "mass %", "COM %", "inertia %", "consistent %", "inside 2 sd %"),
        *("(error/sd)²", "inertia score %"),
    )
    return StudyTable(title, columns, tuple(rows), note)


def as_printed(value: float) -> str:
    """Return a number of the tables in the paper as text; 500 stands for '> 500'."""
    return ">500" if value == 500.0 else f"{value:g}"


def short(value: float) -> str:
    """Return a number with three significant digits as text, or '>500' as in the paper."""
    if not value <= 500.0:
        return ">500"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def noise_table(results: Sequence[Result], methods: Sequence[str]) -> StudyTable:
    """Return a table of figure 6: inertia errors by noise level and speed."""
    groups: dict[tuple[str, str, float], list[float]] = defaultdict(list)
    for r in results:
        groups[r.method, r.case.noise, r.case.speed].append(r.inertia)
    noises = list(dict.fromkeys(r.case.noise for r in results))
    speeds = sorted({r.case.speed for r in results})
    rows = []
    for method in methods:
        for noise in noises:
            values = [float(np.mean(groups[method, noise, s])) for s in speeds]
            rows.append((method, noise, *(short(v) for v in values)))
    return StudyTable(
        "Inertia error [%] with noise on accelerations, forces and torques",
        ("method", "noise", *(f"{s:g} rad/s" for s in speeds)),
        tuple(rows),
        f"{len({r.case for r in results})} simulated runs, each solved by {len(methods)} methods.",
    )
