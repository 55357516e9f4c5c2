"""The page of a planned motion: what it does, and how near it comes to its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from sysid_core.excitation import MotionCheck, MotionChecker, MotionLimits, Trajectory
from sysid_core.report.figures import COLOURS, new_figure
from sysid_core.report.html import Report
from sysid_core.robot import RobotModel

_STILL = ("still", "settle", "transfer")  # segments that the figures don't tint
_READABLE = 16  # labels side by side


def motion_figure(trajectory: Trajectory, limits: MotionLimits) -> Figure:
    """Position, velocity and acceleration of every joint over time, as shares of the limits."""
    figure, axes = new_figure(3, 1, height=2.3)
    middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
    bounded = np.isfinite(half) & (half > 0)
    half, middle = np.where(bounded, half, np.pi), np.where(bounded, middle, 0.0)
    columns = [limits.joint_names.index(name) for name in trajectory.joint_names]
    shares = (
        ("position", (trajectory.q - middle[columns]) / half[columns]),
        ("velocity", trajectory.v / limits.velocity[columns]),
        ("acceleration", trajectory.a / limits.acceleration[columns]),
    )
    for axis, (label, share) in zip(axes, shares, strict=True):
        for j, name in enumerate(trajectory.joint_names):
            colour = COLOURS[j % len(COLOURS)]
            axis.plot(trajectory.time, share[:, j], label=name, linewidth=0.9, color=colour)
        axis.set_ylabel(f"{label} / limit", fontsize=8)
        axis.set_ylim(-1.05, 1.05)
        for segment in trajectory.segments:
            if segment.label not in _STILL:
                axis.axvspan(segment.start, segment.end, color="#0072B2", alpha=0.06, linewidth=0)
    named = [segment for segment in trajectory.segments if segment.label != "transfer"]
    if len(named) <= _READABLE:  # more are in the table of segments
        for segment in named:
            axes[0].text(
                (segment.start + segment.end) / 2,
                1.08,
                segment.label,
                fontsize=6,
                ha="left",
                va="bottom",
                rotation=40,
            )
    axes[-1].set_xlabel("time [s]", fontsize=8)
    axes[0].legend(fontsize=7, frameon=False, ncols=1, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def effort_figure(model: RobotModel, checker: MotionChecker, trajectory: Trajectory) -> Figure:
    """Rigid-body torque of every joint as share of its limit, and the TCP's speed."""
    step = max(1, len(trajectory.time) // 2000)
    columns = model.columns_from(trajectory.joint_names)
    q, v, a = (x[::step, columns] for x in (trajectory.q, trajectory.v, trajectory.a))
    time = trajectory.time[::step]
    figure, axes = new_figure(2, 1, height=2.0)
    torque = model.inverse_dynamics(q, v, a) / checker.limits.effort
    for j, name in enumerate(model.joint_names):
        axes[0].plot(time, torque[:, j], label=name, linewidth=0.9, color=COLOURS[j % len(COLOURS)])
    axes[0].set_ylabel("torque / limit", fontsize=8)
    axes[0].legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes[1].plot(time, checker.tcp_speed(q, v), linewidth=0.9, color=COLOURS[0])
    axes[1].axhline(checker.limits.tcp_speed, color=COLOURS[1], linewidth=1.0, linestyle="--")
    axes[1].set_ylabel("TCP speed [m/s]", fontsize=8)
    axes[1].set_xlabel("time [s]", fontsize=8)
    return figure


def motion_report(
    checker: MotionChecker,
    trajectory: Trajectory,
    check: MotionCheck,
    *,
    title: str,
    facts: Mapping[str, object],
    remarks: Sequence[str] = (),
    figures: Sequence[tuple[Figure, str]] = (),
) -> Report:
    """The page of a planned motion.

    Args:
        checker: Of the robot and the limits.
        trajectory: That was planned.
        check: Its check.
        title: Heading.
        facts: Rows of the first table.
        remarks: Sentences below it.
        figures: Further figures with captions.
    """
    report = Report(title, f"{trajectory.robot} · URDF {trajectory.urdf_hash}")
    report.verdict(
        check.is_safe,
        f"inside all limits at {check.samples} instants and {check.postures} postures"
        if check.is_safe
        else "; ".join(str(violation) for violation in check.violations),
    )
    report.table(("", ""), list(facts.items()))
    report.bullets(dict.fromkeys([*remarks, *trajectory.notes]))
    report.heading("Motion")
    report.figure(
        motion_figure(trajectory, checker.limits),
        "Every joint as a share of its limits: ±1 is the limit (position: the ends of its range).",
    )
    report.figure(
        effort_figure(checker.model, checker, trajectory),
        "Rigid-body torque without load and friction, and speed of the TCP (dashed: its limit).",
    )
    for figure, caption in figures:
        report.figure(figure, caption)
    report.heading("Use of the limits")
    report.table(
        ("limit", "largest share used"),
        [(kind, f"{100 * share:.1f} %") for kind, share in sorted(check.usage.items())],
    )
    report.heading("Segments")
    report.table(
        ("segment", "from [s]", "to [s]", "joints that move"),
        [(s.label, s.start, s.end, ", ".join(s.joints) or "–") for s in trajectory.segments],
    )
    report.heading("Assumed or not checked")
    report.bullets(check.notes or ("Nothing.",))
    return report
