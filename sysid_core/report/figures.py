"""Figures without a display: `Figure` objects, never pyplot state."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

# Okabe-Ito, readable with colour-blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")


def new_figure(
    rows: int = 1, columns: int = 1, *, width: float = 9.0, height: float = 2.6, sharex: bool = True
) -> tuple[Figure, list[Axes]]:
    """A figure with a grid of axes, row by row.

    Args:
        rows: Rows of axes.
        columns: Columns of axes.
        width: Of the figure [inch].
        height: Of each row [inch].
        sharex: Whether columns share their x axis.
    """
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=sharex, squeeze=False)
    flat = list(axes.ravel())
    for axis, colour in zip(flat, [COLOURS] * len(flat), strict=True):
        axis.set_prop_cycle(color=colour)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, flat


def time_series(
    time: NDArray, series: Mapping[str, Mapping[str, NDArray]], *, ylabel: str, columns: int = 2
) -> Figure:
    """One axis per group (such as a joint), its lines over time.

    Args:
        time: Shape (K,) [s].
        series: Group to {line label: values of shape (K,)}.
        ylabel: Label of the y axes.
        columns: Columns of axes.
    """
    rows = -(-len(series) // columns)
    figure, axes = new_figure(rows, columns, height=1.9)
    for axis, (title, lines) in zip(axes, series.items(), strict=False):
        for label, values in lines.items():
            axis.plot(time, values, label=label, linewidth=0.9)
        axis.set_title(title, fontsize=9, loc="left")
        axis.set_ylabel(ylabel, fontsize=8)
    for axis in axes[len(series) :]:
        axis.set_visible(False)
    for axis in axes[-columns:]:
        axis.set_xlabel("time [s]", fontsize=8)
    axes[0].legend(fontsize=8, frameon=False)
    return figure
