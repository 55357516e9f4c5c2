# SPDX-License-Identifier: Apache-2.0
"""Interactive charts of values: dots with bars beside references, correlations, shares of limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.report.charts.curves import COLOURS

if TYPE_CHECKING:
    import plotly.graph_objects as go


# Colour and mark of each verdict, the same in every chart; in black and white the marks differ.
_MARKS = {
    "identifiable": (COLOURS[0], "circle"),
    "in combination": (COLOURS[5], "diamond"),
    "prior-dominated": (COLOURS[4], "square"),
    "not identifiable": (COLOURS[6], "x"),
}


def dots_with_bars(
    names: Sequence[str],
    values: ArrayLike,
    sd: ArrayLike,
    *,
    reference: ArrayLike | None = None,
    reference_name: str = "URDF",
    groups: Sequence[str] | None = None,
    details: Sequence[str] | None = None,
    unit: str = "",
) -> go.Figure:
    """Estimates with ± 2 sd as bars beside reference values, one line a parameter.

    Args:
        names: Parameters, n of them.
        values: Estimates, shape (n,).
        sd: Standard deviations, shape (n,).
        reference: Values to compare with, shape (n,); NaN where there is none.
        reference_name: Where they come from.
        groups: ParameterVerdict of each parameter: colours and legend.
        details: What each stands for, shown under the pointer.
        unit: Label of the axis.
    """
    import plotly.graph_objects as go

    x, s = np.asarray(values, dtype=float), np.asarray(sd, dtype=float)
    figure = go.Figure()
    kinds = list(groups) if groups is not None else ["estimate ± 2 sd"] * len(names)
    for i, kind in enumerate(sorted(set(kinds), key=[*_MARKS, *kinds].index)):
        colour, mark = _MARKS.get(kind, (COLOURS[i % len(COLOURS)], "circle"))
        rows = [k for k, g in enumerate(kinds) if g == kind]
        figure.add_trace(
            go.Scatter(
                x=x[rows],
                y=[names[k] for k in rows],
                error_x={"type": "data", "array": 2 * s[rows], "thickness": 1.5},
                mode="markers",
                marker={"color": colour, "symbol": mark, "size": 7},
                name=kind,
                text=[_folded(details[k]) for k in rows] if details else None,
            )
        )
    if reference is not None:
        figure.add_trace(
            go.Scatter(
                x=np.asarray(reference, dtype=float),
                y=list(names),
                mode="markers",
                marker={"symbol": "line-ns-open", "size": 13, "color": "#888888"},
                name=reference_name,
            )
        )
    figure.update_layout(
        template="none",
        height=max(260, 19 * len(names) + 120),
        margin={"l": 60, "r": 15, "t": 40, "b": 45},
        xaxis_title=unit,
        yaxis={
            "automargin": True,
            "autorange": "reversed",
            "categoryorder": "array",
            "categoryarray": list(names),
            "dtick": 1,
        },
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"},
    )
    return figure


def _folded(text: str) -> str:
    """Lines short enough for the box under the pointer; names are text, never markup."""
    lines = wrap(text, 70)
    return "<br>".join(escape(line) for line in [*lines[:8], *(["…"] if len(lines) > 8 else [])])


def dots(
    names: Sequence[str],
    series: Mapping[str, ArrayLike],
    *,
    ylabel: str,
    band: tuple[float, float] | None = None,
) -> go.Figure:
    """A dot for every name and series, over a grey band.

    Args:
        names: n of them, below the chart.
        series: Label to values of shape (n,).
        ylabel: Axis.
        band: Lower and upper end of the band.
    """
    import plotly.graph_objects as go

    figure = go.Figure(
        [
            go.Scatter(x=list(names), y=np.asarray(y, dtype=float), mode="markers", name=label)
            for label, y in series.items()
        ]
    )
    if band is not None:
        figure.add_hrect(y0=band[0], y1=band[1], fillcolor="#888888", opacity=0.15, line_width=0)
    figure.update_layout(
        template="none",
        height=420,
        margin={"l": 60, "r": 15, "t": 30, "b": 150},
        yaxis_title=ylabel,
        xaxis={"tickangle": -60, "tickfont": {"size": 9}},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"},
        colorway=COLOURS,
    )
    return figure


def correlation_map(names: Sequence[str], covariance: ArrayLike) -> go.Figure:
    """Correlations of the estimates, from their covariance (p, p)."""
    import plotly.graph_objects as go

    P = np.asarray(covariance, dtype=float)
    sd = np.sqrt(np.maximum(np.diag(P), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    figure = go.Figure(
        go.Heatmap(
            z=np.round(P / np.outer(scale, scale), 3).astype(np.float32),
            x=list(names),
            y=list(names),
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
        )
    )
    figure.update_layout(
        template="none",
        height=min(640, 200 + 24 * len(names)),
        margin={"l": 60, "b": 60, "t": 20, "r": 10},
        xaxis={"automargin": True, "tickfont": {"size": 8}, "tickangle": -90},
        yaxis={"automargin": True, "autorange": "reversed", "tickfont": {"size": 8}},
    )
    return figure


def strong_correlations(
    names: Sequence[str], covariance: ArrayLike, *, least: float = 0.9, most: int = 8
) -> list[str]:
    """Pairs of estimates that err together, the strongest first, as sentences.

    Args:
        names: p of them.
        covariance: Shape (p, p).
        least: Smallest correlation that is named.
        most: Pairs that are named.
    """
    P = np.asarray(covariance, dtype=float)
    sd = np.sqrt(np.maximum(np.diag(P), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.nan_to_num(np.triu(P / np.outer(sd, sd), 1))
    pairs = np.argwhere(np.abs(rho) >= least)
    pairs = pairs[np.argsort(-np.abs(rho[tuple(pairs.T)]), kind="stable")]
    listed = [f"{names[i]} and {names[j]}: {rho[i, j]:+.2f}" for i, j in pairs[:most]]
    return listed + ([f"… {len(pairs) - most} more pairs"] if len(pairs) > most else [])


def bars(shares: Mapping[str, float], *, unit: str = "%", limit: float | None = None) -> go.Figure:
    """Horizontal bars with their values; a dashed line at the limit."""
    import plotly.graph_objects as go

    figure = go.Figure(
        go.Bar(
            x=list(shares.values()),
            y=list(shares),
            orientation="h",
            marker={"color": COLOURS[0]},
            text=[f"{value:.3g} {unit}" for value in shares.values()],
        )
    )
    if limit is not None:
        figure.add_vline(x=limit, line={"dash": "dash", "color": COLOURS[1]})
    figure.update_layout(
        template="none",
        height=max(180, 28 * len(shares) + 90),
        margin={"l": 190, "r": 20, "t": 15, "b": 40},
        yaxis={"autorange": "reversed"},
        xaxis_title=unit,
    )
    return figure
