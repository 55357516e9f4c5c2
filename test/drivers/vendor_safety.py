# SPDX-License-Identifier: Apache-2.0
"""Behaviour and messages of the vendors' robots when they stop by themselves."""

from __future__ import annotations

from typing import Any

from franka_msgs.action import ErrorRecovery
from franka_msgs.msg import FrankaRobotState
from rclpy.action import ActionServer
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool
from ur_dashboard_msgs.msg import SafetyMode
from xarm_msgs.msg import RobotMsg

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Safety:
    """A robot that publishes nothing about its safety.

    Args:
        node: Node of the driver.

    Attributes:
        standing: Whether the robot's own brake holds it, whatever is commanded.
        forgets: Whether the controller then starts afresh and holds the measured position; UR's
            continues the motion.
    """

    forgets = True

    def __init__(self, node: Node) -> None:
        self.standing = False

    def change(self, fault: dict[str, Any]) -> None:
        """Take `protective_stop`: true, or false for its release, and whatever else there is."""
        self.standing = bool(fault.get("protective_stop", self.standing))

    def publish(self, stamp: Any) -> None:
        """Publish what is published periodically, at 100 Hz."""

    @property
    def scaling(self) -> float:
        """Effect of the speed scaling on the robot."""
        return 1.0


class UrSafety(Safety):
    """UR: its safety mode and whether the program runs, latched.

    ur_robot_driver, gpio_controller.cpp: `~/safety_mode` ur_dashboard_msgs/SafetyMode and
    `~/robot_program_running` std_msgs/Bool with `qos_latched`. In a protective stop the program is
    paused, so the speed scaling is 0 (hardware_interface.cpp, `PausingState::PAUSED`).
    """

    forgets = False

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        io = "/io_and_status_controller"
        self._mode = node.create_publisher(SafetyMode, f"{io}/safety_mode", LATCHED)
        self._running = node.create_publisher(Bool, f"{io}/robot_program_running", LATCHED)
        self._program = True
        self.change({})

    def change(self, fault: dict[str, Any]) -> None:
        super().change(fault)
        self._program = bool(fault.get("program", self._program))
        mode = SafetyMode.PROTECTIVE_STOP if self.standing else SafetyMode.NORMAL
        self._mode.publish(SafetyMode(mode=mode))
        self._running.publish(Bool(data=self._program))

    @property
    def scaling(self) -> float:
        return 0.0 if self.standing or not self._program else 1.0


class FrankaSafety(Safety):
    """Franka: robot mode, and a reflex that lasts until `/action_server/error_recovery`.

    franka_ros2: franka_robot_state_broadcaster publishes `~/robot_state`; franka_hardware's node
    `action_server` serves `~/error_recovery` franka_msgs/ErrorRecovery.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._states = node.create_publisher(
            FrankaRobotState, "/franka_robot_state_broadcaster/robot_state", 10
        )
        self._recovery = ActionServer(
            node, ErrorRecovery, "/action_server/error_recovery", self._recover
        )

    def publish(self, stamp: Any) -> None:
        state = FrankaRobotState(robot_mode=FrankaRobotState.ROBOT_MODE_MOVE)
        if self.standing:
            state.robot_mode = FrankaRobotState.ROBOT_MODE_REFLEX
        state.header.stamp = stamp
        self._states.publish(state)

    def _recover(self, handle: Any) -> ErrorRecovery.Result:
        self.standing = False
        handle.succeed()
        return ErrorRecovery.Result()


class XarmSafety(Safety):
    """xArm: state and error code; 31 is an abnormal current, as after a collision.

    xarm_driver.cpp: `robot_states` xarm_msgs/RobotMsg in the hardware namespace `xarm`.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._states = node.create_publisher(RobotMsg, "/xarm/robot_states", 10)

    def publish(self, stamp: Any) -> None:
        state = RobotMsg(state=4, mode=1, err=31) if self.standing else RobotMsg(state=1, mode=1)
        state.header.stamp = stamp
        self._states.publish(state)


SAFETY = {"ur": UrSafety, "franka": FrankaSafety, "xarm": XarmSafety}
