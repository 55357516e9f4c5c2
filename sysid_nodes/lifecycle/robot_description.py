"""Where a node's robot comes from: a file, a name, or the topic `robot_description`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from std_msgs.msg import String

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_nodes.lifecycle.qos import LATCHED

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.managed_node import ManagedNode


def take_robot(node: ManagedNode, source: str, got: Callable[[RobotModel], None]) -> None:
    """Give the robot to `got`: now from a file or name, or as often as a description arrives.

    Raises:
        SysIdError: The file or name can't be used; a description that can't be is only told of.
    """
    if source:
        got(RobotModel.from_urdf(source))
        return

    def take(message: String) -> None:
        try:
            model = RobotModel.from_urdf(message.data)
        except SysIdError as err:
            node.complain(err, "robot_description can't be used")
            return
        try:
            got(model)
        except SysIdError as err:
            node.give_up_configuration(err)

    node.create_subscription(String, "robot_description", take, LATCHED)
