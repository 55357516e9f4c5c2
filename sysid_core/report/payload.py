"""The report of a payload identification: what was measured, what came out, how sure it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import (
    PayloadData,
    PayloadInformation,
    PointMassDiscretization,
    summarise_payload,
)
from sysid_core.estimation.payload_live import PayloadMoment
from sysid_core.report.figures import COLOURS, new_figure, time_series
from sysid_core.report.html import Report
from sysid_core.robot import Array, inertia_matrix_from_pi, mass_com_inertia_from_pi
from sysid_core.robot.shapes import Shape
from sysid_core.signals import JointStream, Recording
from sysid_core.validation import payload_errors

AXES = ("fx", "fy", "fz", "tx", "ty", "tz")


def comparison_rows(estimate: Estimate, truth: ArrayLike | None) -> list[list[object]]:
    """Rows of quantity, estimate, standard deviation, truth, error; SI units.

    Args:
        estimate: Of a payload.
        truth: pi of the payload, shape (10,), or None.
    """
    payload = summarise_payload(estimate)
    values = np.concatenate([[payload.mass], payload.com, payload.inertia[_ROWS, _COLS]])
    sds = np.concatenate([[payload.mass_sd], payload.com_sd, payload.inertia_sd[_ROWS, _COLS]])
    true: list[float | None] = [None] * 10
    if truth is not None:
        m, c, inertia = mass_com_inertia_from_pi(np.asarray(truth, dtype=float))
        true = [float(m), *c.tolist(), *inertia[_ROWS, _COLS].tolist()]
    rows: list[list[object]] = []
    for name, unit, x, sd, t, verdict in zip(
        _NAMES, _UNITS, values, sds, true, estimate.verdicts, strict=True
    ):
        x = float(x) if abs(x) > 1e-9 * sd else 0.0  # a symmetric shape leaves rounding
        error = None if t is None else x - t
        rows.append([name, unit, x, float(sd), t, error, verdict.value])
    return rows


_NAMES = ("mass", "com x", "com y", "com z", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
_UNITS = ("kg",) + ("m",) * 3 + ("kg m²",) * 6
_ROWS, _COLS = [0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]


def error_summary(estimate: Estimate, truth: ArrayLike, size: ArrayLike) -> dict[str, float]:
    """Errors in per cent (see `payload_errors`), and the largest of the centre of mass.

    Args:
        estimate: Of a payload.
        truth: pi, shape (10,).
        size: Lengths of the bounding box, shape (3,) [m].

    Returns:
        `mass`, `com` (mean over the axes), `com_worst` (largest over the axes) and `inertia`.
    """
    truth, size = np.asarray(truth, dtype=float), np.asarray(size, dtype=float)
    mass, com, inertia = payload_errors(estimate.values, truth, size)
    worst = np.abs(summarise_payload(estimate).com - truth[1:4] / truth[0]) / size
    return {"mass": mass, "com": com, "com_worst": 100 * float(worst.max()), "inertia": inertia}


def wrench_figure(data: PayloadData, pi: ArrayLike) -> Figure:
    """Measured (bias removed) against predicted wrench, per axis."""
    predicted = data.regressor @ np.asarray(pi, dtype=float)
    series = {
        f"{axis} [{'N' if i < 3 else 'N m'}]": {
            "measured": data.wrench[:, i],
            "predicted": predicted[:, i],
        }
        for i, axis in enumerate(AXES)
    }
    return time_series(data.time, series, ylabel="", columns=2)


def convergence_figure(history: Sequence[PayloadMoment], truth: ArrayLike | None) -> Figure:
    """Mass and centre of mass over the run, with two standard deviations."""
    t = np.array([moment.time for moment in history])
    figure, axes = new_figure(2, 2, height=2.1)
    series = [
        ("mass [kg]", [m.mass for m in history], [m.mass_sd for m in history]),
        *(
            (
                f"com {'xyz'[k]} [mm]",
                [1e3 * m.com[k] for m in history],
                [1e3 * m.com_sd[k] for m in history],
            )
            for k in range(3)
        ),
    ]
    true: list[float] | None = None
    if truth is not None:
        m, c, _ = mass_com_inertia_from_pi(np.asarray(truth, dtype=float))
        true = [float(m), *(1e3 * c).tolist()]
    for i, (axis, (label, values, sds)) in enumerate(zip(axes, series, strict=True)):
        x, sd = np.array(values), np.array(sds)
        axis.plot(t, x, color=COLOURS[0], label="estimate")
        axis.fill_between(t, x - 2 * sd, x + 2 * sd, color=COLOURS[0], alpha=0.18, label="± 2 sd")
        if true is not None:
            axis.axhline(true[i], color=COLOURS[1], linestyle="--", linewidth=1, label="truth")
        late = x[len(x) // 4 :] if len(x) > 8 else x
        spread = max(4 * float(np.median(sd)), 3 * float(np.ptp(late)), 1e-3)
        axis.set_ylim(float(np.median(late)) - spread, float(np.median(late)) + spread)
        axis.set_ylabel(label, fontsize=9)
    for axis in axes[-2:]:
        axis.set_xlabel("time in motion [s]", fontsize=9)
    axes[0].legend(fontsize=8, frameon=False)
    return figure


def point_mass_figure(shape: Shape, masses: Array, com: ArrayLike) -> Figure:
    """The point masses inside the shape, from above and from the side; area shows the mass."""
    figure, axes = new_figure(1, 2, height=4.0, sharex=False)
    largest = max(float(masses.max()), 1e-12)
    com = np.asarray(com, dtype=float)
    for axis, (i, j) in zip(axes, ((0, 1), (1, 2)), strict=True):
        axis.scatter(shape.points[:, i], shape.points[:, j], s=10, marker="+", color="#999999")
        axis.scatter(
            shape.points[:, i],
            shape.points[:, j],
            s=260 * masses / largest,
            alpha=0.45,
            color=COLOURS[0],
            edgecolor="none",
        )
        axis.plot(
            com[i], com[j], marker="x", color=COLOURS[1], markersize=10, label="centre of mass"
        )
        axis.set_xlabel(f"{'xyz'[i]} [m]")
        axis.set_ylabel(f"{'xyz'[j]} [m]")
        axis.set_aspect("equal")
        axis.margins(0.15)  # room for the discs of the outermost cells
    axes[0].legend(fontsize=8, frameon=False)
    return figure


def signal_figures(recording: Recording, filtered: JointStream) -> tuple[Figure, Figure, Figure]:
    """Joint positions, velocities raw and filtered, and the raw wrench."""
    raw = recording.joints.ordered(filtered.names)
    t0 = int(raw.stamps_ns[0])
    t_raw, t = (raw.stamps_ns - t0) * 1e-9, (filtered.stamps_ns - t0) * 1e-9
    trajectory, (axis,) = new_figure(1, 1)
    for j, name in enumerate(filtered.names):
        axis.plot(t_raw, raw.q[:, j], label=name, linewidth=1)
    axis.set_ylabel("position [rad]")
    axis.set_xlabel("time [s]")
    axis.legend(fontsize=7, ncol=4, frameon=False)
    rates, axes = new_figure(2, 1)
    assert filtered.v is not None and filtered.a is not None
    last = len(filtered.names) - 1
    if raw.v is not None:
        axes[0].plot(t_raw, raw.v[:, last], color="#bbbbbb", linewidth=0.7, label="raw")
    axes[0].plot(t, filtered.v[:, last], linewidth=0.9, label="filtered", color=COLOURS[0])
    axes[0].set_ylabel("velocity [rad/s]")
    axes[1].plot(t, filtered.a[:, last], linewidth=0.9, color=COLOURS[0])
    axes[1].set_ylabel("acceleration [rad/s²]")
    axes[1].set_xlabel("time [s]")
    axes[0].set_title(filtered.names[last], fontsize=9, loc="left")
    axes[0].legend(fontsize=8, frameon=False)
    wrench, panels = new_figure(2, 1)
    if recording.wrench is not None:
        t_w = (recording.wrench.stamps_ns - t0) * 1e-9
        for i, axis_name in enumerate(AXES):
            panels[i // 3].plot(
                t_w,
                recording.wrench.wrench[:, i],
                label=axis_name,
                linewidth=0.7,
                color=COLOURS[i % 3],
            )
    for panel, unit in zip(panels, ("force [N]", "torque [N m]"), strict=True):
        panel.set_ylabel(unit)
        panel.legend(fontsize=8, frameon=False, ncol=3)
    panels[1].set_xlabel("time [s]")
    return trajectory, rates, wrench


def payload_report(
    report: Report,
    *,
    estimate: Estimate,
    data: PayloadData,
    shape: Shape,
    history: Sequence[PayloadMoment] = (),
    recording: Recording | None = None,
    filtered: JointStream | None = None,
    truth: ArrayLike | None = None,
    others: Sequence[Estimate] = (),
) -> None:
    """Fill a report.

    Args:
        report: To be filled.
        estimate: The result.
        data: That it was fitted to.
        shape: Of the object, in the sensor frame.
        history: Of the running estimate.
        recording: Raw streams.
        filtered: Joint states after the filter.
        truth: pi where it is known, shape (10,).
        others: Results of other methods on the same data.
    """
    report.heading("The payload in the sensor frame")
    columns = ("quantity", "unit", "estimate", "sd", "truth", "error", "verdict")
    kept = [i for i in range(len(columns)) if truth is not None or i not in (4, 5)]
    report.table(
        [columns[i] for i in kept],
        [[row[i] for i in kept] for row in comparison_rows(estimate, truth)],
        "Inertia about the centre of mass, in the axes of the sensor."
        " Prior-dominated: these data say less than the shape does.",
    )
    report.table(
        ("", ""),
        (
            ("method", estimate.method),
            ("samples", estimate.n_samples),
            ("rank of the data", f"{estimate.rank} of {estimate.structural_rank}"),
            ("condition number (scaled columns)", estimate.condition_number),
            ("physically consistent", bool(estimate.physically_consistent)),
            *(
                (f"residual RMS, {k} [{'N' if k == 'force' else 'N m'}]", v)
                for k, v in estimate.residual_rms.items()
            ),
        ),
    )
    report.bullets([*estimate.notes, *estimate.certify()])
    if others:
        report.heading("All methods on the same data")
        measures = () if truth is None else ("mass", "com", "inertia")
        rows = []
        for other in (estimate, *others):
            p = summarise_payload(other) if other.values[0] > 0 else None
            errors = error_summary(other, truth, shape.size) if p and truth is not None else {}
            rows.append(
                [
                    other.method,
                    None if p is None else p.mass,
                    *([None] * 3 if p is None else ((1e3 * p.com).round(9) + 0.0).tolist()),
                    bool(other.physically_consistent),
                    *(errors.get(name) for name in measures),
                ]
            )
        report.table(
            (
                "method",
                "mass [kg]",
                "com x [mm]",
                "com y [mm]",
                "com z [mm]",
                "consistent",
                *(f"{name} error [%]" for name in measures),
            ),
            rows,
            "Errors in the measures of Nadeau et al. 2022 (eq. 10–12), of the object's extent."
            if measures
            else "",
        )
    report.heading("Wrench, measured against predicted")
    report.figure(
        wrench_figure(data, estimate.values[:10]), "Bias and tool removed from the measured one."
    )
    if len(history) > 2:
        report.heading("Convergence while the data arrived")
        report.figure(
            convergence_figure(history, truth), "The running estimate with two standard deviations."
        )
    pmd = PointMassDiscretization(shape)
    masses = pmd.masses(PayloadInformation.from_data(data, pmd.dynamism_scale))
    report.heading("Point masses inside the shape")
    report.figure(
        point_mass_figure(shape, masses, summarise_payload(estimate).com),
        "Crosses: cells of the shape. The area of a disc shows the mass that point-mass"
        " discretisation gives it.",
    )
    if recording is not None and filtered is not None:
        report.heading("Signals")
        trajectory, rates, wrench = signal_figures(recording, filtered)
        report.figure(trajectory, "Joint positions as measured.")
        report.figure(rates, "The last joint before and after the Kalman filter.")
        report.figure(wrench, "Wrench as measured, with the sensor's bias.")
        report.bullets(recording.notes)
    inertia = inertia_matrix_from_pi(estimate.values[:10])
    report.heading("For controllers", 3)
    report.preformatted(
        f"pi (sensor frame) = {np.array2string(estimate.values[:10], precision=6)}\n"
        f"inertia about the sensor's origin =\n{np.array2string(inertia, precision=6)}"
    )
