# SPDX-License-Identifier: Apache-2.0
"""Report of a planned motion, with the used fraction of the limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sysid_core.planning import MotionCheck, MotionChecker, MotionLimits, Trajectory
from sysid_core.reasons import Outcome
from sysid_core.report.charts import COLOURS, GREY, ROLES, SCALES, Figure, bars
from sysid_core.report.html import Report
from sysid_core.report.space import cell_traces, moving_robot, points, skeleton
from sysid_core.robot.loops import ClosedChain

_STILL = ("still", "settle", "transfer")  # segments that the figures don't tint


def motion_figure(trajectory: Trajectory, limits: MotionLimits) -> Figure:
    """Return a chart of position, velocity and acceleration of every joint over time, as fractions
    of the limits.
    """
    bounded = np.isfinite(limits.upper - limits.lower) & (limits.upper > limits.lower)
    lower, upper = np.where(bounded, [limits.lower, limits.upper], [[-np.pi], [np.pi]])
    middle, half = (upper + lower) / 2, (upper - lower) / 2
    columns = [limits.joint_names.index(name) for name in trajectory.joint_names]
    shares = {
        "position / limit": (trajectory.q - middle[columns]) / half[columns],
        "velocity / limit": trajectory.v / limits.velocity[columns],
        "acceleration / limit": trajectory.a / limits.acceleration[columns],
    }
    figure = Figure(list(shares), height=240, linked=True)
    for i, share in enumerate(shares.values()):
        for j, name in enumerate(trajectory.joint_names):
            figure.line(i, trajectory.time, share[:, j], name, COLOURS[j % len(COLOURS)])
        for segment in trajectory.segments:
            if segment.label not in _STILL:
                figure.mark(i, "x", segment.start, segment.end, colour=COLOURS[0])
    figure.axis("y", range=[-1.05, 1.05])
    figure.label_time()
    return figure


def effort_figure(
    checker: MotionChecker, trajectory: Trajectory, chain: ClosedChain | None = None
) -> Figure:
    """Return a chart of the rigid-body torque of every joint as a fraction of its limit, and of the
    TCP's speed; for a closed chain, of the torque of its drives.
    """
    model = checker.model
    step = max(1, len(trajectory.time) // 2000)
    columns = model.columns_from(trajectory.joint_names)
    q, v, a = (x[::step, columns] for x in (trajectory.q, trajectory.v, trajectory.a))
    time = trajectory.time[::step]
    figure = Figure(["torque / limit", "TCP speed [m/s]"], height=220, linked=True)
    names, torque = model.joint_names, model.inverse_dynamics(q, v, a) / checker.limits.effort
    if chain is not None:
        k, names = chain.actuated_columns, chain.actuated
        motion = chain.motion(q[:, k], v[:, k], a[:, k], q=q)
        torque = chain.torques(motion) / chain.torque_limits
    for j, name in enumerate(names):
        figure.line(0, time, torque[:, j], name, COLOURS[j % len(COLOURS)])
    figure.line(1, time, checker.tcp_speed(q, v), "TCP", GREY)
    figure.mark(1, "y", checker.limits.tcp_speed, colour=ROLES["limit"])
    figure.label_time()
    return figure


def path_figure(
    checker: MotionChecker, trajectory: Trajectory, chain: ClosedChain | None = None
) -> Figure:
    """Return the 3D view of the robot that plays the motion in its cell, with the path of its TCP."""
    model, frame = checker.model, checker.limits.tcp_frame
    step = max(1, len(trajectory.time) // 1000)
    columns = model.columns_from(trajectory.joint_names)
    q, v = trajectory.q[::step, columns], trajectory.v[::step, columns]
    ends = skeleton(model, q, frame)[:, -2]  # the tool's end of the last line
    speed = {"colours": checker.tcp_speed(q, v), "scale": SCALES["viridis"]}
    path = points(ends, "path of the TCP", mode="lines", width=4, **speed)
    cell = cell_traces(checker.limits, np.vstack([ends, np.zeros(3)]))
    time, still = trajectory.time[::step], [path, *cell]
    return moving_robot(model, time, q, frame=frame, chain=chain, traces=still)


def motion_report(
    checker: MotionChecker,
    trajectory: Trajectory,
    check: MotionCheck,
    *,
    title: str,
    facts: Mapping[str, object],
    remarks: Sequence[str] = (),
    figures: Sequence[tuple[Any, str]] = (),
    chain: ClosedChain | None = None,
) -> Report:
    """Return a report of a planned motion.

    Args:
        checker: Checker of the robot and the limits.
        trajectory: Planned motion.
        check: Result of the motion check.
        title: Heading of the page.
        facts: Rows of the first table, by name.
        remarks: Sentences below the first table.
        figures: Further figures with captions.
        chain: Closed chain of the robot; None: an open chain.
    """
    report = Report(title, f"{trajectory.robot} · URDF {trajectory.urdf_hash}")
    minutes, seconds = divmod(round(trajectory.duration), 60)
    report.headline(
        (Outcome.WARN if check.unchecked else Outcome.PASS) if check.is_safe else Outcome.FAIL,
        f"{f'{minutes} min ' if minutes else ''}{seconds} s of motion. {check.answer}"
        if check.is_safe
        else "; ".join(str(violation) for violation in check.violations),
        asked="a motion within the limits of the robot and its cell",
        next_steps=[
            "Check in the animation below that the motion fits your cell.",
            "Execute the motion slowly first (speed_scale 0.3), then at full speed while recording.",
        ]
        if check.is_safe
        else ["Change the motion or the limits, then check again."],
    )
    drives = (
        "Rigid-body torques without load and friction"
        if chain is None
        else "Torques of the drives with their nominal friction and the forces of the loops"
    )
    report.table(("", ""), list(facts.items()))
    report.bullets(dict.fromkeys([*remarks, *trajectory.notes]))
    report.heading("Motion")
    report.figure(
        motion_figure(trajectory, checker.limits),
        "Motion of every joint relative to its limits: ±1 is the limit (for positions: the end of"
        " the range).",
    )
    report.figure(
        effort_figure(checker, trajectory, chain),
        f"{drives}, and speed of the TCP. Dashed: limits.",
    )
    report.figure(
        path_figure(checker, trajectory, chain),
        f"Animation of the robot in its cell. The path of {checker.limits.tcp_frame} is coloured by"
        " its speed. Bodies are convex hulls of the collision shapes.",
    )
    for figure, caption in figures:
        report.figure(figure, caption)
    report.heading("Use of the limits", folded=True)
    report.figure(
        bars({kind: 100 * share for kind, share in sorted(check.usage.items())}, limit=100.0),
        "Largest value of each quantity during the motion, relative to its limit.",
    )
    report.table(
        ("segment", "from [s]", "to [s]", "moving joints"),
        [(s.label, s.start, s.end, ", ".join(s.joints) or "–") for s in trajectory.segments],
        "Segments",
        folded=True,
    )
    report.heading("Assumptions and unchecked items")
    report.bullets(check.notes or ("None.",))
    return report
