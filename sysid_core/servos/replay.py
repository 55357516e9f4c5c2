# SPDX-License-Identifier: Apache-2.0
"""Open-loop simulation of recorded motions, compared with the assumption "position = command"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.report import Figure, Report, moving_robot
from sysid_core.robot import RobotModel
from sysid_core.servos.bodies import Array
from sysid_core.servos.identify import ServoIdentification
from sysid_core.servos.joints import JointResult
from sysid_core.servos.model import TERMS, ServoModel
from sysid_core.servos.recording import ServoRecording
from sysid_core.servos.scales import servo_scales


@dataclass(frozen=True)
class Replay:
    """Recorded motion with its simulation.

    Attributes:
        recording: Recorded motion with columns in the model's order.
        q: Simulated positions, shape (K, n) [rad].
    """

    recording: ServoRecording
    q: Array

    @property
    def rms(self) -> Array:
        """RMS position error of each joint, shape (n,) [rad]."""
        return np.asarray(np.sqrt(np.mean((self.q - self.recording.q) ** 2, axis=0)))

    @property
    def command_rms(self) -> Array:
        """RMS difference between command and measured position of each joint, shape (n,) [rad]."""
        r = self.recording
        last = np.maximum(np.searchsorted(r.t_target, r.t, side="right") - 1, 0)
        return np.asarray(np.sqrt(np.mean((r.target[last] - r.q) ** 2, axis=0)))

    @staticmethod
    def all_of(model: ServoModel, recordings: Iterable[ServoRecording]) -> tuple[Replay, ...]:
        """Simulate recorded motions from their first position and their commands alone.

        Raises:
            SignalError: A motion has other joints than the model.
        """
        out = []
        for recording in recordings:
            matched = recording.matched(model.robot)
            if matched.joints != model.joints:
                if not set(model.joints) <= set(matched.joints):
                    raise SignalError(
                        f"'{recording.name}' has the joints {list(matched.joints)}, the model"
                        f" {list(model.joints)}.",
                        remedy="Give motions of the same joints.",
                    )
                columns = [matched.joints.index(joint) for joint in model.joints]
                matched = matched.of_joints(columns, model.joints)
            r = matched
            out.append(Replay(r, model.simulate(r.t_target, r.target, r.t, r.q[0])))
        return tuple(out)

    @staticmethod
    def overall(values: Iterable[Array], seconds: Iterable[float]) -> float:
        """Return the RMS error over several motions, each weighted by its duration.

        Args:
            values: RMS errors of the n joints in each motion, shape (n,) each [rad].
            seconds: Duration of each motion [s].
        """
        squares = [np.mean(np.square(x)) for x in values]
        return float(np.sqrt(np.average(squares, weights=list(seconds))))


_POINTS = 1500  # of a line: more can't be told apart on a screen
_SHOWN = 6  # motions that are drawn
_ANIMATED, _FRAMES = (
    10.0,
    100,
)  # [s] of the first of them are shown in so many pictures: some 0.5 MB


def servo_report(
    result: ServoIdentification,
    path: str | Path,
    *,
    replays: Sequence[Replay] = (),
    unseen: tuple[float, float] | None = None,
) -> Path:
    """Write the report of identified servos.

    Args:
        result: Identified servos.
        path: Path of the HTML file.
        replays: Recorded motions with their simulation.
        unseen: RMS errors of simulation and commands over motions that were not fitted [rad];
            None: the errors in held-out blocks of time are stated alone.
    """
    report = Report("Position servos", ", ".join(result.motions[:_SHOWN]))
    held = Replay.overall([np.array([j.held_out for j in result.joints])], [1.0])
    command = Replay.overall([np.array([j.baseline for j in result.joints])], [1.0])
    usable = [
        "Simulate other motions (`sysid servos simulate`).",
        "Export the model (`sysid servos export`).",
    ]
    where = {"in held-out blocks of time": (held, command)}
    if unseen is not None:
        where = {"in the recordings that were not fitted": unseen} | where
    report.judged(
        result.verdict,
        " ".join(
            f"The simulated positions {there} have an RMS error of {ours * 1e3:.1f} mrad (the"
            f" commanded positions: {trivial * 1e3:.1f} mrad)."
            for there, (ours, trivial) in where.items()
        ),
        asked="motion of the robot for given position commands",
        next_steps=usable if result.fit_for_use else (),
    )
    report.heading("Error by joint")
    report.table(
        ("joint", "held-out [mrad]", "command [mrad]"),
        [(j.servo.joint, j.held_out * 1e3, j.baseline * 1e3) for j in result.joints],
    )
    if result.model.ground is not None:
        report.paragraph(
            "The arm was in contact with a level surface at a height of"
            f" {result.model.ground.height * 1e3:.0f} mm, relative to the origin of its base."
            " This surface is part of the simulation."
        )
    report.heading("Servos", folded=True)
    report.paragraph(
        "Torques of a servo are stated as angles: each torque is divided by the stiffness K of the"
        " position loop. K itself can be determined only from gravity and the URDF's masses. The"
        " motion alone determines the following:"
    )
    robot, joints = result.model.robot, result.model.joints
    bodies = robot if joints == robot.joint_names else robot.holding(joints=joints)
    report.paragraph(" ".join(servo_scales(bodies).sentences))
    _draw_servos(report, result.joints)
    _draw_replays(report, bodies, replays)
    return report.save(path)


def _draw_servos(report: Report, servos: Iterable[JointResult]) -> None:
    """Add a table of the parameters of each servo."""
    for joint in servos:
        report.heading(joint.servo.joint, 3)
        rows: list[tuple[str, str, str]] = []
        for term in joint.servo.values:
            row = (TERMS[term].meaning, joint.servo.in_words(term), TERMS[term].unit)
            rows.append(row)
        if joint.servo.stiffness is not None:
            rows.append(("stiffness K", f"{joint.servo.stiffness:.3g}", "N m/rad"))
        for name, stop in zip(("lower", "upper"), joint.servo.stops, strict=True):
            if np.isfinite(stop):
                rows.append((f"{name} mechanical stop", f"{stop:.4g}", "rad"))
        report.table(("term", "value", "unit"), rows)


def _draw_replays(report: Report, bodies: RobotModel, replays: Sequence[Replay]) -> None:
    """Add an animation of the motion with the largest range, and the positions in each motion."""
    if replays:
        widest = max(replays, key=lambda item: float(np.ptp(item.recording.q, axis=0).sum()))
        r, q = widest.recording, widest.q
        some = np.flatnonzero(r.t < r.t[0] + _ANIMATED)
        report.heading(f"{r.name}: real beside simulated")
        report.figure(
            moving_robot(bodies, r.t[some] - r.t[0], q[some], beside=r.q[some], most=_FRAMES),
            f"First {_ANIMATED:.0f} s. Translucent, thin lines: simulated; thick lines: measured.",
        )
    for item in replays[:_SHOWN]:
        r = item.recording
        some = Figure.thinned(np.hstack([r.q, item.q]), _POINTS)
        shown = {
            joint: {"measured": r.q[some, j], "simulated": item.q[some, j]}
            for j, joint in enumerate(r.joints)
        }
        report.heading(f"{r.name}: measured and simulated")
        report.figure(
            Figure.time_series(r.t[some], shown, ylabel="rad"),
            f"Open loop from the first position; error {Replay.overall([item.rms], [1.0]) * 1e3:.1f}"
            " mrad.",
        )
