# SPDX-License-Identifier: Apache-2.0
"""Charts of values: dots with bars and references, correlations, used fractions of limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.report.charts.figure import COLOURS, GREY, SCALES, Figure
from sysid_core.robot import Array

LONG = 16  # lines of a panel; longer ones take the whole width


@dataclass(frozen=True, eq=False)
class Dots:
    """Data of a chart of estimates with the same unit, one parameter per line.

    Attributes:
        title: Name of the panel.
        names: Parameters, n of them.
        values: Estimates, shape (n,).
        sd: Standard deviations, shape (n,); NaN: the data don't determine the parameter.
        reference: Values of the URDF, shape (n,); NaN where it has none.
        band: Half width of the range plausible before the measurement, shape (n,); NaN: not drawn.
        details: Meaning of each parameter.
        unit: Label of the axis.
    """

    title: str
    names: Sequence[str]
    values: Array
    sd: Array
    reference: Array
    band: Array
    details: Sequence[str]
    unit: str


def dots_with_bars(panels: Sequence[Dots]) -> Figure:
    """Chart of estimates with bars of ± 2 standard deviations, filled if the data determine the
    parameter.

    Values that the data don't determine are hollow, within the band plausible before the measurement.
    """
    longest = max(len(some.names) for some in panels)
    columns = 1 if longest > LONG else min(2, len(panels))
    figure = Figure([some.title for some in panels], columns=columns, height=19 * longest + 60)
    for k, some in enumerate(panels):
        sure = np.isfinite(some.sd) & ~(2 * some.sd > some.band)

        def add(rows: Array, name: str, x: Array, bars: Array | None = None, **style: Any) -> None:
            rows = rows & np.isfinite(x)
            if rows.any():
                names = np.array(some.names)[rows]  # noqa: B023, called at once
                text = [some.details[int(i)] for i in np.flatnonzero(rows)]  # noqa: B023
                bars = None if bars is None else bars[rows]
                figure.add(k, "dots", x[rows], names, name, text=text, bars=bars, **style)  # noqa: B023

        known = some.reference
        plausible = "plausible before the measurement"
        add(~sure, plausible, known, some.band, size=0.1, colour=GREY, wide=True)
        add(sure | ~sure, "URDF", known, symbol="line-open", size=11, colour=COLOURS[4])
        hollow = "not determined by these data"
        add(~sure, hollow, some.values, symbol="circle-open", size=8, colour=GREY)
        add(sure, "determined by these data, ± 2 sd", some.values, 2 * some.sd, colour=COLOURS[0])
        figure.axis("x", k, title=some.unit)
        figure.axis("y", k, reversed=True, names=list(some.names))
    return figure


def dots(
    names: Sequence[str],
    series: Mapping[str, ArrayLike],
    *,
    ylabel: str,
    band: tuple[float, float] | None = None,
) -> Figure:
    """Chart with a dot for every name and series, over a grey band.

    Args:
        names: n of them, below the chart.
        series: Label to values of shape (n,).
        ylabel: Axis.
        band: Lower and upper end of the band.
    """
    figure = Figure(height=420)
    for k, (label, y) in enumerate(series.items()):
        values = np.asarray(y, dtype=float)
        figure.add(0, "dots", list(names), values, label, colour=COLOURS[k % len(COLOURS)])
    if band is not None:
        figure.mark(0, "y", *band)
    figure.axis("y", title=ylabel)
    return figure


def heat_map(
    z: ArrayLike, x: Sequence[str], y: Sequence[str], low: float, high: float, scale: str
) -> Figure:
    """Chart of a table of values (rows y, columns x) as colours between two limits."""
    figure = Figure(height=max(300, min(640, 200 + 24 * len(y))))
    values = np.asarray(z, dtype=np.float32)
    figure.add(0, "heat", list(x), list(y), z=values, low=low, high=high, scale=SCALES[scale])
    figure.axis("y", reversed=True)
    return figure


def correlation_map(names: Sequence[str], covariance: ArrayLike) -> Figure:
    """Chart of the correlations of the estimates, from their covariance (p, p)."""
    return heat_map(_correlations(covariance), names, names, -1.0, 1.0, "two-sided")


def _correlations(covariance: ArrayLike) -> Array:
    P = np.asarray(covariance, dtype=float)
    sd = np.sqrt(np.maximum(np.diag(P), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    return np.asarray(P / np.outer(scale, scale))


def strong_correlations(
    names: Sequence[str], covariance: ArrayLike, *, least: float = 0.9, most: int = 8
) -> list[str]:
    """Sentences on the most strongly correlated pairs of estimates, the strongest first.

    Args:
        names: p of them.
        covariance: Shape (p, p).
        least: Smallest correlation that is named.
        most: Pairs that are named.
    """
    rho = np.triu(_correlations(covariance), 1)
    pairs = np.argwhere(np.abs(rho) >= least)
    pairs = pairs[np.argsort(-np.abs(rho[tuple(pairs.T)]), kind="stable")]
    listed = [f"{names[i]} and {names[j]}: {rho[i, j]:+.2f}" for i, j in pairs[:most]]
    return listed + ([f"… {len(pairs) - most} more pairs"] if len(pairs) > most else [])


def bars(shares: Mapping[str, float], *, unit: str = "%", limit: float | None = None) -> Figure:
    """Chart of horizontal bars with their values, and a dashed line at the limit."""
    figure = Figure(height=max(180, 28 * len(shares) + 90))
    text = [f"{value:.3g} {unit}" for value in shares.values()]
    values = list(shares.values())
    figure.add(0, "bars", values, list(shares), flat=True, text=text, colour=COLOURS[0])
    if limit is not None:
        figure.mark(0, "x", limit, colour=COLOURS[1])
    figure.axis("y", reversed=True)
    figure.axis("x", title=unit)
    return figure
