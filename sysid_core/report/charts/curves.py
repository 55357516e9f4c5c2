# SPDX-License-Identifier: Apache-2.0
"""Interactive charts of curves: over time with linked axes, over frequency, over anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.robot import Array

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Okabe-Ito, readable with colour-blindness; black would vanish on a dark page.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8F98", "#B8A900")
MOST_POINTS = 1200  # of a line: a panel has some 600 pixels, and each keeps its extrema


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
        height=rows * height + 110,
        margin={"l": 60, "r": 15, "t": 70, "b": 45},
        legend={  # above the titles of the panels
            "orientation": "h",
            "yref": "container",
            "y": 1.0,
            "yanchor": "top",
            "x": 1.0,
            "xanchor": "right",
        },
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


def spectra(residual: Array, rate: float, names: Sequence[str], unit: str) -> go.Figure:
    """Amplitude density of residuals (K, n) at a rate [Hz], a panel each, means of a sixth of an octave."""
    from scipy.signal import welch

    f, power = welch(residual, fs=rate, nperseg=min(1024, len(residual)), axis=0)
    band = np.floor(6.0 * np.log2(f[1:] / f[1])).astype(int)
    kept = np.unique(band)
    middle = np.array([np.exp(np.mean(np.log(f[1:][band == k]))) for k in kept])
    level = np.sqrt([power[1:][band == k].mean(axis=0) for k in kept])
    return curves(
        {name: {"residual": (middle, level[:, j])} for j, name in enumerate(names)},
        xlabel="frequency [Hz]", ylabel=f"{unit}/√Hz", columns=min(3, len(names)), height=170,
        log_x=True, log_y=True, same_y=True,
    )  # fmt: skip


def curves(
    groups: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike]]],
    *,
    xlabel: str = "",
    ylabel: str = "",
    columns: int = 1,
    height: int = 260,
    log_x: bool = False,
    log_y: bool = False,
    points: bool = False,
    dashed: Collection[str] = (),
    same_y: bool = False,
) -> go.Figure:
    """One panel per group with its curves; a label has the same colour in all panels.

    Args:
        groups: Title to {label: (x, y)}.
        xlabel, ylabel: Axes.
        columns: Columns of panels.
        height: Height of each row [px].
        log_x, log_y: Logarithmic axes.
        points: Whether samples are marked.
        dashed: Labels whose curves are dashed.
        same_y: Whether all panels have the same y axis.
    """
    import plotly.graph_objects as go

    figure = panels(list(groups), columns=columns, height=height, linked=False)
    labels = list(dict.fromkeys(label for lines in groups.values() for label in lines))
    first = {label: next(g for g, lines in groups.items() if label in lines) for label in labels}
    for i, (group, lines) in enumerate(groups.items()):
        for label, (x, y) in lines.items():
            figure.add_trace(
                go.Scatter(
                    x=list(np.asarray(x, dtype=float)),
                    y=list(np.asarray(y, dtype=float)),
                    name=label,
                    legendgroup=label,
                    showlegend=first[label] == group,
                    mode="lines+markers" if points else "lines",
                    marker={"size": 5},
                    line={
                        "color": COLOURS[labels.index(label) % len(COLOURS)],
                        "width": 1.4,
                        "dash": "dash" if label in dashed else "solid",
                    },
                ),
                row=i // columns + 1,
                col=i % columns + 1,
            )
    figure.update_xaxes(title_text=xlabel, type="log" if log_x else None)
    figure.update_yaxes(type="log" if log_y else None, matches="y" if same_y else None)
    figure.update_yaxes(title_text=ylabel, col=1)
    figure.update_layout(hovermode="closest")
    return figure
