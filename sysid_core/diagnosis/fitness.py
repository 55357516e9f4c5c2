# SPDX-License-Identifier: Apache-2.0
"""Check for recordings that are unusable for every purpose; they are refused before any
computation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.errors import ModelError, SignalError
from sysid_core.reasons import Reason
from sysid_core.robot import RobotModel
from sysid_core.signals import JointStream, Recording, require_sound_units

_LEAST_DURATION = 3.0  # [s]
_MOST_EFFORT = 1e9  # [A, N m or N]
LEAST_TRAVEL = (
    0.05  # [rad or m] of a joint that moves: friction has been overcome, and gravity changes
)


def require_fit(
    model: RobotModel, recording: Recording, *, efforts: bool = True, near: bool = True
) -> None:
    """Raise an error if a recording cannot belong to this robot or contains no information.

    All commands and live estimates use this check.

    Args:
        model: Robot model.
        recording: Joint states, which may include other joints than the robot's.
        efforts: True if efforts are required.
        near: True to refuse positions far beyond their limits; False before `examine`, which may
            find the cause.

    Raises:
        ModelError: A joint is missing.
        SignalError: The units are implausible, or the efforts are missing.
    """
    require_joints(model, recording.joints.names, recording.source)
    require_sound_units(recording.joints, model, recording.source, near=near)
    effort = recording.joints.effort
    if effort is not None and np.any(np.abs(effort) > _MOST_EFFORT):
        row = int(np.argmax(np.max(np.abs(effort), axis=1) > _MOST_EFFORT))
        raise SignalError(
            f"An effort of '{recording.source}' is implausible: {np.max(np.abs(effort[row])):.2g} in row {row + 1}.",
            remedy="No drive produces such an effort: remove the damaged samples, or record again.",
        )
    if efforts and effort is None:
        raise SignalError(
            f"'{recording.source}' has no efforts.",
            remedy="Record the motor currents or joint torques as well; identification needs them.",
        )


def require_joints(model: RobotModel, names: Sequence[str], source: str) -> None:
    """Raise an error if the data lack a joint of the robot.

    Raises:
        ModelError: A joint is missing; the error contains the recommended action.
    """
    missing = [name for name in model.joint_names if name not in names]
    if missing:
        raise ModelError(
            f"'{source}' has no joints {missing} of '{model.name}': it has {list(names)}.",
            remedy="Give the URDF that belongs to the recording, or its names in the column map."
            if len(missing) == len(model.joint_names)
            else "Give the URDF's names in the column map, or lock joints that were not recorded and did not move:"
            f" {RobotModel.lock_options(missing)}.",
            missing=missing,
        )


def stream_faults(stream: JointStream) -> tuple[Reason, ...]:
    """Return the reasons why joint states are unusable for identification; no robot model is
    needed.

    Args:
        stream: Joint states as recorded.
    """
    out = []
    twice = sorted({name for name in stream.names if stream.names.count(name) > 1})
    if twice:
        out.append(Reason.failure("names-twice", names=twice))
    steps = np.diff(stream.stamps_ns)
    duration = float(np.sum(np.clip(steps, 0, int(1e9)))) * 1e-9  # gaps don't count
    if duration < _LEAST_DURATION:
        facts = {"samples": len(stream), "duration": duration, "least": _LEAST_DURATION}
        out.append(Reason.failure("recording-short", **facts))
    back = int(np.sum(steps < 0))
    if back:
        out.append(Reason.failure("stamps-backward", count=back))
    for key, what in (("q", "positions"), ("v", "velocities"), ("effort", "efforts")):
        values = getattr(stream, key)
        bad = 0.0 if values is None else 1.0 - float(np.mean(np.isfinite(values)))
        if bad > 0.0:
            out.append(Reason.failure("not-finite-samples", share=bad, what=what))
    finite = np.where(np.isfinite(stream.q), stream.q, 0.0)
    if len(stream) and not np.any(np.ptp(finite, axis=0) > LEAST_TRAVEL):
        out.append(Reason.failure("no-motion", least=LEAST_TRAVEL))
    return tuple(out)
