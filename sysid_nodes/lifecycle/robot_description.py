# SPDX-License-Identifier: Apache-2.0
"""Source of the robot description of a node: a URDF file, the name of a robot, or the topic
`robot_description`.

Joints without measurements (fingers, rods) are locked. They are determined from the first joint
states, unless the parameters `joints` and `lock` name them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sensor_msgs.msg import JointState
from std_msgs.msg import String

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel, received_urdf
from sysid_nodes.lifecycle import qos
from sysid_nodes.lifecycle.subscriptions import AdaptiveSubscription

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.managed_node import ManagedNode

_GATHER_S = 0.3  # several drivers may publish their joints one after the other
_PATIENCE_S = 2.0  # without any state the description alone counts, until states come


class RobotSource:
    """Source of the robot model of a node; the model is provided again after each change of the
    description or of the measured joints.

    Args:
        node: Node that needs the robot; its parameter `robot` names a file or a robot, or is empty
            for the topic `robot_description`.
        got: Function that is called with the robot model.

    Raises:
        SysIdError: The file or name is invalid, or `got` raises an error for its robot. An invalid
            description from the topic is reported instead; if `got` raises an error for it, the
            node returns to the state unconfigured.
    """

    def __init__(self, node: ManagedNode, got: Callable[[RobotModel], None]) -> None:
        self._node, self._got = node, got
        self._described: RobotModel | None = None
        self._given: RobotModel | None = None  # none while it is to be decided again
        self._last: RobotModel | None = None
        self._since = self._first_state = float("inf")
        self._measured: tuple[str, ...] | None = None
        self._positions: dict[str, float] = {}
        self._sets: set[frozenset[str]] = set()
        self._watching = not (node.config.joints or node.config.lock)
        if node.config.robot:
            self._described = RobotModel.from_urdf(node.config.robot)
            self._give()
        else:
            node.create_subscription(String, "robot_description", self._on_description, qos.LATCHED)
        if self._watching:
            self._states = AdaptiveSubscription(node, JointState, "joint_states", self._on_joints)
        self._timer = node.create_timer(0.05, self._decide)

    def _on_description(self, message: String) -> None:
        try:
            self._described = RobotModel.from_urdf(received_urdf(message.data))
        except SysIdError as err:
            self._node.complain(err, "robot_description can't be used")
            return
        self._given, self._since = None, time.monotonic()
        if not self._watching or self._measured is not None:
            self._decide()

    def _on_joints(self, message: JointState) -> None:
        """Determine the joints that are published together, and their positions, from the first
        joint states.
        """
        if self._described is None or len(message.name) != len(message.position):
            return
        names = frozenset(message.name) & frozenset(self._described.joint_names)
        if not names or time.monotonic() > self._first_state + _GATHER_S:
            return
        self._first_state = min(self._first_state, time.monotonic())
        self._sets.add(names)
        self._positions.update(zip(message.name, message.position, strict=True))

    def _decide(self) -> None:
        """Provide the robot model as soon as the moving joints are known."""
        if self._described is None:
            return
        now = time.monotonic()
        if self._sets and now > self._first_state + _GATHER_S and self._measured is None:
            self._measured = tuple(max(self._sets, key=len))  # one driver's: the arm's
            self._given = None
            self._states.stop()
            self._timer.cancel()
        waited = self._measured is not None or now > self._since + _PATIENCE_S
        if self._given is None and (waited or not self._watching):
            try:
                self._give()
            except SysIdError as err:
                self._node.give_up_configuration(err)

    def _give(self) -> None:
        assert self._described is not None
        common = self._node.config
        model = self._described.holding(
            joints=common.joints,
            lock=common.lock,
            measured=self._measured,
            positions=self._positions,
        )
        model = model.mounted(mount=common.mount)
        before, self._given, self._last = self._last, model, model
        if before is not None and _same(before, model):
            return
        for warning in (*model.warnings, model.held_text):
            if warning:
                self._node.get_logger().warning(warning)
        self._got(model)


def _same(one: RobotModel, other: RobotModel) -> bool:
    return (one.urdf_xml, one.joint_names, one.locked) == (
        other.urdf_xml,
        other.joint_names,
        other.locked,
    )
