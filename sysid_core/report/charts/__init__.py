# SPDX-License-Identifier: Apache-2.0
"""Interactive charts: curves, values with bars, and views in space."""

from sysid_core.report.charts.cell import cell_traces
from sysid_core.report.charts.curves import (
    COLOURS,
    add_line,
    curves,
    label_time,
    panels,
    spectra,
    thinned,
    time_series,
)
from sysid_core.report.charts.space import (
    ellipsoid,
    hull,
    moving_robot,
    scene,
    skeleton,
    solid_robot,
)
from sysid_core.report.charts.values import (
    Dots,
    bars,
    correlation_map,
    dots,
    dots_with_bars,
    strong_correlations,
)

__all__ = [
    "COLOURS",
    "Dots",
    "add_line",
    "bars",
    "cell_traces",
    "correlation_map",
    "curves",
    "dots",
    "dots_with_bars",
    "ellipsoid",
    "hull",
    "label_time",
    "moving_robot",
    "panels",
    "scene",
    "skeleton",
    "solid_robot",
    "spectra",
    "strong_correlations",
    "thinned",
    "time_series",
]
