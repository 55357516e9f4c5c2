# SPDX-License-Identifier: Apache-2.0
"""The simulated robot: MuJoCo behind the topics of a real driver."""

from __future__ import annotations

import sys

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from sysid_core.errors import SignalError, SysIdError
from sysid_core.robot import RobotModel
from sysid_core.validation import ClosedChainPlant, SimulatedRobot
from sysid_nodes.conversions import (
    message_from_wrench,
    ns_from_stamp,
    stamp_from_ns,
    trajectory_arrays,
)
from sysid_nodes.lifecycle import (
    DATA,
    LATCHED,
    ManagedNode,
    ParameterError,
    mounted,
    run_node,
)
from sysid_nodes.simulation import SimulatedRobotConfig, build_plant

_CATCH_UP_S = 0.02  # at a time; commands come in between


class SimulatedRobotNode(ManagedNode):
    """Publishes joint_states, wrench and robot_description; takes trajectories and streams."""

    Config = SimulatedRobotConfig

    def __init__(self) -> None:
        super().__init__("simulated_robot")
        self.robot: SimulatedRobot | None = None

    def configure(self) -> None:
        """Build the plant and the topics."""
        c: SimulatedRobotConfig = self.config
        model = mounted(RobotModel.from_urdf(c.robot), self.common.mount)
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
        self._joints = self.create_publisher(JointState, "joint_states", DATA)
        self._wrench = self.create_publisher(WrenchStamped, "wrench", DATA)
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=model.urdf_xml))
        self.create_subscription(JointTrajectory, "joint_trajectory", self._on_trajectory, 10)
        self.create_subscription(Float64MultiArray, "position_commands", self._on_position, 50)
        self.create_subscription(Float64MultiArray, "effort_commands", self._on_effort, 50)

    def activate(self) -> None:
        """Let time run, on from where it stopped."""
        assert self.robot is not None
        self._start_ns = self.now_ns() - round(self.robot.plant.time * 1e9)
        self._timer = self.create_timer(1.0 / self.config.rate_hz, self._tick)

    def _tick(self) -> None:
        assert self.robot is not None and self.model is not None
        # Catch up with the wall clock sample by sample, so that stamps stay equidistant.
        period = 1.0 / self.config.rate_hz
        behind = (self.now_ns() - self._start_ns) * 1e-9 - self.robot.plant.time
        for _ in range(int(min(behind, _CATCH_UP_S) / period + 1e-6)):
            m = self.robot.advance(period)
            stamp = stamp_from_ns(self._start_ns + round(m.time * 1e9))
            joints = JointState(
                name=list(self.model.joint_names),
                position=m.q.tolist(),
                velocity=m.v.tolist(),
                effort=m.effort.tolist(),
            )
            joints.header.stamp = stamp
            self._joints.publish(joints)
            if self.config.sensor_frame:
                wrench = WrenchStamped(wrench=message_from_wrench(m.wrench))
                wrench.header.stamp = stamp
                wrench.header.frame_id = self.config.sensor_frame
                self._wrench.publish(wrench)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        assert self.robot is not None and self.model is not None
        try:
            time, q, v, a = trajectory_arrays(message, self.model.joint_names)
            begin_ns = ns_from_stamp(message.header.stamp)
            now_ns = self._start_ns + self.robot.plant.time * 1e9
            delay = (begin_ns - now_ns) * 1e-9 if begin_ns else 0.0
            self.robot.command_trajectory(time, q, v, a, delay_s=delay)
        except SysIdError as err:
            self.get_logger().error(f"Trajectory refused: {err}")

    def _numbers(self, message: Float64MultiArray) -> np.ndarray:
        assert self.model is not None
        values = np.asarray(message.data, dtype=float)
        if values.size not in self._sizes or not np.all(np.isfinite(values)):
            raise SignalError(
                f"A command has {values.size} numbers or NaN.",
                remedy=f"Send {' or '.join(map(str, sorted(self._sizes)))} finite numbers.",
            )
        return values

    def _on_position(self, message: Float64MultiArray) -> None:
        assert self.robot is not None
        try:
            self.robot.command_position(self._numbers(message))
        except SysIdError as err:
            self.get_logger().error(f"Command refused: {err}")

    def _on_effort(self, message: Float64MultiArray) -> None:
        assert self.robot is not None
        try:
            self.robot.command_effort(self._numbers(message))
        except SysIdError as err:
            self.get_logger().error(f"Command refused: {err}")


def main(args: list[str] | None = None) -> int:
    """Entry point."""
    return run_node(SimulatedRobotNode, args)


if __name__ == "__main__":
    sys.exit(main())
