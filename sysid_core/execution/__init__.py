# SPDX-License-Identifier: Apache-2.0
"""Execution of a checked motion: executor, monitor, and the ways of playing a path.

Example:
    >>> from sysid_core.execution import Executor, Measured
    >>> from sysid_core.planning import MotionLimits
    >>> from sysid_core.planning.payload import plan_payload_motion
    >>> from sysid_core.robot import RobotModel
    >>> model = RobotModel.from_urdf("xarm7")
    >>> limits = MotionLimits.from_model(model, ground_height=0.0)
    >>> plan = plan_payload_motion(model, limits, duration=5.0)
    >>> executor = Executor(model, plan.trajectory, limits)
    >>> executor.start()
    >>> now, q, v = 0.0, plan.trajectory.q[0], 0 * plan.trajectory.q[0]
    >>> while not executor.state.is_final:
    ...     command = executor.step(now, Measured(now, model.joint_names, q, v))
    ...     if command.q is not None:
    ...         q, v = command.q, command.v  # a robot that follows perfectly
    ...     now += 0.01
    >>> print(command.state.value)
    done
"""

from sysid_core.execution.executor import Executor
from sysid_core.execution.faults import Fault, FaultCode
from sysid_core.execution.monitor import Continuity, Measured, MonitorLimits, PositionRates
from sysid_core.execution.played_motion import Outgoing
from sysid_core.execution.states import (
    Command,
    ExecutorSettings,
    ExecutorState,
    SegmentMarks,
)

__all__ = [
    "Command",
    "Continuity",
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
