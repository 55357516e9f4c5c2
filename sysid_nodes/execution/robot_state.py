# SPDX-License-Identifier: Apache-2.0
"""The newest state of a robot, out of its topics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from sysid_core.execution import Measured, PositionRates
from sysid_core.robot import RobotModel
from sysid_nodes import conversions


class RobotState:
    """Joint states and wrenches become a `Measured`.

    Joint states of other drivers on the same topic (a gripper's) are left out. Velocities that a
    driver doesn't measure are taken from its positions.

    Args:
        now: Clock for messages without a stamp [s].
        has_torques: Whether the efforts are torques.
    """

    def __init__(self, now: Callable[[], float], has_torques: bool) -> None:
        self._now, self._has_torques = now, has_torques
        self._robot: frozenset[str] = frozenset()
        self._rates = PositionRates()
        self._wrench: tuple[float, np.ndarray] | None = None
        self._backwards = 0  # states that were older than the one before
        self.measured: Measured | None = None
        self.others: tuple[str, ...] = ()  # joints that were left out

    def of(self, model: RobotModel) -> None:
        """Only states of this robot count from now on."""
        self._robot, self.measured = frozenset(model.joint_names), None

    def on_joints(self, message: JointState) -> None:
        """Take in joint states."""
        names = tuple(message.name)
        if self._robot.isdisjoint(names):
            self.others = names
            return
        stamp = conversions.ns_from_stamp(message.header.stamp) * 1e-9 or self._now()
        q, v = np.array(message.position), np.array(message.velocity)
        if np.isnan(v).all():  # also where there are none
            rates = self._rates.update(stamp, q)
            if rates is None:
                return
            v = rates
        torques = self._has_torques and len(message.effort) == len(names)
        effort = np.array(message.effort) if torques else None
        self._backwards += self.measured is not None and stamp < self.measured.stamp
        wrench_stamp, wrench = self._wrench or (None, None)
        self.measured = Measured(stamp, names, q, v, effort, wrench, wrench_stamp)

    def on_wrench(self, message: WrenchStamped) -> None:
        """Take in a wrench; its age counts from when it came."""
        wrench = conversions.wrench_from_message(message.wrench)
        self._wrench = (self._now(), wrench)

    @property
    def has_wrench(self) -> bool:
        """Whether a force-torque sensor has measured."""
        return self._wrench is not None

    def begin(self) -> None:
        """A run begins: a sensor that hasn't measured for long isn't there."""
        if self._wrench is not None and self._now() - self._wrench[0] > 10.0:
            self._wrench = None
        self._backwards = 0

    def publishers_hint(self, publishers: list[str]) -> str:
        """Why joint states may contradict each other, or nothing; publishers of their topic."""
        if len(publishers) < 2:
            return ""
        out_of_order = f" {self._backwards} states came out of order." if self._backwards else ""
        return (
            f" joint_states has {len(publishers)} publishers ({', '.join(sorted(publishers))}):"
            f" only one may publish this robot's joints.{out_of_order}"
        )
