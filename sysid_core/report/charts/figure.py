# SPDX-License-Identifier: Apache-2.0
"""Charts as data (panels of lines, dots, bars and colours, or a 3D view), which page.js draws."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.robot import Array

# Okabe-Ito, readable with colour-blindness; black would vanish on a dark page.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8F98", "#B8A900")
GREY = "#8A8F98"
SCALES: Mapping[str, tuple[str, ...]] = {
    "viridis": ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"),
    "two-sided": ("#b2182b", "#f4a582", "#f7f7f7", "#92c5de", "#2166ac"),
    "alarm": ("#ffffcc", "#fed976", "#fd8d3c", "#e31a1c", "#800026"),
    "blues": ("#dfe9f5", "#0072B2"),
}
MOST_POINTS = 1200  # of a line: a panel has some 600 pixels, and each keeps its extrema
STEPS = 65534  # of the range: finer than a screen's pixels; the next number means "no value"
SHORT = 24  # numbers: as text they take about as many bytes


def thinned(values: ArrayLike, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Indices of the samples to draw: the extrema of each interval, so that no peak is lost.

    Args:
        values: Lines, shape (K,) or (K, n).
        most: Approximate maximum number of samples kept per line.
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


class Figure:
    """Chart of one or more panels, or of one 3D view.

    Args:
        titles: One per panel.
        columns: Columns of panels.
        height: Height of each row [px].
        linked: Whether all x axes zoom together.

    Attributes:
        data: Traces, each with its panel.
        layout: Panels with their axes and marks, and how they are arranged.
        frames: Coordinates of the moving traces at each instant of a view in space.
    """

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
        """Add a line, reduced to its extrema; style: `width` [px], `dash` (dot or dash), `points`."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        keep = thinned(y)
        self.add(panel, "line", x[keep], y[keep], name, colour=colour, **style)

    def axis(self, which: str, panel: int | None = None, **settings: Any) -> None:
        """Set properties of an axis (`x` or `y`) of one panel or of all panels.

        Args:
            which: `x` or `y`.
            panel: Its index; None: all panels.
            settings: `title`, `log`, `range`, `reversed`, `names` (order), `hidden`, `dates` (days).
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
        """Data, layout and frames of the chart as JSON that is safe inside an HTML page."""
        raw = {"data": self.data, "layout": self.layout, "frames": self.frames}
        return json.dumps(_packed(raw), separators=(",", ":")).replace("</", "<\\/")


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
    """An array as text, or as 16-bit steps of its range when it is long; indices stay exact."""
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
