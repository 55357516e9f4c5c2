# SPDX-License-Identifier: Apache-2.0
"""Charts of curves over time, frequency, or another quantity."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.report.charts.figure import COLOURS, Figure
from sysid_core.robot import Array


def time_series(
    time: Array, series: Mapping[str, Mapping[str, Array]], *, ylabel: str, columns: int = 2
) -> Figure:
    """Chart of time series, one panel per group (such as a joint).

    Args:
        time: Shape (K,) [s].
        series: Group to {line label: values of shape (K,)}.
        ylabel: Label of the y axes.
        columns: Columns of panels.
    """
    figure = Figure(list(series), columns=columns, linked=True)
    for i, lines in enumerate(series.values()):
        for k, (label, values) in enumerate(lines.items()):
            figure.line(i, time, values, label, COLOURS[k % len(COLOURS)])
    figure.axis("y", title=ylabel)
    figure.label_time()
    return figure


def spectra(residual: Array, rate: float, names: Collection[str], unit: str) -> Figure:
    """Chart of amplitude densities of residuals (K, n) at a sampling rate [Hz], one panel each,
    averaged over sixths of an octave.
    """
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
    same_y: bool = False,
) -> Figure:
    """Chart of curves, one panel per group; a label has the same colour in all panels.

    Args:
        groups: Title to {label: (x, y)}.
        xlabel, ylabel: Axes.
        columns: Columns of panels.
        height: Height of each row [px].
        log_x, log_y: Logarithmic axes.
        points: Whether samples are marked.
        same_y: Whether all panels have the same y axis.
    """
    figure = Figure(list(groups), columns=columns, height=height)
    labels = list(dict.fromkeys(label for lines in groups.values() for label in lines))
    for i, lines in enumerate(groups.values()):
        for label, (x, y) in lines.items():
            colour = COLOURS[labels.index(label) % len(COLOURS)]
            figure.line(i, x, y, label, colour, points=points)
    figure.axis("x", title=xlabel, log=log_x)
    figure.axis("y", title=ylabel, log=log_y)
    if same_y:
        every = np.concatenate(
            [np.ravel(y) for lines in groups.values() for _, y in lines.values()]
        )
        every = np.log10(every[every > 0]) if log_y else every[np.isfinite(every)]
        room = 0.06 * float(np.ptp(every))
        figure.axis("y", range=[float(every.min()) - room, float(every.max()) + room])
    return figure
