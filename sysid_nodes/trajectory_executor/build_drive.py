# SPDX-License-Identifier: Apache-2.0
"""Choice of the command interface by the parameter `command_mode`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sysid_nodes.trajectory_executor.action_drive import ActionDrive, Clock
from sysid_nodes.trajectory_executor.drive import CommandMode, RobotDrive
from sysid_nodes.trajectory_executor.guard_drive import GuardDrive
from sysid_nodes.trajectory_executor.topic_drives import (
    PositionDrive,
    SetpointDrive,
    TrajectoryDrive,
)

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

_TOPIC_DRIVES = {
    CommandMode.TOPIC: TrajectoryDrive,
    CommandMode.POSITION: PositionDrive,
    CommandMode.SETPOINT: SetpointDrive,
}


def build_drive(
    node: ManagedNode, mode: CommandMode, action_name: str, on_clock: Clock
) -> RobotDrive:
    """Return the command interface of a command mode.

    Args:
        node: Node that owns the topics.
        mode: Command interface of the robot.
        action_name: Name of the controller's action, for the mode follow_joint_trajectory.
        on_clock: Function that is called with the time that the controller reports, see
            ActionDrive.

    Raises:
        SysIdError: The package of the action is not installed.
    """
    if mode is CommandMode.FOLLOW:
        return ActionDrive(node, action_name, on_clock)
    if mode is CommandMode.GUARD:
        return GuardDrive(node, on_clock)
    return _TOPIC_DRIVES[mode](node)
