# SPDX-License-Identifier: Apache-2.0
"""What the executor hears from the robot: its state, its safety, its speed scaling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from sysid_core.signals import EffortKind
from sysid_nodes.execution.config import TrajectoryExecutorConfig
from sysid_nodes.execution.robot_state import RobotState
from sysid_nodes.execution.safety_inputs import SafetyInputs
from sysid_nodes.execution.speed_scaling import SpeedScaling
from sysid_nodes.lifecycle import WARN

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

_WATCH_S = 1.0


class RobotInputs:
    """Subscriptions to the robot, and the newest of each.

    Args:
        node: That subscribes, configured.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        c: TrajectoryExecutorConfig = node.config
        self.robot = RobotState(self.now, EffortKind(c.effort_kind).is_torque)
        self.safety = SafetyInputs(c.safety_inputs, c.enable_topic)
        self.scaling = SpeedScaling(c.speed_scaling_topic)

    def listen(self, on_safety: Callable[[], None]) -> None:
        """Subscribe to all.

        Args:
            on_safety: Called after each message of a safety input.
        """
        node = self._node
        node.subscribe_to_data(JointState, "joint_states", self.robot.on_joints, depth=1)
        node.subscribe_to_data(WrenchStamped, "wrench", self.robot.on_wrench, depth=1)
        self.safety.listen(
            lambda kind, topic, take: node.subscribe_to_data(kind, topic, take, depth=1),
            self.now,
            on_safety,
        )
        node.create_timer(_WATCH_S, self.watch)
        if self.scaling.topic:
            node.subscribe_to_data(
                Float64,
                self.scaling.topic,
                lambda message: self.scaling.take(message.data, self.now()),
                depth=1,
            )

    def watch(self) -> None:
        """Say in the diagnostics what would end a motion, also while nothing moves."""
        health = self._node.health
        for aspect, words in (("publishers", self.publishers_hint), ("safety", self.problem)):
            if words:
                health.say(aspect, WARN, words.strip())
            else:
                health.forget(aspect)

    def now(self) -> float:
        """The node's clock [s].

        Simulated, it is no earlier than the newest state: after a long check, states may be taken in
        before the `/clock` that was sent with them.
        """
        now, measured = self._node.now_ns() * 1e-9, self.robot.measured
        if measured is None or not self._node.get_clock().ros_time_is_active:
            return now
        return max(now, measured.stamp)

    @property
    def problem(self) -> str:
        """Why the robot must not move now, or nothing."""
        return self.safety.problem(self.now())

    @property
    def publishers_hint(self) -> str:
        """Why joint states may contradict each other, or nothing."""
        topic = self._node.resolve_topic_name("joint_states")
        publishers = self._node.get_publishers_info_by_topic(topic)
        return self.robot.publishers_hint(
            [f"{p.node_namespace}/{p.node_name}".replace("//", "/") for p in publishers]
        )
