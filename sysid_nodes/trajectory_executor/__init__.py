# SPDX-License-Identifier: Apache-2.0
"""Node that plays trajectories: arming, sending of commands, monitoring."""

from sysid_nodes.trajectory_executor.action_drive import follow_action
from sysid_nodes.trajectory_executor.arming import arm_timeout
from sysid_nodes.trajectory_executor.drive import CommandMode
from sysid_nodes.trajectory_executor.limits import planning_limits
from sysid_nodes.trajectory_executor.remote import RemoteAction, RemoteNode

__all__ = [
    "CommandMode",
    "RemoteAction",
    "RemoteNode",
    "arm_timeout",
    "follow_action",
    "planning_limits",
]
