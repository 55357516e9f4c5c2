# SPDX-License-Identifier: Apache-2.0
"""Playing a checked motion: executor, monitor, and the ways to have a robot play it."""

from sysid_core.execution.executor import Executor
from sysid_core.execution.faults import Fault, FaultCode
from sysid_core.execution.goals import Outgoing
from sysid_core.execution.monitor import Measured, MonitorLimits, PositionRates
from sysid_core.execution.states import (
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
    "Fault",
    "FaultCode",
    "Measured",
    "MonitorLimits",
    "Outgoing",
    "PositionRates",
    "SegmentMarks",
]
