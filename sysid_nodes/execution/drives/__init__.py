# SPDX-License-Identifier: Apache-2.0
"""Ways of sending commands to a robot: by an action, as whole trajectories on a topic, or as a
stream.
"""

from sysid_nodes.execution.drives.action_drive import follow_action
from sysid_nodes.execution.drives.build import build_drive
from sysid_nodes.execution.drives.drive import CommandMode, RobotDrive

__all__ = [
    "CommandMode",
    "RobotDrive",
    "build_drive",
    "follow_action",
]
