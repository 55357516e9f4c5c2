# SPDX-License-Identifier: Apache-2.0
"""Interactive charts: curves, values with bars, and 3D views."""

from sysid_core.report.charts.curves import curves, spectra, time_series
from sysid_core.report.charts.figure import COLOURS, GREY, SCALES, Figure, thinned
from sysid_core.report.charts.space import (
    cell_traces,
    ellipsoid,
    hull,
    moving_robot,
    points,
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
    heat_map,
    strong_correlations,
)

__all__ = [
    "COLOURS",
    "GREY",
    "SCALES",
    "Dots",
    "Figure",
    "bars",
    "cell_traces",
    "correlation_map",
    "curves",
    "dots",
    "dots_with_bars",
    "ellipsoid",
    "heat_map",
    "hull",
    "moving_robot",
    "points",
    "scene",
    "skeleton",
    "solid_robot",
    "spectra",
    "strong_correlations",
    "thinned",
    "time_series",
]
