# SPDX-License-Identifier: Apache-2.0
"""Interactive charts: lines over time with linked axes, dots with bars, and scenes in space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.report.figures import COLOURS
from sysid_core.robot import Array

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_POINTS = 3000  # of a line: more than a screen has pixels


def thinned(values: ArrayLike, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Indices of the samples to draw: the extrema of each bucket, so that no peak is lost.

    Args:
        values: Lines, shape (K,) or (K, n).
        most: Most samples to keep per line, about.
    """
    lines = np.asarray(values, dtype=float).reshape(len(np.atleast_1d(values)), -1)
    K = len(lines)
    if most >= K:
        return np.arange(K)
    size = -(-2 * K // most)
    whole = (K // size) * size
    buckets = lines[:whole].reshape(-1, size, lines.shape[1])
    starts = np.arange(len(buckets))[:, None] * size
    filled = np.nan_to_num(buckets)
    places = (filled.argmin(axis=1) + starts, filled.argmax(axis=1) + starts)
    return np.unique(np.concatenate([*(p.ravel() for p in places), [0, K - 1]]))


def panels(
    titles: Sequence[str], *, columns: int = 1, height: int = 170, linked: bool = True
) -> go.Figure:
    """A grid of panels that zoom together in x.

    Args:
        titles: One a panel.
        columns: Columns of panels.
        height: Height of each row [px].
        linked: Whether all x axes move together.
    """
    from plotly.subplots import make_subplots

    rows = -(-len(titles) // columns)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=list(titles),
        shared_xaxes="all" if linked else False,
        vertical_spacing=min(0.3, 40 / (rows * height)),
        horizontal_spacing=0.07,
    )
    figure.update_annotations(x=0.0, xanchor="left", font_size=12) if columns == 1 else None
    figure.update_layout(
        template="none",
        height=rows * height + 90,
        margin={"l": 60, "r": 15, "t": 50, "b": 45},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 1.0, "xanchor": "right"},
        hovermode="x unified",
    )
    return figure


def add_line(
    figure: go.Figure,
    panel: int,
    time: Array,
    values: Array,
    *,
    name: str,
    colour: str = COLOURS[0],
    width: float = 1.2,
    columns: int = 1,
    dash: str = "solid",
) -> None:
    """A line in one panel; the legend names each kind of line once."""
    import plotly.graph_objects as go

    keep = thinned(values)
    shown = {trace.name for trace in figure.data}
    figure.add_trace(
        go.Scatter(
            x=np.round(time[keep], 5),
            y=np.asarray(values, dtype=np.float32)[keep],
            name=name,
            legendgroup=name,
            showlegend=name not in shown,
            mode="lines",
            line={"color": colour, "width": width, "dash": dash},
        ),
        row=panel // columns + 1,
        col=panel % columns + 1,
    )


def time_series(
    time: Array, series: Mapping[str, Mapping[str, Array]], *, ylabel: str, columns: int = 2
) -> go.Figure:
    """One panel per group (such as a joint), its lines over time.

    Args:
        time: Shape (K,) [s].
        series: Group to {line label: values of shape (K,)}.
        ylabel: Label of the y axes.
        columns: Columns of panels.
    """
    figure = panels(list(series), columns=columns)
    for i, lines in enumerate(series.values()):
        for k, (label, values) in enumerate(lines.items()):
            colour = COLOURS[k % len(COLOURS)]
            add_line(figure, i, time, values, name=label, colour=colour, columns=columns)
    figure.update_yaxes(title_text=ylabel)
    label_time(figure, columns)
    return figure


def label_time(figure: go.Figure, columns: int = 1) -> None:
    """Names the lowest x axis of each column."""
    for column in range(1, columns + 1):
        rows = list(figure.select_xaxes(col=column))
        rows[-1].title.text = "time [s]"


def dots_with_bars(
    names: Sequence[str],
    values: ArrayLike,
    sd: ArrayLike,
    *,
    reference: ArrayLike | None = None,
    reference_name: str = "URDF",
    groups: Sequence[str] | None = None,
    unit: str = "",
) -> go.Figure:
    """Estimates with ± 2 sd as bars beside reference values, one line a parameter.

    Args:
        names: Parameters, n of them.
        values: Estimates, shape (n,).
        sd: Standard deviations, shape (n,).
        reference: Values to compare with, shape (n,); NaN where there is none.
        reference_name: Where they come from.
        groups: Verdict of each parameter: colours and legend.
        unit: Label of the axis.
    """
    import plotly.graph_objects as go

    x, s = np.asarray(values, dtype=float), np.asarray(sd, dtype=float)
    figure = go.Figure()
    kinds = list(groups) if groups is not None else ["estimate ± 2 sd"] * len(names)
    for i, kind in enumerate(sorted(set(kinds))):
        rows = [k for k, g in enumerate(kinds) if g == kind]
        figure.add_trace(
            go.Scatter(
                x=x[rows],
                y=[names[k] for k in rows],
                error_x={"type": "data", "array": 2 * s[rows], "thickness": 1.5},
                mode="markers",
                marker={"color": COLOURS[i % len(COLOURS)], "size": 7},
                name=kind,
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
        margin={"l": 170, "r": 15, "t": 40, "b": 45},
        xaxis_title=unit,
        yaxis={
            "autorange": "reversed",
            "categoryorder": "array",
            "categoryarray": list(names),
            "dtick": 1,
        },
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"},
    )
    return figure


def spectra(residual: Array, rate: float, names: Sequence[str], unit: str) -> go.Figure:
    """Amplitude density of residuals over frequency, one line a joint; (K, n) at a rate [Hz]."""
    from scipy.signal import welch

    figure = panels(["residual spectrum"], height=260, linked=False)
    for j, name in enumerate(names):
        f, power = welch(residual[:, j], fs=rate, nperseg=min(1024, len(residual)))
        colour = COLOURS[j % len(COLOURS)]
        add_line(figure, 0, f[1:], np.sqrt(power[1:]), name=name, colour=colour)
    figure.update_xaxes(title_text="frequency [Hz]", type="log")
    figure.update_yaxes(title_text=f"{unit}/√Hz", type="log")
    return figure


def histogram(residual: Array, names: Sequence[str], unit: str) -> go.Figure:
    """Distribution of the residuals of each joint, (K, n)."""
    import plotly.graph_objects as go

    figure = panels(["residual distribution"], height=260, linked=False)
    for j, name in enumerate(names):
        counts, edges = np.histogram(residual[:, j], bins=80, density=True)
        figure.add_trace(
            go.Scatter(
                x=(edges[1:] + edges[:-1]) / 2,
                y=counts,
                name=name,
                line={"shape": "hvh", "color": COLOURS[j % len(COLOURS)], "width": 1.2},
            )
        )
    figure.update_xaxes(title_text=f"residual [{unit}]")
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
        height=640,
        margin={"l": 150, "b": 150, "t": 20, "r": 10},
        yaxis={"autorange": "reversed"},
    )
    return figure


def scene(traces: Sequence[Any], height: int = 480) -> go.Figure:
    """A view in space with equal axes [m]."""
    import plotly.graph_objects as go

    figure = go.Figure(list(traces))
    axis = {"backgroundcolor": "rgba(0,0,0,0)", "gridcolor": "#99aabb"}
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 0, "r": 0, "t": 10, "b": 0},
        scene={
            "aspectmode": "data",
            "xaxis": {**axis, "title": "x [m]"},
            "yaxis": {**axis, "title": "y [m]"},
            "zaxis": {**axis, "title": "z [m]"},
        },
        legend={"orientation": "h"},
    )
    return figure


def ellipsoid(
    centre: ArrayLike, matrix: ArrayLike, *, name: str, colour: str, opacity: float = 0.35
) -> Any:
    """Surface of `(x - c)^T M^-1 (x - c) = 1`: M is 4 P for two standard deviations of a covariance P.

    Args:
        centre: c, shape (3,) [m].
        matrix: M, shape (3, 3) [m^2].
        name: Legend.
        colour: Colour of the surface.
        opacity: Opacity of the surface.
    """
    import plotly.graph_objects as go

    u, w = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    ball = np.stack([np.cos(u) * np.sin(w), np.sin(u) * np.sin(w), np.cos(w)])
    values, vectors = np.linalg.eigh(np.asarray(matrix, dtype=float))
    points = np.einsum("ij,jkl->ikl", vectors * np.sqrt(np.maximum(values, 0)), ball)
    x, y, z = points + np.asarray(centre, dtype=float)[:, None, None]
    return go.Surface(
        x=x,
        y=y,
        z=z,
        showscale=False,
        opacity=opacity,
        name=name,
        showlegend=True,
        colorscale=[[0, colour], [1, colour]],
        hoverinfo="name",
    )


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
