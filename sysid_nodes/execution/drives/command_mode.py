# SPDX-License-Identifier: Apache-2.0
"""The ways in which a robot takes commands."""

from __future__ import annotations

from sysid_core.kinds import Kind


class CommandMode(Kind):
    """Values of the parameter `command_mode`."""

    FOLLOW = "follow_joint_trajectory"  # the action of a joint_trajectory_controller
    TOPIC = "joint_trajectory"  # its topic
    POSITION = "position_stream"  # set points for a forward_command_controller
    SETPOINT = "setpoint_stream"  # set points with velocity and acceleration

    @property
    def takes_whole(self) -> bool:
        """Whether the controller takes whole trajectories instead of a stream."""
        return self in (CommandMode.FOLLOW, CommandMode.TOPIC)
