# SPDX-License-Identifier: Apache-2.0
"""Preprocessing of recordings of open and closed chains: gapless, filtered motions with joint
torques.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.arm.spans import (
    Span,
    require_finite,
    require_torques,
    shifted,
)
from sysid_core.files import FileSchema, Number
from sysid_core.robot import Array, DriveTrain, FrictionModel, RobotModel
from sysid_core.robot.loops import DrivenRobot
from sysid_core.settings import Kind, bounded, require_bounds
from sysid_core.signals import EffortKind, JointStream, Recording
from sysid_core.signals.filters import ZeroPhaseFilter


@dataclass(frozen=True)
class VelocityFeedback:
    r"""Velocity gains of the controllers, estimated from the noise of the measured efforts.

    The true states of a motion are unknown. Sensors measure them with noise, and the low-pass filter of
    the motion estimates them. A position or impedance controller feeds the *measured* velocity back, so
    that the noise \(e\) of the velocity reappears in the effort of the same joint:

    \[ u_k = \hat u(q_k, v_k, a_k) - k_d\, e_{k-l}, \qquad e_k = v_k^{measured} - v_k, \qquad k_d \ge 0
    \]

    with the efforts \(\hat u\) of the robot model along the filtered motion \(q, v, a\), the velocity
    gain \(k_d\) of the controller, and a lag of \(l\) samples. Where noise is larger than motion, the
    transfer function from velocity to effort is that of the controller, and not the inverse dynamics of
    the robot. Its phase is 180°, whereas that of friction is 0° and that of an inertia 90° (T.
    Söderström, P. Stoica, *System Identification* (1989), chapter 10).

    Attributes:
        gains: Velocity gain k_d of each joint, in the unit of the efforts per rad/s or m/s; 0: the
            joint shows no reaction.
        lag: Number of samples by which efforts lag behind the velocities to which they react.
        measured: True if the gains refer to the noise of measured velocities; False for
            differences of positions.

    Raises:
        EstimationError: A gain or the lag is negative.
    """

    gains: tuple[float, ...]
    lag: int = 0
    measured: bool = True

    def __post_init__(self) -> None:
        if self.lag < 0 or not all(np.isfinite(k) and k >= 0.0 for k in self.gains):
            raise EstimationError(
                f"Velocity gains {list(self.gains)} with a lag of {self.lag} samples.",
                remedy="Gains and lag of a controller must not be negative.",
            )

    def efforts(
        self, model: RobotModel, recording: Recording, processing: Processing
    ) -> Array | None:
        """Return the reaction of the controllers at the stamps and in the unit of the recording,
        shape (K, n); None if its velocities have another source (sensors or differences of
        positions) than those to which the gains refer.

        Args:
            model: The robot; its order of joints is that of the result.
            recording: Joint states; their efforts are ignored.
            processing: Filters of the motion.
        """
        if self.measured != (recording.joints.v is not None):
            return None
        return -np.array(self.gains) * velocity_noise(model, recording, processing, self.lag)


def velocity_noise(
    model: RobotModel, recording: Recording, processing: Processing, lag: int = 0
) -> Array:
    """Return the difference of the velocities before and after the low-pass filter of the motion,
    shape (K, n) [rad/s or m/s]; 0 where there is no filtered motion. If no velocities were
    measured, they are computed as differences of the positions.

    Args:
        model: The robot; its order of joints is that of the result.
        recording: Joint states.
        processing: Filters of the motion.
        lag: Number of samples by which the result is delayed.
    """
    joints = Processing.driven_joints(model, recording.joints)
    v = np.gradient(joints.q, joints.time, axis=0) if joints.v is None else joints.v
    noise = np.nan_to_num(v - filtered_velocities(model, recording, processing))
    return np.concatenate([np.zeros((lag, model.nv)), noise])[: len(noise)]


def filtered_velocities(model: RobotModel, recording: Recording, processing: Processing) -> Array:
    """Return the velocities of the filtered motion at the stamps of the recording, shape (K, n)
    [rad/s or m/s]; NaN in gaps.
    """
    (v,) = replace(processing, delay=0.0).predicted_efforts(
        model, recording, DriveTrain.direct(model.joint_names), lambda q, v, a: (v,)
    )
    return v


_FEWEST = 20  # samples of a span: twice what filters need, fewer say nothing beside their ends
_SAMPLES_PER_PERIOD = 6.0  # of the filter's cut-off: three times what carries it


def unmeasured_joints(efforts: Sequence[Array]) -> NDArray[np.bool_]:
    """Return a mask of joints without measured efforts, shape (n,).

    Args:
        efforts: Efforts of each span, each (K_i, n); 0 throughout for unmeasured joints.
    """
    return ~np.any([np.any(effort != 0.0, axis=0) for effort in efforts], axis=0)


def refuse_unmeasured(unmeasured: NDArray[np.bool_]) -> None:
    """Raise an error if no joint has measured efforts.

    Raises:
        EstimationError: No joint's effort is measured.
    """
    if np.all(unmeasured):
        raise EstimationError(
            "All efforts are zero: the driver does not measure efforts.",
            remedy="Record from a driver that reports torques or currents.",
        )


def unmeasured_notes(names: Sequence[str], unmeasured: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return a sentence for the result about joints without measured efforts; empty if there are
    none.
    """
    joints = [name for name, none in zip(names, unmeasured, strict=True) if none]
    if not joints:
        return ()
    return (
        f"The efforts of {', '.join(joints)} are zero throughout: parameters that only they"
        " determine remain undetermined.",
    )


