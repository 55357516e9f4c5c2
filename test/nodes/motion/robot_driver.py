# SPDX-License-Identifier: Apache-2.0
"""A robot driver as found in practice: best effort, further joints on its topic, missing
quantities.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from busy_machine import pace
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from scipy.interpolate import BPoly
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from sysid_nodes.conversions import ns_from_stamp, stamp_from_ns, trajectory_arrays
from sysid_nodes.simulated_robot.pace import LockStep


class RobotDriver:
    """Publishes joint states with sensor-data QoS; follows `joint_trajectory` exactly.

    Its time is simulated and published, so that a stall of the machine stalls the robot, too.

    Args:
        node: Whose topics these are.
        names: Joints, in the driver's order.
        q: Posture.
        velocities: Whether it measures them.
    """

    def __init__(
        self, node: Node, names: Sequence[str], q: Sequence[float], *, velocities: bool = True
    ) -> None:
        self.names, self.velocities = list(names), velocities
        self.q, self.v = np.array(q, dtype=float), np.zeros(len(names))
        self.trajectories: list[JointTrajectory] = []
        self.paused = False  # as after an emergency stop: what it plays waits
        self._node, self._path, self._begin = node, None, 0.0
        self._states = node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
        node.create_subscription(JointTrajectory, "joint_trajectory", self.follow, 10)
        self._began = node.get_clock().now().nanoseconds * 1e-9
        self._pace = LockStep(time.monotonic(), 0.0, patience=1.0, pace=pace())
        self._time = node.create_publisher(Clock, "/clock", 10)
        self._order, self._passed, self._last = list(names), 0.0, self._began
        node.create_timer(0.01, self._tick)

    def _now(self) -> float:
        return self._began + self._passed

    def follow(self, message: JointTrajectory) -> None:
        """Play a trajectory from its start time on, instead of any other."""
        self.trajectories.append(message)
        t, q, v, a = trajectory_arrays(message, self._order)
        self._path = BPoly.from_derivatives(t, np.stack([q, v, a], axis=1))
        self._begin = ns_from_stamp(message.header.stamp) * 1e-9

    def hold(self) -> None:
        """Stand where it is."""
        self._path, self.v = None, np.zeros(len(self.v))

    @property
    def at_end(self) -> bool:
        """True if nothing is left to play."""
        return self._path is None or self._last - self._begin > float(self._path.x[-1])

    def _tick(self) -> None:
        self._passed += self._pace.due(time.monotonic(), self._passed)
        now, before = self._now(), self._last
        self._last = now
        if self.paused:
            self._begin += now - before
            self.v = np.zeros(len(self.v))
        elif self._path is not None and self._now() >= self._begin:
            t = min(self._now() - self._begin, float(self._path.x[-1]))
            self.q, self.v = self._path(t), self._path(t, 1)
        stamp = stamp_from_ns(round(1e9 * now))
        self._time.publish(Clock(clock=stamp))
        # A driver of its own, with joints of its own, on the same topic.
        gripper = JointState(name=["finger"], position=[np.nan], velocity=[np.nan])
        arm = JointState(
            name=[*self.names, "mimic"],
            position=[*self.q, np.nan],
            velocity=[*self.v, np.nan] if self.velocities else [],
        )
        for message in (gripper, arm):
            message.header.stamp = stamp
            self._states.publish(message)
