# SPDX-License-Identifier: Apache-2.0
"""Figures without a display: `Figure` objects, never pyplot state."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe-Ito, readable with colour-blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")


def new_figure(
    rows: int = 1, columns: int = 1, *, width: float = 9.0, height: float = 2.6, sharex: bool = True
) -> tuple[Figure, list[Axes]]:
    """A figure with a grid of axes, row by row.

    Args:
        rows: Rows of axes.
        columns: Columns of axes.
        width: Width of the figure [inch].
        height: Height of each row [inch].
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
