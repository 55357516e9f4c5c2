# SPDX-License-Identifier: Apache-2.0
"""Playing a checked motion: executor, monitor, path follower."""

from sysid_core.excitation.execution.executor import Executor
from sysid_core.excitation.execution.monitor import Measured, MonitorLimits, PositionRates
from sysid_core.excitation.execution.path_follower import PathFollower
from sysid_core.excitation.execution.states import (
    Command,
    ExecutorSettings,
    ExecutorState,
    SegmentMarks,
)

__all__ = [
    "Command",
    "Executor",
    "ExecutorSettings",
    "ExecutorState",
    "Measured",
    "MonitorLimits",
    "PathFollower",
    "PositionRates",
    "SegmentMarks",
]
