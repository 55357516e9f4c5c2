# SPDX-License-Identifier: Apache-2.0
"""Parts of the trajectory executor: arming, sending of commands, monitoring."""

from sysid_nodes.execution.admission import Admission
from sysid_nodes.execution.arming import ActionNode, Arming, arm_timeout
from sysid_nodes.execution.config import TrajectoryExecutorConfig
from sysid_nodes.execution.drives import CommandMode, follow_action
from sysid_nodes.execution.inputs import RobotInputs
from sysid_nodes.execution.limits import limits_in_force, motion_limits, planning_limits
from sysid_nodes.execution.player import MotionPlayer
from sysid_nodes.execution.remote import Remote, RemoteExecutor
from sysid_nodes.execution.reports import feedback_of, refusal, state_of

__all__ = [
    "ActionNode",
    "Admission",
    "Arming",
    "CommandMode",
    "MotionPlayer",
    "Remote",
    "RemoteExecutor",
    "RobotInputs",
    "TrajectoryExecutorConfig",
    "arm_timeout",
    "feedback_of",
    "follow_action",
    "limits_in_force",
    "motion_limits",
    "planning_limits",
    "refusal",
    "state_of",
]