class Differentiation(Kind):
    """Source of velocities and accelerations."""

    FILTER = "filter"  # measured velocities, or else positions, by a low-pass
    POSITIONS = "positions"  # positions by a low-pass, whatever velocities were measured


@dataclass(frozen=True, kw_only=True)
class Processing:
    r"""Settings for the preprocessing of recordings of an open or closed chain.

    The regressor is computed from lightly filtered motion. The same filter is then applied to the
    regressor and the torques, so that `tau = Y pi` remains true. Samples in which no joint moves
    are left out of the fit.

    Attributes:
        torque_cutoff_hz: Cut-off frequency of the filter for regressor and torque [Hz].
        max_gap_s: Longest gap between samples within a span [s]; longer ones split the recording.
        end_trim: Time cut off at both ends of a span, because of filter transients and impacts [s].
        moving: Speed above which a joint counts as moving [rad/s]; at standstill, friction is
            undetermined.
        rate_hz: Sampling rate of the regressor (or the recording's own rate, if lower) [Hz].
        motion_cutoff_hz: Cut-off frequency of the filter for positions and their derivatives [Hz].
        differentiate: Source of velocities and accelerations: `filter` (uses measured velocities if
            present), or `positions` alone.
        delay: Delay of the efforts relative to the positions [s].
    """

    __pydantic_config__ = FileSchema.ONLY_KNOWN_KEYS
    # The bounds are beyond every robot, so that arithmetic holds.
    torque_cutoff_hz: Number = bounded(8.0, 1e-6, 1e6)
    max_gap_s: Number = bounded(0.1, 1e-6, 1e6)
    end_trim: Number = bounded(0.3, 0.0, 1e6)
    moving: Number = bounded(0.01, 0.0, 1e6)
    rate_hz: Number = bounded(100.0, 1e-6, 1e6)
    motion_cutoff_hz: Number = bounded(12.0, 1e-6, 1e6)
    differentiate: Differentiation = Differentiation.FILTER
    delay: Number = bounded(0.0, -1e6, 1e6)

    def __post_init__(self) -> None:
        require_bounds(self, EstimationError)
        chosen = Differentiation.named(
            self.differentiate, "The method of differentiation", EstimationError
        )
        object.__setattr__(self, "differentiate", chosen)

    @property
    def low_pass(self) -> ZeroPhaseFilter:
        """Low-pass filter of regressor and torque."""
        return ZeroPhaseFilter(self.torque_cutoff_hz)

    def kept(self, K: int, rate_hz: float, step: int | None = None) -> slice:
        """Return the slice that selects the samples for the fit from a span of K samples.

        Args:
            K: Number of samples of the span.
            rate_hz: Sampling rate [Hz].
            step: Stride of the slice; None: a few samples per period of the filter's cut-off.
        """
        trim = min(int(self.end_trim * rate_hz), K // 8)
        few = max(1, int(rate_hz / (_SAMPLES_PER_PERIOD * self.torque_cutoff_hz)))
        return slice(trim, K - trim, few if step is None else step)

    def prepare(
        self, model: RobotModel, recording: Recording, friction: FrictionModel
    ) -> tuple[Span, ...]:
        """Return the filtered gapless spans of a recording, with the joints in the order of the
        robot.

        Args:
            model: Robot model.
            recording: Joint states with declared efforts.
            friction: Friction model with the drives, which convert efforts to torques.

        Raises:
            SignalError: The recording is invalid or too short.
        """
        require_torques(recording.joints, recording.source, currents=True)
        out = []
        for motion, rate in self.prepare_motion(model, recording):
            assert motion.effort is not None  # `require_torques` has seen to it
            tau = friction.drives.torques(motion.effort, motion.q)
            tau = tau - model.passive_torques(*motion.kinematics)
            out.append(Span(motion, tau, rate, recording.source))
        return tuple(out)

    def prepare_motion(
        self, model: RobotModel, recording: Recording
    ) -> Iterator[tuple[JointStream, float]]:
        """Yield the filtered motion of every span without gaps, with its sampling rate [Hz];
        efforts are not required.

        Args:
            model: The robot; its order of joints is that of the result.
            recording: Joint states.

        Raises:
            SignalError: Values are not finite, or no span is long enough.
        """
        stream = Processing.driven_joints(model, recording.joints)
        require_finite(stream, recording.source)
        if self.differentiate is Differentiation.POSITIONS:
            stream = replace(stream, v=None, a=None)
        low_pass = ZeroPhaseFilter(self.motion_cutoff_hz)
        found = False
        for part in stream.pieces(self.max_gap_s, self.rate_hz):
            if len(part) < _FEWEST:
                continue
            native = (len(part) - 1) / part.time[-1]
            rate = self.rate_hz if native > 0.8 * self.rate_hz else native
            if part.time[-1] * rate < _FEWEST - 1:
                continue
            motion = low_pass.smooth(part, rate)
            found = True
            yield (earlier(motion, self.delay) if self.delay else motion), rate
        if not found:
            raise SignalError(
                f"'{recording.source}' has no section of {_FEWEST} samples (at its own rate or at {self.rate_hz:g} Hz) without a gap"
                f" of more than {self.max_gap_s} s.",
                remedy="Allow larger gaps, or record again.",
            )

    def predicted_efforts(
        self,
        model: RobotModel,
        recording: Recording,
        drives: DriveTrain,
        torques: Callable[[Array, Array, Array], Sequence[Array]],
    ) -> tuple[Array, ...]:
        """Return the efforts predicted by several models, at the stamps and in the unit of the
        recording; NaN in gaps.

        Args:
            model: The robot; its order of joints is that of the result.
            recording: Joint states; their efforts are ignored.
            drives: Drives, which convert torques to efforts.
            torques: Function of q, v, a, each (K, n), that returns the torques (K, n) of each
                model.

        Returns:
            Efforts of each model, shape (K, n).
        """
        joints = replace(recording.joints, effort=None, effort_kind=EffortKind.UNKNOWN)
        stamps = joints.stamps_ns
        out: list[Array] = []
        for motion, rate in self.prepare_motion(model, replace(recording, joints=joints)):
            begin, end = motion.stamps_ns[0], motion.stamps_ns[-1] + int(1.5e9 / rate)
            inside = (stamps >= begin) & (stamps <= end)
            when = (stamps[inside] - begin) * 1e-9
            predicted = torques(*motion.kinematics)
            out = out or [np.full((len(stamps), model.nv), np.nan) for _ in predicted]
            for efforts, tau in zip(out, predicted, strict=True):
                effort = drives.efforts(tau, motion.q)
                for j in range(model.nv):
                    efforts[inside, j] = np.interp(when, motion.time, effort[:, j])
        return tuple(out)

    @staticmethod
    def driven_joints(model: RobotModel, stream: JointStream) -> JointStream:
        """Return the joint states of the driven joints only, in the order of the robot.

        If passive joints of a closed chain have encoders that are used, they determine the positions of
        the driven joints.

        Raises:
            SignalError: The stream lacks a joint.
        """
        if not (isinstance(model, DrivenRobot) and model.chain.measured):
            return stream.ordered(model.joint_names)
        chain = model.chain
        missing = [joint for joint in chain.measured if joint not in stream.names]
        if missing:
            raise SignalError(
                f"The recording has no passive joints {missing}; it has {list(stream.names)}.",
                remedy="Remove them from `measured` in the file of kinematic loops, so that the loops determine them.",
                missing=missing,
            )
        seen = stream.ordered((*chain.actuated, *chain.measured))
        require_finite(replace(seen, effort=None), "")
        q = model.postures_of(seen.names, seen.q)
        v = None if seen.v is None else model.velocities_of(q, seen.names, seen.v)
        driven = seen.ordered(chain.actuated)
        return replace(driven, q=q[:, chain.actuated_columns], v=v, a=None)


def earlier(motion: JointStream, shift: float) -> JointStream:
    """Return the motion advanced by `shift` [s]; the efforts are unchanged."""
    q, v, a = (shifted(x, motion.time, shift) for x in motion.kinematics)
    return replace(motion, q=q, v=v, a=a)
