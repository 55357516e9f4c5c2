# SPDX-License-Identifier: Apache-2.0
"""Interactive charts as data, drawn by page.js: panels of lines, dots, bars and colours."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from sysid_core.robot import Array

# Okabe-Ito, readable with colour-blindness; black would vanish on a dark page.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8F98", "#B8A900")
GREY = "#8A8F98"
INK = "#000000"  # drawn in the colour of the page's text
# Lines that mean the same on every page.
ROLES: Mapping[str, str] = {
    "measured": COLOURS[5],
    "predicted": COLOURS[2],
    "simulated": COLOURS[2],
    "difference": COLOURS[1],
    "limit": INK,
}
SCALES: Mapping[str, tuple[str, ...]] = {
    "viridis": ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"),
    "two-sided": ("#b2182b", "#f4a582", "#f7f7f7", "#92c5de", "#2166ac"),
    "alarm": ("#ffffcc", "#fed976", "#fd8d3c", "#e31a1c", "#800026"),
    "blues": ("#dfe9f5", "#0072B2"),
}
MOST_POINTS = 1200  # of a line: a panel has some 600 pixels, and each keeps its extrema
STEPS = 65534  # of the range: finer than a screen's pixels; the next number means "no value"
_CORRELATED, _LISTED = 0.9, 8  # smallest correlation that is named, and most pairs
SHORT = 24  # numbers: as text they take about as many bytes
LONG = 16  # lines of a panel; longer ones take the whole width


class Figure:
    """Chart of one or more panels, or of one 3D view.

    Args:
        titles: Titles of the panels.
        columns: Number of columns of panels.
        height: Height of each row [px].
        linked: True if all x axes zoom together.

    Attributes:
        data: Traces, each with the index of its panel.
        layout: Panels with axes, marks and arrangement.
        frames: Coordinates of the moving traces at each instant of a 3D view.
    """

    COLOURS: ClassVar[tuple[str, ...]] = COLOURS

    def __init__(
        self,
        titles: Sequence[str] = ("",),
        *,
        columns: int = 1,
        height: int = 170,
        linked: bool = False,
    ) -> None:
        self.data: list[dict[str, Any]] = []
        self.frames: list[dict[str, Any]] = []
        panels = [{"title": title, "x": {}, "y": {}, "marks": []} for title in titles]
        self.layout: dict[str, Any] = {"panels": panels, "columns": columns, "linked": linked}
        self.layout["row"] = height

    def add(self, panel: int, kind: str, x: Any, y: Any, name: str = "", **style: Any) -> None:
        """Add a trace to the chart; `style` is passed to page.js."""
        self.data.append({"panel": panel, "type": kind, "x": x, "y": y, "name": name, **style})

    def line(
        self,
        panel: int,
        x: ArrayLike,
        y: ArrayLike,
        name: str = "",
        colour: str = COLOURS[0],
        **style: Any,
    ) -> None:
        """Add a line, reduced to its extrema.

        Args:
            panel: Index of the panel.
            x, y: Coordinates of the points, shape (K,) each.
            name: Name in the legend; empty: none.
            colour: Colour of the line.
            style: `width` [px], `dash` (dot or dash), `points`.
        """
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        keep = Figure.thinned(y)
        self.add(panel, "line", x[keep], y[keep], name, colour=colour, **style)

    def axis(self, which: str, panel: int | None = None, **settings: Any) -> None:
        """Set properties of an axis (`x` or `y`) of one panel or of all panels.

        Args:
            which: Axis, `x` or `y`.
            panel: Index of the panel; None: all panels.
            settings: Properties among `title`, `log`, `range`, `reversed`, `names` (order),
                `hidden` and `dates` (days).
        """
        for k, some in enumerate(self.layout["panels"]):
            if panel is None or k == panel:
                some[which].update(settings)

    def mark(self, panel: int, axis: str, *at: float, colour: str = GREY) -> None:
        """Add a dashed line at one value of an axis, or a band between two values."""
        self.layout["panels"][panel]["marks"].append({"axis": axis, "at": at, "colour": colour})

    def label_time(self) -> None:
        """Label the x axis of the lowest panel of each column."""
        for k in range(len(self.layout["panels"]))[-self.layout["columns"] :]:
            self.axis("x", k, title="time [s]")

    def json(self) -> str:
        """Return the data, layout and frames of the chart as JSON that is safe inside an HTML page."""
        raw = {"data": self.data, "layout": self.layout, "frames": self.frames}
        return json.dumps(_packed(raw), separators=(",", ":")).replace("</", "<\\/")

    @classmethod
    def time_series(
        cls,
        time: Array,
        series: Mapping[str, Mapping[str, Array]],
        *,
        ylabel: str,
        columns: int = 2,
    ) -> Figure:
        """Return a chart of time series, one panel per group (such as a joint).

        Args:
            time: Times, shape (K,) [s].
            series: Values of shape (K,), by group and line label.
            ylabel: Label of the y axes.
            columns: Number of columns of panels.
        """
        figure = cls(list(series), columns=columns, linked=True)
        for i, lines in enumerate(series.values()):
            for k, (label, values) in enumerate(lines.items()):
                figure.line(i, time, values, label, ROLES.get(label, COLOURS[k % len(COLOURS)]))
        figure.axis("y", title=ylabel)
        figure.label_time()
        return figure

    @classmethod
    def curves(
        cls,
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
        """Return a chart of curves, one panel per group; a label has the same colour in all panels.

        Args:
            groups: Coordinates (x, y) of the curves, by panel title and label.
            xlabel, ylabel: Labels of the axes.
            columns: Number of columns of panels.
            height: Height of each row [px].
            log_x, log_y: True for a logarithmic axis.
            points: True to mark the samples.
            same_y: True for the same y axis in all panels.
        """
        figure = cls(list(groups), columns=columns, height=height)
        labels = list(dict.fromkeys(label for lines in groups.values() for label in lines))
        for i, lines in enumerate(groups.values()):
            for label, (x, y) in lines.items():
                colour = ROLES.get(label, COLOURS[labels.index(label) % len(COLOURS)])
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

    @classmethod
    def dots(
        cls,
        names: Sequence[str],
        series: Mapping[str, ArrayLike],
        *,
        ylabel: str,
        band: tuple[float, float] | None = None,
    ) -> Figure:
        """Return a chart with a dot for every name and series, over a grey band.

        Args:
            names: Names of the n dots of each series, below the chart.
            series: Values of shape (n,), by label.
            ylabel: Label of the y axis.
            band: Lower and upper end of the band; None: no band.
        """
        figure = cls(height=420)
        for k, (label, y) in enumerate(series.items()):
            values = np.asarray(y, dtype=float)
            figure.add(0, "dots", list(names), values, label, colour=COLOURS[k % len(COLOURS)])
        if band is not None:
            figure.mark(0, "y", *band)
        figure.axis("y", title=ylabel)
        return figure

    @classmethod
    def heat_map(
        cls, z: ArrayLike, x: Sequence[str], y: Sequence[str], low: float, high: float, scale: str
    ) -> Figure:
        """Return a chart of a table of values (rows y, columns x) as colours between two limits."""
        figure = cls(height=max(300, min(640, 200 + 24 * len(y))))
        values = np.asarray(z, dtype=np.float32)
        figure.add(0, "heat", list(x), list(y), z=values, low=low, high=high, scale=SCALES[scale])
        figure.axis("y", reversed=True)
        return figure

    @staticmethod
    def thinned(values: ArrayLike, most: int = MOST_POINTS) -> NDArray[np.intp]:
        """Return the indices of the samples to draw: the extrema of each interval, so that no peak is
        lost.

        Args:
            values: Values of one or n lines, shape (K,) or (K, n).
            most: Approximate maximum number of samples kept per line.

        Returns:
            Indices of the samples in ascending order, shape (k,).
        """
        lines = np.asarray(values, dtype=float).reshape(len(np.atleast_1d(values)), -1)
        K = len(lines)
        if most >= K:
            return np.arange(K)
        size = -(-2 * K // most)
        whole = (K // size) * size
        buckets = np.nan_to_num(lines[:whole].reshape(-1, size, lines.shape[1]))
        starts = np.arange(len(buckets))[:, None] * size
        places = (buckets.argmin(axis=1) + starts, buckets.argmax(axis=1) + starts)
        return np.unique(np.concatenate([*(p.ravel() for p in places), [0, K - 1]]))


def _packed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _packed(x) for k, x in value.items()}
    if isinstance(value, np.ndarray):
        return _steps(value) if value.dtype.kind in "fiub" else value.tolist()
    if isinstance(value, (list, tuple)):
        if len(value) > SHORT and all(x is None or isinstance(x, float) for x in value):
            return _steps(np.array(value, dtype=float))
        return [_packed(x) for x in value]
    if isinstance(value, np.generic):
        return _packed(value.item())
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value


def _steps(values: Array) -> Any:
    """Array as text for JSON; long arrays are stored as 16-bit fractions of their range, indices
    exactly.
    """
    exact = values.dtype.kind in "iub" and np.ptp(values) <= STEPS if values.size else True
    values = np.asarray(values, dtype=float)
    some = np.isfinite(values)
    if values.size <= SHORT or not some.any():
        return _packed(values.tolist())
    low, high = float(values[some].min()), float(values[some].max())
    high = low + STEPS if exact else high if high > low else low + 1.0
    steps = np.full(values.shape, STEPS + 1, dtype="<u2")
    steps[some] = np.rint((values[some] - low) / (high - low) * STEPS)
    text = base64.b64encode(steps.tobytes()).decode()
    return {"steps": text, "low": low, "high": high} | (
        {"width": values.shape[1]} if values.ndim == 2 else {}
    )


def spectra(residual: Array, rate: float, names: Collection[str], unit: str) -> Figure:
    """Return a chart of amplitude densities of residuals (K, n) at a sampling rate [Hz], one panel
    each, averaged over sixths of an octave (Welch's method, Hann windows that overlap by a half).
    """
    n = min(1024, len(residual))
    window = np.hanning(n + 1)[:-1]
    # scipy.signal has this too, and with it comes scipy.stats: a third of a second for a chart.
    pieces = sliding_window_view(residual, n, axis=0)[:: n - n // 2]
    spectrum = np.fft.rfft(window * (pieces - pieces.mean(axis=-1, keepdims=True)))
    f, power = np.fft.rfftfreq(n, 1.0 / rate), np.mean(np.abs(spectrum) ** 2, axis=0).T
    power *= 2.0 / (rate * (window @ window))
    power[-1] *= 1.0 if n % 2 else 0.5  # the Nyquist frequency has no mirror image
    band = np.floor(6.0 * np.log2(f[1:] / f[1])).astype(int)
    kept = np.unique(band)
    middle = np.array([np.exp(np.mean(np.log(f[1:][band == k]))) for k in kept])
    level = np.sqrt([power[1:][band == k].mean(axis=0) for k in kept])
    return Figure.curves(
        {name: {"residual": (middle, level[:, j])} for j, name in enumerate(names)},
        xlabel="frequency [Hz]", ylabel=f"{unit}/√Hz", columns=min(3, len(names)), height=170,
        log_x=True, log_y=True, same_y=True,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Dots:
    """Data of a chart of estimates with the same unit, one parameter per line.

    Attributes:
        title: Title of the panel.
        names: Names of the n parameters.
        values: Estimated values, shape (n,).
        sd: Standard deviations, shape (n,); NaN: not determined by the data.
        reference: Values of the URDF, shape (n,); NaN: no value in the URDF.
        band: Half width of the plausible range before the measurement, shape (n,); NaN: no band.
        details: Explanation of each parameter, shown on demand.
        unit: Unit, the label of the axis.
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
    """Return a chart of estimates with bars of ± 2 standard deviations, filled if the data
    determine the parameter.

    Values that the data do not determine are hollow, inside the band of values that were plausible
    before the measurement.
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
        ends = [some.values - 2 * some.sd, some.values + 2 * some.sd]
        shown = np.concatenate([known, some.values, *(end[sure] for end in ends)])
        shown = shown[np.isfinite(shown)]
        if sure.any() and (room := 0.03 * float(np.ptp(shown))) > 0.0:  # bands may leave the axis
            figure.axis("x", k, range=[float(shown.min()) - room, float(shown.max()) + room])
        plausible = "plausible before the measurement"
        # Friction and drives have no value in the URDF: before the measurement they are around zero.
        centre = np.where(np.isfinite(known), known, 0.0 * some.band)
        add(~sure, plausible, centre, some.band, size=0.1, colour=GREY, wide=True)
        add(sure | ~sure, "URDF", known, symbol="line-open", size=11, colour=COLOURS[4])
        hollow = "not determined by these data"
        add(~sure, hollow, some.values, symbol="circle-open", size=8, colour=GREY)
        add(sure, "determined by these data, ± 2 sd", some.values, 2 * some.sd, colour=COLOURS[0])
        figure.axis("x", k, title=some.unit)
        figure.axis("y", k, reversed=True, names=list(some.names))
    return figure


def correlation_map(names: Sequence[str], covariance: ArrayLike) -> Figure:
    """Return a chart of the correlations of the estimates, from their covariance (p, p)."""
    return Figure.heat_map(_correlations(covariance), names, names, -1.0, 1.0, "two-sided")


def _correlations(covariance: ArrayLike) -> Array:
    P = np.asarray(covariance, dtype=float)
    sd = np.sqrt(np.maximum(np.diag(P), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    return np.asarray(P / np.outer(scale, scale))


def strong_correlations(names: Sequence[str], covariance: ArrayLike) -> list[str]:
    """Return the sentences on the most strongly correlated pairs of estimates, the strongest first.

    Args:
        names: Names of the p parameters.
        covariance: Covariance of the estimates, shape (p, p).
    """
    rho = np.triu(_correlations(covariance), 1)
    pairs = np.argwhere(np.abs(rho) >= _CORRELATED)
    pairs = pairs[np.argsort(-np.abs(rho[tuple(pairs.T)]), kind="stable")]
    listed = [f"{names[i]} and {names[j]}: {rho[i, j]:+.2f}" for i, j in pairs[:_LISTED]]
    return listed + ([f"… {len(pairs) - _LISTED} more pairs"] if len(pairs) > _LISTED else [])


def bars(shares: Mapping[str, float], *, limit: float | None = None) -> Figure:
    """Return a chart of horizontal bars with their values, and a dashed line at the limit."""
    figure = Figure(height=max(180, 28 * len(shares) + 90))
    text = [f"{value:.3g} %" for value in shares.values()]
    values = list(shares.values())
    figure.add(0, "bars", values, list(shares), flat=True, text=text, colour=COLOURS[0])
    if limit is not None:
        figure.mark(0, "x", limit, colour=ROLES["limit"])
    figure.axis("y", reversed=True)
    figure.axis("x", title="%")
    return figure
