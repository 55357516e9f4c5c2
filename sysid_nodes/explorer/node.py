# SPDX-License-Identifier: Apache-2.0
"""Explorer node: an experiment that ends when the requested accuracy is reached.

The node plans motions, and requests the trajectory executor to check and play them; nothing moves
without a goal that contains a token of `~/arm`. `sysid up` starts this node only if the bringup
file has a section for it.
"""

from __future__ import annotations

from robot_sysid.msg import FilteredJointState

from sysid_core.clock_gate import ClockGate
from sysid_core.robot import RobotModel
from sysid_nodes.explorer.action import FRESH_S, ExploreAction
from sysid_nodes.explorer.config import ExplorerConfig
from sysid_nodes.explorer.played_motion import PlayedMotion
from sysid_nodes.lifecycle import qos
from sysid_nodes.trajectory_executor import RemoteNode, planning_limits

_STATES = "data_logger/filtered"


class ExplorerNode(RemoteNode):
    """Server of `~/explore`, one goal at a time, and of `~/arm`."""

    Config = ExplorerConfig

    def __init__(self) -> None:
        super().__init__("explorer")
        self._motion = PlayedMotion()
        self._gate = ClockGate(_STATES, ahead=FRESH_S)  # else a state would be fresh for ever
        self.clocks.watch(self._gate)

    def configure(self) -> None:
        """Create the clients of the executor's action and service."""
        self.action = ExploreAction(self, self._motion, self._gate)
        self.use_robot()

    def got_robot(self, model: RobotModel) -> None:
        """Use samples of this robot from now on; raise an error if its limits are invalid."""
        planning_limits(self.config, model)
        self._motion.of(model.joint_names)

    def activate(self) -> None:
        """Subscribe to the data logger and accept goals."""
        self.create_subscription(FilteredJointState, _STATES, self._on_joints, qos.DATA)
        super().activate()

    def _on_joints(self, message: FilteredJointState) -> None:
        self._motion.take(message, self.through(self._gate, message.header.stamp))
