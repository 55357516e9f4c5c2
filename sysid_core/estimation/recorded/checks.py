# SPDX-License-Identifier: Apache-2.0
"""Recordings that can't be used are refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.errors import EstimationError, SignalError
from sysid_core.signals import EffortKind, JointStream, Recording


def require_recordings(recordings: Sequence[Recording]) -> None:
    """Refuse to identify from nothing.

    Raises:
        EstimationError: There is no recording.
    """
    if not recordings:
        raise EstimationError("There is no recording to identify from.", remedy="Give a recording.")


def require_torques(stream: JointStream, source: str, *, currents: bool = False) -> None:
    """Refuse efforts that aren't torques.

    Args:
        stream: Joint states.
        source: Name of the recording, for the message.
        currents: Whether motor currents will do, because drive gains are at hand.

    Raises:
        SignalError: Missing, undeclared or gravity-compensated efforts, or currents.
    """
    if stream.effort is None:
        raise SignalError(
            f"'{source}' has no efforts.",
            remedy="Identification needs measured currents or torques: record them too.",
        )
    kind = stream.effort_kind
    if kind.is_torque or (currents and kind is EffortKind.MOTOR_CURRENT):
        return
    unit = "torques or currents" if currents else "torques"
    raise SignalError(
        f"The efforts of '{source}' are declared '{stream.effort_kind}', not {unit}.",
        remedy="Declare what they are (`effort_kind: actuator_torque` …) in the column map or with"
        " --effort-kind; gravity-compensated efforts can't be used: the weight has been subtracted."
        + ("" if currents else " Multiply motor currents by the drive gains first."),
    )


def require_finite(stream: JointStream, source: str) -> None:
    """Refuse NaN and infinite values.

    Raises:
        SignalError: Names the signal, the joints and the first sample.
    """
    for key in ("q", "v", "a", "effort"):
        values = getattr(stream, key)
        if values is not None and not np.all(np.isfinite(values)):
            rows, columns = np.nonzero(~np.isfinite(values))
            names = sorted({stream.names[j] for j in columns})
            raise SignalError(
                f"'{key}' of {names} in '{source}' holds {len(rows)} NaN or infinite values, the"
                f" first in sample {rows[0]}.",
                remedy="Remove these samples or record again.",
            )
