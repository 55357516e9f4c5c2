# SPDX-License-Identifier: Apache-2.0
"""Charts of a payload: wrench, convergence, the object in 3D, and the signals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import PayloadData, PayloadSummary
from sysid_core.report.charts import COLOURS, GREY, SCALES, Figure, correlation_map, spectra
from sysid_core.report.space import ellipsoid, hull, points, scene
from sysid_core.robot import Array
from sysid_core.robot.shapes import Shape
from sysid_core.signals import JointStream, Recording
from sysid_core.signals.wrench import SensorCalibration


def wrench_chart(data: PayloadData, pi: ArrayLike) -> Figure:
    """Return a chart of the wrench of the estimate, the predicted wrench and the residual,
    per axis.
    """
    predicted = data.regressor @ np.asarray(pi, dtype=float)
    series = {
        f"{axis} [{'N' if i < 3 else 'N m'}]": {
            "measured": data.wrench[:, i],
            "predicted": predicted[:, i],
            "difference": data.wrench[:, i] - predicted[:, i],
        }
        for i, axis in enumerate(SensorCalibration.AXES)
    }
    return Figure.time_series(data.time, series, ylabel="", columns=2)


def error_charts(data: PayloadData, estimate: Estimate) -> Iterator[tuple[Figure, str]]:
    """Yield charts with captions: spectrum and distribution of the residual of each axis, and
    correlation of the errors.
    """
    left = data.wrench - data.regressor @ estimate.values[:10]
    rms = np.sqrt(np.mean(left**2, axis=0))
    scaled = left / np.where(rms > 0, rms, 1.0)
    rate = (len(data.time) - 1) / float(data.time[-1] - data.time[0])
    yield (
        spectra(scaled, rate, SensorCalibration.AXES, "RMS"),
        "Residual spectrum of each axis, relative to its RMS. Peaks: unmodelled effects such as"
        " vibration, mains hum or errors of the motion. White noise is flat.",
    )
    yield (
        correlation_map(estimate.names, estimate.covariance),
        "Correlation of the estimates. Strong colours off the diagonal: parameters that these data"
        " determine only in combination.",
    )


def object_scene(shape: Shape, masses: Array, estimate: Estimate) -> Figure:
    """Return the 3D view of the object's cells, their point masses, and the centre of mass with its
    ellipsoid of 2 sd.

    Args:
        shape: Shape of the object, in the sensor frame.
        masses: Masses of the n cells of the shape, shape (n,) [kg].
        estimate: Estimate of the payload.
    """
    payload = PayloadSummary.of(estimate)
    share = np.cbrt(masses / max(float(masses.max()), 1e-12))
    corners = np.array(np.meshgrid(*zip(shape.lower, shape.upper, strict=True))).reshape(3, -1).T
    com, spread = payload.com, np.diag((2 * payload.com_sd) ** 2)
    cells = {"size": 2 + 16 * share, "colours": masses, "scale": SCALES["blues"], "opacity": 0.7}
    traces = [
        hull(corners, name="bounding box", colour=GREY, opacity=0.12),
        points(shape.points, "point masses", **cells),
        points(com, "centre of mass", symbol="diamond", size=7, colour=COLOURS[1]),
        ellipsoid(com, spread, name="± 2 sd", colour=COLOURS[1]),
    ]
    return scene(traces)


def signal_charts(recording: Recording, smoothed: JointStream) -> tuple[Figure, Figure, Figure]:
    """Return the charts of joint positions, raw and smoothed velocities, and the raw wrench."""
    raw = recording.joints.ordered(smoothed.names)
    t0 = int(raw.stamps_ns[0])
    t_raw, t = (raw.stamps_ns - t0) * 1e-9, (smoothed.stamps_ns - t0) * 1e-9
    trajectory = Figure(["position [rad]"], height=370)
    for j, name in enumerate(smoothed.names):
        trajectory.line(0, t_raw, raw.q[:, j], name, COLOURS[j % len(COLOURS)])
    last = len(smoothed.names) - 1
    titles = [f"{smoothed.names[last]}: velocity [rad/s]", "acceleration [rad/s²]"]
    rates = Figure(titles, linked=True)
    if raw.v is not None:
        rates.line(0, t_raw, raw.v[:, last], "raw", GREY)
    for i, values in enumerate((smoothed.v, smoothed.a)):
        if values is not None:
            rates.line(i, t, values[:, last], "smoothed")
    wrench = Figure(["force [N]", "torque [N m]"], linked=True)
    if recording.wrench is not None:
        t_w = (recording.wrench.stamps_ns - t0) * 1e-9
        for i, name in enumerate(SensorCalibration.AXES):
            wrench.line(i // 3, t_w, recording.wrench.wrench[:, i], name, COLOURS[i % 3])
    for figure in (trajectory, rates, wrench):
        figure.label_time()
    return trajectory, rates, wrench
