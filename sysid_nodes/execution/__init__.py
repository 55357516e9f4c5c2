# SPDX-License-Identifier: Apache-2.0
"""Parts of the trajectory executor: who may start a motion, how it is sent, what is watched."""

from sysid_nodes.execution.admission import Admission
from sysid_nodes.execution.arming import Arming
from sysid_nodes.execution.config import NO_SCALING, TrajectoryExecutorConfig
from sysid_nodes.execution.drive import RobotDrive
from sysid_nodes.execution.execute_action import ExecuteAction
from sysid_nodes.execution.safety_inputs import SafetyInput, SafetyInputs
from sysid_nodes.execution.speed_scaling import SpeedScaling
from sysid_nodes.execution.state import RobotState
from sysid_nodes.execution.telling import feedback_of, report_run, result_of

__all__ = [
    "NO_SCALING",
    "Admission",
    "Arming",
    "ExecuteAction",
    "RobotDrive",
    "RobotState",
    "SafetyInput",
    "SafetyInputs",
    "SpeedScaling",
    "TrajectoryExecutorConfig",
    "feedback_of",
    "report_run",
    "result_of",
]
