# SPDX-License-Identifier: Apache-2.0
"""Simulated robot: MuJoCo with the topics of a real driver."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from geometry_msgs.msg import WrenchStamped
from robot_sysid.msg import ExecutorState
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from sysid_core.errors import SignalError
from sysid_core.simulation import ClosedChainPlant, PositionPlant, SimulatedRobot
from sysid_nodes.conversions import (
    message_from_wrench,
    ns_from_stamp,
    stamp_from_ns,
    trajectory_arrays,
)
from sysid_nodes.lifecycle import ManagedNode, ParameterError, qos
from sysid_nodes.simulated_robot.config import SimulatedRobotConfig, build_plant, described_robot
from sysid_nodes.simulated_robot.pace import LockStep, WallPace


class SimulatedRobotNode(ManagedNode):
    """Node that publishes joint_states, wrench and robot_description, and accepts trajectories and
    streams.
    """

    Config = SimulatedRobotConfig

    def __init__(self) -> None:
        super().__init__("simulated_robot")
        self.robot: SimulatedRobot | None = None

    def configure(self) -> None:
        """Build the simulation and create the topics."""
        c: SimulatedRobotConfig = self.config
        model = described_robot(c)
        n = model.nv
        for name, size in (("payload", 10), ("start", n), ("wrench_bias", 6)):
            if len(getattr(c, name)) not in (0, size):
                raise ParameterError(
                    f"Parameter '{name}' has {len(getattr(c, name))} numbers.",
                    remedy=f"Give {size}, or none.",
                )
        rng = np.random.default_rng(c.seed)
        plant = build_plant(c, model, rng)
        self._sizes = {n, len(plant.actuated)} if isinstance(plant, ClosedChainPlant) else {n}
        self.robot = SimulatedRobot(
            plant, c.start or np.zeros(n), c.noise, rng, command_timeout_s=c.command_timeout_s
        )
        self.model = model
        self._joints = self.create_publisher(JointState, "joint_states", qos.DATA)
        self._wrench = self.create_publisher(WrenchStamped, "wrench", qos.DATA)
        self._description = self.create_publisher(String, "robot_description", qos.LATCHED)
        self._description.publish(String(data=model.urdf_xml))
        self._time = self.create_publisher(Clock, "/clock", 10) if c.clock else None
        self.create_subscription(JointTrajectory, "joint_trajectory", self._on_trajectory, 10)
        streams: dict[str, Callable[[np.ndarray], None]] = {
            "position_commands": self.robot.command_position
        }
        self._measures_effort = not isinstance(plant, PositionPlant)
        if self._measures_effort:
            streams["effort_commands"] = self.robot.command_effort
        for topic, command in streams.items():
            take = partial(self._on_numbers, topic, command)
            self.create_subscription(Float64MultiArray, topic, take, 50)
        if c.clock:
            self.create_subscription(JointTrajectory, "setpoint", self._on_set_point, 50)
            self.create_subscription(
                ExecutorState, "trajectory_executor/state", self._on_executor, 10
            )

    def activate(self) -> None:
        """Start simulated time, or continue it."""
        assert self.robot is not None
        c, t, wall = self.config, self.robot.plant.time, time.monotonic()
        self._start_ns = time.time_ns() - round(t * 1e9)
        self._pace = LockStep(wall, t, c.patience_s, c.pace) if c.clock else WallPace(wall, t)
        self._timer = self.create_timer(1.0 / c.rate_hz, self._tick, clock=self.health.clock)

    def _tick(self) -> None:
        assert self.robot is not None and self.model is not None
        # Sample by sample, so that stamps stay equidistant.
        period = 1.0 / self.config.rate_hz
        due = self._pace.due(time.monotonic(), self.robot.plant.time)
        for _ in range(int(due / period + 1e-6)):
            m = self.robot.advance(period)
            stamp = stamp_from_ns(self._start_ns + round(m.time * 1e9))
            joints = JointState(
                name=list(self.model.joint_names),
                position=m.q.tolist(),
                velocity=m.v.tolist(),
                effort=m.effort.tolist() if self._measures_effort else [],
            )
            joints.header.stamp = stamp
            self._joints.publish(joints)
            if self.config.sensor_frame and self._measures_effort:
                wrench = WrenchStamped(wrench=message_from_wrench(m.wrench))
                wrench.header.stamp = stamp
                wrench.header.frame_id = self.config.sensor_frame
                self._wrench.publish(wrench)
        if self._time is not None:  # also while time waits: a lost message must not stop it
            now_ns = self._start_ns + round(self.robot.plant.time * 1e9)
            self._time.publish(Clock(clock=stamp_from_ns(now_ns)))

    def _on_trajectory(self, message: JointTrajectory) -> None:
        assert self.robot is not None and self.model is not None
        time, q, v, a = trajectory_arrays(message, self.model.joint_names)
        begin_ns = ns_from_stamp(message.header.stamp)
        delay = (begin_ns - self._start_ns) * 1e-9 - self.robot.plant.time if begin_ns else 0.0
        self.robot.command_trajectory(time, q, v, a, delay_s=delay)

    def _numbers(self, message: Float64MultiArray) -> np.ndarray:
        assert self.model is not None
        values = np.asarray(message.data, dtype=float)
        if values.size not in self._sizes or not np.all(np.isfinite(values)):
            raise SignalError(
                f"A command with {values.size} numbers has the wrong size, or contains NaN or infinite values.",
                remedy=f"Send {' or '.join(map(str, sorted(self._sizes)))} finite numbers.",
            )
        return values

    def _on_numbers(
        self, topic: str, command: Callable[[np.ndarray], None], message: Float64MultiArray
    ) -> None:
        command(self._numbers(message))
        self._heard(topic)

    def _on_set_point(self, message: JointTrajectory) -> None:
        self._heard("setpoint", last=not any(any(p.velocities) for p in message.points))

    def _on_executor(self, message: ExecutorState) -> None:
        stamp = (ns_from_stamp(message.header.stamp) - self._start_ns) * 1e-9
        self._pace.reported(message.state, time.monotonic(), stamp)

    def _heard(self, stream: str, last: bool = False) -> None:
        self._pace.commanded(stream, time.monotonic(), self.robot.plant.time, last=last)
