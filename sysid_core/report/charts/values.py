# SPDX-License-Identifier: Apache-2.0
"""Interactive charts of values: dots with bars beside references, correlations, shares of limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.report.charts.curves import COLOURS, panels
from sysid_core.robot import Array

if TYPE_CHECKING:
    import plotly.graph_objects as go

LONG = 16  # lines of a panel; longer ones take the whole width


@dataclass(frozen=True, eq=False)
class Dots:
    """Estimates of one unit, one line a parameter.

    Attributes:
        title: Name of the panel.
        names: Parameters, n of them.
        values: Estimates, shape (n,).
        sd: Standard deviations, shape (n,); NaN: the data don't determine the parameter.
        reference: Values of the URDF, shape (n,); NaN where it has none.
        band: Half width of what was plausible before the measurement, shape (n,); NaN: not drawn.
        details: What each parameter stands for.
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


def dots_with_bars(panels_: Sequence[Dots]) -> go.Figure:
    """Estimates with bars of ± 2 standard deviations, filled where the data determine them.

    What they don't determine is hollow, within the band that was plausible before the measurement.
    """
    import plotly.graph_objects as go

    longest = max(len(some.names) for some in panels_)
    columns = 1 if longest > LONG else min(2, len(panels_))
    figure = panels(
        [some.title for some in panels_], columns=columns, linked=False, height=19 * longest + 60
    )
    named: set[str] = set()

    def add(panel: int, rows: Array, name: str, some: Dots, x: Array, **style: Any) -> None:
        rows = rows & np.isfinite(x)
        if rows.any():
            figure.add_trace(
                go.Scatter(
                    x=x[rows], y=np.array(some.names)[rows], mode="markers", name=name,
                    legendgroup=name, showlegend=name not in named,
                    text=[_folded(some.details[int(k)]) for k in np.flatnonzero(rows)],
                    marker={k: v for k, v in style.items() if k != "error_x"},
                    error_x={**style["error_x"], "array": style["error_x"]["array"][rows]}
                    if "error_x" in style else None,
                ),
                row=panel // columns + 1, col=panel % columns + 1,
            )  # fmt: skip
            named.add(name)

    for k, some in enumerate(panels_):
        sure = np.isfinite(some.sd) & ~(2 * some.sd > some.band)
        every = np.ones(len(sure), dtype=bool)
        bars = {"type": "data", "thickness": 1.6}
        band = {**bars, "array": some.band, "thickness": 9, "color": COLOURS[6]}
        known = some.reference
        add(
            k,
            ~sure,
            "plausible before the measurement",
            some,
            known,
            size=0.1,
            color=COLOURS[6],
            error_x=band,
        )
        add(k, every, "URDF", some, known, symbol="line-ns-open", size=11, color=COLOURS[4])
        add(
            k,
            ~sure,
            "not determined by these data",
            some,
            some.values,
            symbol="circle-open",
            size=8,
            color=COLOURS[6],
        )
        add(k, sure, "determined by these data, ± 2 sd", some, some.values, size=7, color=COLOURS[0], error_x={**bars, "array": 2 * some.sd})  # fmt: skip
        place = {"row": k // columns + 1, "col": k % columns + 1}
        figure.update_xaxes(title_text=some.unit, **place)
        figure.update_yaxes(
            autorange="reversed", categoryorder="array", categoryarray=list(some.names), **place
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
