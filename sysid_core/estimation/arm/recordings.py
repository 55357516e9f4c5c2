# SPDX-License-Identifier: Apache-2.0
"""Recordings of an open chain as gapless, filtered motions with torques at the joints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import make_interp_spline

from sysid_core.errors import EstimationError, SignalError
from sysid_core.files import ONLY_KNOWN_KEYS, Number
from sysid_core.kinds import Kind
from sysid_core.robot import Array, FrictionModel, RobotModel
from sysid_core.signals import EffortKind, JointStream, Recording
from sysid_core.signals.filters import ZeroPhaseFilter, in_pieces, smooth_motion, split_at_gaps


class Differentiation(Kind):
    """How positions become velocities and accelerations."""

    FILTER = "filter"
    SPLINE = "spline"


@dataclass(frozen=True)
class Processing:
    r"""What is done to recordings before the fit.

    The regressor is built from lightly filtered motion; then regressor and torque pass the same
    filter, which leaves `tau = Y pi` true, and are decimated.

    Attributes:
        rate_hz: At which the regressor is built (or the recording's own rate, if lower).
        motion_cutoff_hz: Cut-off of the filter for positions, velocities and accelerations.
        differentiate: How positions become velocities and accelerations: `filter`, or `spline`,
            smoothing splines whose cut-off the data choose (`motion_cutoff_hz` isn't used then,
            nor are measured velocities).
        torque_cutoff_hz: Cut-off of the filter for regressor and torque.
        max_gap: Longer gaps split the recording [s].
        end_trim: Cut at both ends of a span, where filters and impacts spoil it [s].
        moving: A joint moves above this speed [rad/s]; samples where none does are left out of
            the fit, since friction at standstill is anywhere between its limits.
        delay: By how much the efforts lag behind the positions [s].
    """

    __pydantic_config__ = ONLY_KNOWN_KEYS

    rate_hz: Number = 100.0
    motion_cutoff_hz: Number = 12.0
    differentiate: Differentiation = Differentiation.FILTER
    torque_cutoff_hz: Number = 8.0
    max_gap: Number = 0.1
    end_trim: Number = 0.3
    moving: Number = 0.01
    delay: Number = 0.0

    def __post_init__(self) -> None:
        for key in ("rate_hz", "motion_cutoff_hz", "torque_cutoff_hz", "max_gap"):
            if not getattr(self, key) > 0.0:
                raise EstimationError(
                    f"'{key}' must be positive, not {getattr(self, key)}.",
                    remedy="Leave it out for the usual value.",
                )
        chosen = Differentiation.named(
            self.differentiate, "The way to differentiate positions", EstimationError
        )
        object.__setattr__(self, "differentiate", chosen)


@dataclass(frozen=True, eq=False)
class Span:
    """Gapless, equally spaced, filtered motion with measured torques at the joints.

    Attributes:
        motion: q, v, a, filtered, as they were `Processing.delay` before; effort as recorded.
        tau: Joint torques (effort times gain, and known springs), unfiltered, shape (K, n) [N m].
        rate_hz: Samples per second.
        source: Which recording it comes from.
    """

    motion: JointStream
    tau: Array
    rate_hz: float
    source: str


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
    usable = (EffortKind.LINK_TORQUE, EffortKind.ACTUATOR_TORQUE)
    if stream.effort_kind in usable or (
        currents and stream.effort_kind is EffortKind.MOTOR_CURRENT
    ):
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


def prepare(
    model: RobotModel, recording: Recording, friction: FrictionModel, processing: Processing
) -> tuple[Span, ...]:
    """Filtered spans of a recording, joints in the robot's order.

    Args:
        model: The robot.
        recording: Joint states with declared efforts.
        friction: Its drives turn efforts into torques.
        processing: Rates and cut-offs.

    Raises:
        SignalError: The recording can't be used.
    """
    require_torques(recording.joints, recording.source, currents=True)
    out = []
    for motion, rate in prepare_motion(model, recording, processing):
        assert motion.effort is not None  # `require_torques` has seen to it
        tau = friction.drives.torques(motion.effort, motion.q)
        out.append(Span(motion, tau, rate, recording.source))
    return tuple(out)


def prepare_motion(
    model: RobotModel, recording: Recording, processing: Processing
) -> Iterator[tuple[JointStream, float]]:
    """Filtered motion of every gapless span with its rate [Hz], efforts or not.

    Args:
        model: The robot, whose order the joints get.
        recording: Joint states.
        processing: Rates and cut-offs.

    Raises:
        SignalError: Values aren't finite, or no span is long enough.
    """
    stream = recording.joints.ordered(model.joint_names)
    require_finite(stream, recording.source)
    filtered = processing.differentiate is Differentiation.FILTER
    low_pass = ZeroPhaseFilter(processing.motion_cutoff_hz) if filtered else None
    found = False
    for part in in_pieces(split_at_gaps(stream, processing.max_gap), processing.rate_hz):
        if len(part) < 20:
            continue
        native = (len(part) - 1) / part.time[-1]
        rate = processing.rate_hz if native > 0.8 * processing.rate_hz else native
        motion = smooth_motion(part, rate, low_pass)
        found = True
        yield (earlier(motion, processing.delay) if processing.delay else motion), rate
    if not found:
        raise SignalError(
            f"'{recording.source}' has no span of 20 samples without a gap of"
            f" {processing.max_gap} s.",
            remedy="Allow larger gaps, or record again.",
        )


def earlier(motion: JointStream, shift: float) -> JointStream:
    """The motion as it was `shift` [s] before; the efforts, which aren't smooth, stay in place."""
    q, v, a = (shifted(filled(x), motion.time, shift) for x in (motion.q, motion.v, motion.a))
    return replace(motion, q=q, v=v, a=a)


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
