# SPDX-License-Identifier: Apache-2.0
"""Messages about a run: state, feedback and result of its goal."""

from __future__ import annotations

import math

from robot_sysid.action import ExecuteTrajectory
from robot_sysid.msg import ExecutorState as ExecutorStateMessage

from sysid_core.errors import SysIdError
from sysid_core.execution import Command, Executor, ExecutorState

_OVERLOADED = " (on one machine, this means that it is overloaded: end other work and repeat)"


def state_of(core: Executor, command: Command) -> ExecutorStateMessage:
    """Create a message with the state of a run; stamp and limits are filled in later.

    Args:
        core: Executor of the running motion.
        command: Last command of the executor.
    """
    scaling = core.scaling  # the robot's own; None: nobody says
    left = 0.0 if core.motion is None else (1.0 - command.progress) * core.motion.duration
    speed = core.settings.speed_scale * (1.0 if scaling is None else max(scaling, 0.01))
    return ExecutorStateMessage(
        state=command.state.value,
        segment=command.segment,
        progress=command.progress,
        time_left=left / speed,
        tracking_error=core.worst_error,
        speed_scaling=math.nan if scaling is None else scaling,
        message=command.message,
    )


def feedback_of(state: ExecutorStateMessage) -> ExecuteTrajectory.Feedback:
    """Return the feedback message for the client of a goal."""
    return ExecuteTrajectory.Feedback(
        state=state.state,
        segment=state.segment,
        progress=state.progress,
        time_left=state.time_left,
    )


def result_of(core: Executor, duration: float, hint: str) -> ExecuteTrajectory.Result:
    """Return the result message of a run.

    Args:
        core: Executor of the motion that ended.
        duration: Duration of the motion [s].
        hint: Another possible cause of an abort.
    """
    done = core.state is ExecutorState.DONE
    late = core.fault is not None and core.fault.late
    message = core.message + ("" if done else hint + _OVERLOADED * late)
    held = core.model.held_text
    return ExecuteTrajectory.Result(
        success=done,
        final_state=core.state.value,
        message=f"{message}. {held}" if held else message,
        duration=duration,
        max_tracking_error=core.worst_error,
    )


def refusal(err: SysIdError) -> ExecuteTrajectory.Result:
    """Return the result message of a refused or failed goal."""
    return ExecuteTrajectory.Result(final_state="aborted", message=str(err))
