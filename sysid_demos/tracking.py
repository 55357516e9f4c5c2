# SPDX-License-Identifier: Apache-2.0
"""Tracking error of a motion: reference of the executor minus measured motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile
from rich.console import Console
from robot_sysid.msg import Mark
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sysid_core.planning import Trajectory
from sysid_core.report import Figure, Report
from sysid_core.robot import Array
from sysid_demos.parts import identify, record, show_rows
from sysid_nodes import conversions
from sysid_nodes.client import LiveClient

_QOS = QoSProfile(depth=2000)


@dataclass(frozen=True, eq=False)
class Tracking:
    """Tracking errors of one run.

    Attributes:
        joints: Names of the joints.
        time: Times of the samples, shape (K,) [s].
        error: Desired minus measured positions, shape (K, n) [rad].
    """

    joints: tuple[str, ...]
    time: Array
    error: Array

    @property
    def typical(self) -> Array:
        """Median of the absolute tracking error of each joint, shape (n,) [rad]."""
        return np.asarray(np.median(np.abs(self.error), axis=0))

    @property
    def typical_of_all(self) -> float:
        """Median over time of the RMS tracking error over the joints [rad]."""
        return float(np.median(np.sqrt(np.mean(self.error**2, axis=1))))

    @property
    def rms(self) -> float:
        """RMS tracking error over all joints and times [rad]."""
        return float(np.sqrt(np.mean(self.error**2)))


class TrackingRecorder:
    """Recorder of `setpoint` and `joint_states` while a client processes messages.

    Args:
        client: Client whose node subscribes to the topics.
        joints: Names of the compared joints.
    """

    def __init__(self, client: LiveClient, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self._references: list[tuple[int, Array]] = []
        self._states: list[tuple[int, Array]] = []
        self._begin = 0
        node = client.node
        node.create_subscription(JointTrajectory, "setpoint", self._on_reference, _QOS)
        node.create_subscription(JointState, "joint_states", self._on_state, _QOS)
        node.create_subscription(Mark, "marks", self._on_mark, _QOS)

    def _on_reference(self, message: JointTrajectory) -> None:
        q = conversions.trajectory_arrays(message, self.joints)[1]
        self._references.append((conversions.ns_from_stamp(message.header.stamp), q[-1]))

    def _on_state(self, message: JointState) -> None:
        q = conversions.joint_arrays_from_message(message, self.joints)[0]
        self._states.append((conversions.ns_from_stamp(message.header.stamp), q))

    def _on_mark(self, message: Mark) -> None:
        if message.label == "motion:start":  # the way to the start lies behind
            self._begin = conversions.ns_from_stamp(message.stamp)

    def result(self, duration: float) -> Tracking:
        """Return the tracking of the last motion; states are interpolated at the stamps of the set
        points.

        Args:
            duration: Duration of the motion, from its mark [s].
        """
        t, t_d = (
            np.array([stamp - self._begin for stamp, _ in x]) * 1e-9
            for x in (self._states, self._references)
        )
        q, q_d = (np.array([q for _, q in x]) for x in (self._states, self._references))
        inside = (t_d >= 0.0) & (t_d <= min(duration, t[-1]))
        actual = np.column_stack([np.interp(t_d[inside], t, column) for column in q.T])
        return Tracking(self.joints, t_d[inside], q_d[inside] - actual)


def learn_and_track(
    client: LiveClient,
    console: Console,
    out: Path,
    motions: tuple[Path, Path],
    joints: Sequence[str],
    **goal: Path | str,
) -> tuple[Tracking, Tracking]:
    """Identify from one motion; track another motion before and after the controller uses the
    result.

    Args:
        client, console: Client and console of the demo.
        out: Folder for the bags `bag`, `bag_nominal`, `bag_identified` and for the folder
            `identification`.
        motions: Motion for identification, and motion for the tracking test.
        joints: Joints whose tracking error is evaluated.
        goal: Fields of the goal of the action `estimator/identify`.
    """
    record(client, console, motions[0], out / "bag")
    recorder = TrackingRecorder(client, joints)
    duration = Trajectory.load(motions[1]).duration
    record(client, console, motions[1], out / "bag_nominal")
    before = recorder.result(duration)
    identify(
        client,
        console,
        out / "identification",
        recording=out / "bag",
        validation=out / "bag_nominal",
        **goal,
    )
    use_identified(client, console)
    record(client, console, motions[1], out / "bag_identified")
    return before, recorder.result(duration)


def use_identified(client: LiveClient, console: Console) -> None:
    """Request that the controller uses the identified parameters, as a person would do, while the
    robot is at rest.
    """
    answer: Any = client.call(
        Trigger, "computed_torque_controller/use_identified", Trigger.Request()
    )
    console.print(f"computed_torque_controller: {answer.message}")


def tracking_figure(before: Tracking, after: Tracking) -> Figure:
    """Return a figure of the errors of both runs over time, joint by joint."""
    runs = {"nominal parameters": before, "identified": after}
    return Figure.curves(
        {
            name: {label: (run.time, np.degrees(run.error[:, j])) for label, run in runs.items()}
            for j, name in enumerate(before.joints)
        },
        xlabel="time [s]",
        ylabel="error [deg]",
        height=150,
    )


def show_tracking(console: Console, report: Report, before: Tracking, after: Tracking) -> float:
    """Show a table in the terminal, and table and figure in the report; return the ratio of the
    errors before and after.

    The median errors are compared, because the simulated robot brakes and catches up whenever the
    computer stalls.
    """
    names = (*before.joints, "all joints, typical", "all joints, RMS")
    columns_of = [
        np.degrees([*run.typical, run.typical_of_all, run.rms]).tolist() for run in (before, after)
    ]
    rows = [[name, a, b, a / b] for name, a, b in zip(names, *columns_of, strict=True)]
    columns = ("joint", "nominal", "identified", "ratio")
    caption = "Median of the tracking error [deg], the same motion twice"
    report.heading("Tracking by computed_torque_controller")
    show_rows(console, report, caption, columns, rows)
    report.figure(
        tracking_figure(before, after),
        "Desired minus measured positions: first with the nominal parameters, then with the"
        " identified ones.",
    )
    return before.typical_of_all / after.typical_of_all
