# SPDX-License-Identifier: Apache-2.0
"""Gapless spans of samples, their checks, and the interface of the estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.interpolate import make_interp_spline

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import Regression
from sysid_core.robot import Array
from sysid_core.signals import EffortKind, JointStream, Recording


@dataclass(frozen=True, eq=False)
class Span:
    """Gapless, equally spaced motion with measured joint torques.

    Attributes:
        motion: Motion of all joints, as it was `delay` before the torques.
        tau: Torques of the n measured joints, unfiltered, shape (K, n) [N m].
        rate_hz: Samples per second.
        source: Which recording it comes from.
    """

    motion: JointStream
    tau: Array
    rate_hz: float
    source: str = ""


def shifted(values: Array, time: Array, shift: float) -> Array:
    """Smooth columns, shape (K, ...), delayed by `shift` [s]; constant beyond the ends."""
    return make_interp_spline(time, values, k=1)(np.clip(time - shift, time[0], time[-1]))


def filled(values: Array | None) -> Array:
    """Array of a span after `smooth_motion` has filled it.

    Raises:
        SignalError: It hasn't.
    """
    if values is None:
        raise SignalError(
            "The motion has no velocities or accelerations.",
            remedy="Smooth the motion first: `smooth_motion` gives velocities and accelerations.",
        )
    return values


def require_recordings(recordings: Sequence[Recording]) -> None:
    """Raise an error if there is no recording.

    Raises:
        EstimationError: There is not a recording.
    """
    if not recordings:
        raise EstimationError("No recording was given.", remedy="Give a recording.")


def require_torques(stream: JointStream, source: str, *, currents: bool = False) -> None:
    """Raise an error if the efforts are not torques.

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
        remedy="Declare their kind (`effort_kind: actuator_torque` …) in the column map or with"
        " --effort-kind; gravity-compensated efforts can't be used: the weight has been subtracted."
        + ("" if currents else " Multiply motor currents by the drive gains first."),
    )


def require_finite(stream: JointStream, source: str) -> None:
    """Raise an error if values are NaN or infinite.

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


class Estimator(Protocol):
    """Interface of all estimators of robot parameters: configuration in the constructor, data in
    `fit`.
    """

    fixed: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the method, as stored in the result."""
        ...

    def fit(self, regression: Regression) -> Estimate:
        """Estimate the parameters of the measurement equations."""
        ...


def full_parameters(regression: Regression, estimate: Estimate, fixed: Sequence[str]) -> Array:
    """Full parameter vector from an estimate of base or full parameters, (p,); what the data leave
    open is closest to the prior.
    """
    if estimate.names == regression.names:
        return estimate.values
    free = regression.free_columns(fixed)
    base = regression.base_of(free)
    # Closest in natural units: a gram is no kilogram.
    s = regression.prior_sd[free]
    step = np.linalg.pinv(base.regrouping * s) @ (
        estimate.values - base.base_values(regression.prior[free])
    )
    out = regression.prior.copy()
    out[free] += s * step
    return out
