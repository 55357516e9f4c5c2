# SPDX-License-Identifier: Apache-2.0
"""The data of a chart in few bytes: long arrays as 16-bit steps of their range."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sysid_core.robot import Array

if TYPE_CHECKING:
    import plotly.graph_objects as go

STEPS = 65534  # of the range: finer than a screen's pixels; the next number means "no value"
SHORT = 24  # numbers: as text they take about as many bytes


def chart_json(figure: go.Figure) -> str:
    """Data, layout and frames of a figure as JSON that can stand inside a page."""
    raw = {**figure.to_plotly_json(), "frames": [f.to_plotly_json() for f in figure.frames]}
    return json.dumps(_packed(raw), separators=(",", ":")).replace("</", "<\\/")


def _packed(value: Any) -> Any:
    if isinstance(value, Mapping):
        if "bdata" in value:  # as Plotly keeps arrays
            array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
            shape = value.get("shape")
            return _packed(array if shape is None else array.reshape(json.loads(f"[{shape}]")))
        return {k: _packed(x) for k, x in value.items() if k not in ("template", "hovertemplate")}
    if isinstance(value, np.ndarray):
        return _steps(value) if value.dtype.kind in "fiub" else [_packed(x) for x in value]
    if isinstance(value, (list, tuple)):
        if len(value) > SHORT and all(x is None or isinstance(x, float) for x in value):
            return _steps(np.array(value, dtype=float))
        return [_packed(x) for x in value]
    if isinstance(value, np.generic):
        return _packed(value.item())
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


def _steps(values: Array) -> Any:
    """An array as text, or as steps of its range when it is long; indices stay exact."""
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
