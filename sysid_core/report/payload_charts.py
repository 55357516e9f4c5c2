# SPDX-License-Identifier: Apache-2.0
"""Charts of a payload: wrench, convergence, the object in space, and the signals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import PayloadData, summarise_payload
from sysid_core.estimation.payload_live import PayloadMoment
from sysid_core.report.charts import (
    COLOURS,
    add_line,
    correlation_map,
    ellipsoid,
    hull,
    label_time,
    panels,
    scene,
    spectra,
    time_series,
)
from sysid_core.robot import Array, mass_com_inertia_from_pi
from sysid_core.robot.shapes import Shape
from sysid_core.signals import JointStream, Recording

if TYPE_CHECKING:
    import plotly.graph_objects as go

AXES = ("fx", "fy", "fz", "tx", "ty", "tz")


def wrench_chart(data: PayloadData, pi: ArrayLike) -> go.Figure:
    """Measured (bias removed), predicted and remaining wrench, per axis."""
    predicted = data.regressor @ np.asarray(pi, dtype=float)
    series = {
        f"{axis} [{'N' if i < 3 else 'N m'}]": {
            "measured": data.wrench[:, i],
            "predicted": predicted[:, i],
            "difference": data.wrench[:, i] - predicted[:, i],
        }
        for i, axis in enumerate(AXES)
    }
    return time_series(data.time, series, ylabel="", columns=2)


def error_charts(data: PayloadData, estimate: Estimate) -> Iterator[tuple[go.Figure, str]]:
    """Spectrum and distribution of what is left of each axis, correlation of the errors; captions."""
    left = data.wrench - data.regressor @ estimate.values[:10]
    rms = np.sqrt(np.mean(left**2, axis=0))
    scaled = left / np.where(rms > 0, rms, 1.0)
    rate = (len(data.time) - 1) / float(data.time[-1] - data.time[0])
    yield (
        spectra(scaled, rate, AXES, "RMS"),
        "Residual spectrum of each axis over its RMS. Peaks are what the model lacks: vibration,"
        " mains hum, a motion that is off; white noise is flat.",
    )
    yield (
        correlation_map(estimate.names, estimate.covariance),
        "Correlation of the estimates: strong colours far from the diagonal are parameters that"
        " these data show only together.",
    )


def convergence_chart(history: Sequence[PayloadMoment], truth: ArrayLike | None) -> go.Figure:
    """Mass and centre of mass over the run, with two standard deviations."""
    time = np.array([moment.time for moment in history])
    series = {"mass [kg]": ([m.mass for m in history], [m.mass_sd for m in history])}
    for k, axis in enumerate("xyz"):
        series[f"com {axis} [mm]"] = (
            [1e3 * m.com[k] for m in history],
            [1e3 * m.com_sd[k] for m in history],
        )
    true: list[float] = []
    if truth is not None:
        mass, com, _ = mass_com_inertia_from_pi(np.asarray(truth, dtype=float))
        true = [float(mass), *(1e3 * com).tolist()]
    figure = panels(list(series), columns=2, height=230)
    for i, (values, sds) in enumerate(series.values()):
        x, sd = np.array(values), np.array(sds)
        for name, line in (("- 2 sd", x - 2 * sd), ("+ 2 sd", x + 2 * sd)):
            colour = COLOURS[5]
            add_line(figure, i, time, line, name=name, colour=colour, columns=2, dash="dot")
        add_line(figure, i, time, x, name="estimate", columns=2, width=2.0)
        if true:
            line = np.full_like(time, true[i])
            add_line(figure, i, time, line, name="truth", colour=COLOURS[1], columns=2, dash="dash")
        late = x[len(x) // 4 :] if len(x) > 8 else x
        spread = max(4 * float(np.median(sd)), 3 * float(np.ptp(late)), 1e-3)
        middle = float(np.median(late))
        figure.update_yaxes(range=[middle - spread, middle + spread], row=i // 2 + 1, col=i % 2 + 1)
    label_time(figure, 2)
    return figure


def object_scene(shape: Shape, masses: Array, estimate: Estimate) -> go.Figure:
    """The object's cells, their point masses, and the centre of mass with its ellipsoid of 2 sd.

    Args:
        shape: Shape of the object, in the sensor frame.
        masses: Masses of its cells, shape (n,) [kg].
        estimate: Estimate of the payload.
    """
    import plotly.graph_objects as go

    payload = summarise_payload(estimate)
    x, y, z = shape.points.T
    share = np.cbrt(masses / max(float(masses.max()), 1e-12))
    X, Y, Z = np.array(np.meshgrid(*zip(shape.lower, shape.upper, strict=True))).reshape(3, -1)
    traces = [
        hull(np.column_stack([X, Y, Z]), name="bounding box", colour="#888888", opacity=0.12),
        go.Scatter3d(
            x=x, y=y, z=z, mode="markers", name="point masses",
            marker={"size": 2 + 16 * share, "color": masses, "colorscale": "Blues", "opacity": 0.7},
            text=[f"{1e3 * m:.1f} g" for m in masses],
        ),
        go.Scatter3d(
            x=payload.com[:1], y=payload.com[1:2], z=payload.com[2:], mode="markers",
            name="centre of mass", marker={"symbol": "diamond", "size": 7, "color": COLOURS[1]},
        ),
        ellipsoid(
            payload.com, np.diag((2 * payload.com_sd) ** 2), name="± 2 sd", colour=COLOURS[1]
        ),
    ]  # fmt: skip
    return scene(traces)


def signal_charts(
    recording: Recording, filtered: JointStream
) -> tuple[go.Figure, go.Figure, go.Figure]:
    """Joint positions, velocities raw and filtered, and the raw wrench."""
    raw = recording.joints.ordered(filtered.names)
    t0 = int(raw.stamps_ns[0])
    t_raw, t = (raw.stamps_ns - t0) * 1e-9, (filtered.stamps_ns - t0) * 1e-9
    trajectory = panels(["position [rad]"], height=260)
    for j, name in enumerate(filtered.names):
        colour = COLOURS[j % len(COLOURS)]
        add_line(trajectory, 0, t_raw, raw.q[:, j], name=name, colour=colour)
    label_time(trajectory)
    last = len(filtered.names) - 1
    rates = panels([f"{filtered.names[last]}: velocity [rad/s]", "acceleration [rad/s²]"])
    if raw.v is not None:
        add_line(rates, 0, t_raw, raw.v[:, last], name="raw", colour="#aaaaaa")
    for i, values in enumerate((filtered.v, filtered.a)):
        if values is not None:
            add_line(rates, i, t, values[:, last], name="filtered")
    label_time(rates)
    wrench = panels(["force [N]", "torque [N m]"])
    if recording.wrench is not None:
        t_w = (recording.wrench.stamps_ns - t0) * 1e-9
        for i, name in enumerate(AXES):
            values = recording.wrench.wrench[:, i]
            add_line(wrench, i // 3, t_w, values, name=name, colour=COLOURS[i % 3])
    label_time(wrench)
    return trajectory, rates, wrench
