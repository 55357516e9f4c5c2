# SPDX-License-Identifier: Apache-2.0
"""From recordings to equations: spans of samples, rates and cut-offs, what is refused, and what estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np
from scipy.interpolate import make_interp_spline

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import Regression
from sysid_core.files import Number
from sysid_core.robot import Array
from sysid_core.signals import EffortKind, JointStream, Recording
from sysid_core.signals.filters import ZeroPhaseFilter

Motion = TypeVar("Motion")


@dataclass(frozen=True, eq=False)
class Span(Generic[Motion]):
    """Gapless, equally spaced motion with measured torques at the joints.

    Attributes:
        motion: Motion of all joints, as it was `delay` before the torques.
        tau: Torques of the n measured joints, unfiltered, shape (K, n) [N m].
        rate_hz: Samples per second.
        source: Which recording it comes from.
    """

    motion: Motion
    tau: Array
    rate_hz: float
    source: str = ""


def shifted(values: Array, time: Array, shift: float) -> Array:
    """Smooth columns, shape (K, ...), as they were `shift` [s] before; held at the ends."""
    return make_interp_spline(time, values, k=1)(np.clip(time - shift, time[0], time[-1]))


def filled(values: Array | None) -> Array:
    """What `smooth_motion` fills.

    Raises:
        SignalError: It hasn't.
    """
    if values is None:
        raise SignalError(
            "The motion has no velocities or accelerations.",
            remedy="Smooth the motion first: `smooth_motion` gives velocities and accelerations.",
        )
    return values


@dataclass(frozen=True, kw_only=True)
class TorqueProcessing:
    """Filter and decimation of regressor and torque.

    Both pass the same filter, which leaves `tau = Y pi` true.

    Attributes:
        torque_cutoff_hz: Cut-off of the filter for regressor and torque.
        max_gap_s: Longer gaps split the recording [s].
        end_trim: Cut at both ends of a span, where filters and impacts spoil it [s].
        moving: A joint moves above this speed [rad/s]; at standstill friction is anywhere between
            its limits.
    """

    SAMPLES_PER_PERIOD: ClassVar[float] = 6.0
    _POSITIVE: ClassVar[tuple[str, ...]] = ("torque_cutoff_hz", "max_gap_s")

    torque_cutoff_hz: Number = 8.0
    max_gap_s: Number = 0.1
    end_trim: Number = 0.3
    moving: Number = 0.01

    def __post_init__(self) -> None:
        for key in self._POSITIVE:
            if not getattr(self, key) > 0.0:
                raise EstimationError(
                    f"'{key}' must be positive, not {getattr(self, key)}.",
                    remedy="Leave it out for the usual value.",
                )

    @property
    def low_pass(self) -> ZeroPhaseFilter:
        """The filter of regressor and torque."""
        return ZeroPhaseFilter(self.torque_cutoff_hz)

    def kept(self, K: int, rate_hz: float, step: int | None = None) -> slice:
        """Samples of a span of K that enter the fit.

        Args:
            K: Samples of the span.
            rate_hz: Samples per second.
            step: Every how many; default: a few per period of the filter's cut-off.
        """
        trim = min(int(self.end_trim * rate_hz), K // 8)
        few = max(1, int(rate_hz / (self.SAMPLES_PER_PERIOD * self.torque_cutoff_hz)))
        return slice(trim, K - trim, few if step is None else step)


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


class Estimator(Protocol):
    """What all whole-robot estimators offer: configuration in the constructor, data in `fit`."""

    fixed: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the result is signed with."""
        ...

    def fit(self, regression: Regression) -> Estimate:
        """Estimate the parameters of the measurement equations."""
        ...


def full_parameters(regression: Regression, estimate: Estimate, fixed: Sequence[str]) -> Array:
    """All parameters from an estimate of base or of full ones, closest to the prior, (p,)."""
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
