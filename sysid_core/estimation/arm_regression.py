"""From recordings of an open chain to its measurement equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.natural_scale import friction_scale, inertial_scale
from sysid_core.estimation.regression import Regression
from sysid_core.identifiability import random_states, with_exact_angles
from sysid_core.robot import (
    INERTIAL_UNITS,
    Array,
    FrictionModel,
    RobotModel,
    inertial_parameter_names,
    joint_torque_regressor,
)
from sysid_core.signals import (
    EffortKind,
    JointStream,
    Recording,
    ZeroPhaseFilter,
    smooth_motion,
    split_at_gaps,
)


@dataclass(frozen=True)
class Processing:
    r"""What is done to recordings before the fit.

    The regressor is built from lightly filtered motion; then regressor and torque pass the same
    filter, which leaves `tau = Y pi` true, and are decimated.

    Attributes:
        rate_hz: At which the regressor is built (or the recording's own rate, if lower).
        motion_cutoff_hz: Of the filter for positions, velocities and accelerations.
        torque_cutoff_hz: Of the filter for regressor and torque.
        max_gap: Longer gaps split the recording [s].
        end_trim: Cut at both ends of a stretch, where filters and impacts spoil it [s].
        moving: A joint moves above this speed [rad/s]; samples where none does are left out of
            the fit, since friction at standstill is anywhere between its limits.
        delay: By how much the efforts lag behind the positions [s].
    """

    rate_hz: float = 100.0
    motion_cutoff_hz: float = 12.0
    torque_cutoff_hz: float = 8.0
    max_gap: float = 0.1
    end_trim: float = 0.3
    moving: float = 0.01
    delay: float = 0.0

    def __post_init__(self) -> None:
        for key in ("rate_hz", "motion_cutoff_hz", "torque_cutoff_hz", "max_gap"):
            if not getattr(self, key) > 0.0:
                raise EstimationError(f"'{key}' must be positive, not {getattr(self, key)}.")


@dataclass(frozen=True, eq=False)
class Stretch:
    """Gapless, equally spaced, filtered motion with measured torques at the joints.

    Attributes:
        motion: q, v, a, filtered, as they were `Processing.delay` before; effort as recorded.
        tau: Joint torques (effort times gain), unfiltered, shape (K, n) [N m].
        rate_hz: Samples per second.
        source: Which recording it comes from.
    """

    motion: JointStream
    tau: Array
    rate_hz: float
    source: str


def require_torques(stream: JointStream, source: str) -> None:
    """Refuse efforts that can't be turned into torques.

    Raises:
        SignalError: Missing, undeclared or gravity-compensated efforts, or values that aren't
            finite.
    """
    if stream.effort is None:
        raise SignalError(
            f"'{source}' has no efforts.",
            remedy="Identification needs measured currents or torques: record them too.",
        )
    if stream.effort_kind in (EffortKind.UNKNOWN, EffortKind.GRAVITY_COMPENSATED):
        raise SignalError(
            f"The efforts of '{source}' are declared '{stream.effort_kind.value}'.",
            remedy="Declare what they are (link_torque, actuator_torque or motor_current) in the"
            " column map or with --effort-kind; gravity-compensated efforts can't be used: the"
            " weight has been subtracted.",
        )
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
) -> tuple[Stretch, ...]:
    """Filtered stretches of a recording, joints in the robot's order.

    Args:
        model: The robot.
        recording: Joint states with declared efforts.
        friction: Its drives turn efforts into torques.
        processing: Rates and cut-offs.

    Raises:
        SignalError: The recording can't be used.
    """
    stream = recording.joints.ordered(model.joint_names)
    require_torques(stream, recording.source)
    low_pass = ZeroPhaseFilter(processing.motion_cutoff_hz)
    out = []
    for part in split_at_gaps(stream, processing.max_gap):
        if len(part) < 20:
            continue
        native = (len(part) - 1) / part.time[-1]
        rate = processing.rate_hz if native > 0.8 * processing.rate_hz else native
        motion = smooth_motion(part, rate, low_pass)
        effort = motion.effort
        if effort is None:  # `require_torques` has seen to it
            raise SignalError(f"'{recording.source}' has no efforts.")
        if processing.delay:
            motion = _earlier(motion, processing.delay)
        out.append(Stretch(motion, effort * friction.drives.gains, rate, recording.source))
    if not out:
        raise SignalError(
            f"'{recording.source}' has no stretch of 20 samples without a gap of"
            f" {processing.max_gap} s.",
            remedy="Allow larger gaps, or record again.",
        )
    return tuple(out)


@dataclass(frozen=True, eq=False)
class ArmEquations:
    """Unfiltered rigid-body regressors of several stretches, from which regressions are made.

    Attributes:
        model: The robot.
        friction: Terms that resist.
        processing: Rates and cut-offs.
        stretches: The data.
        Y: Rigid-body regressor of each stretch, (K_i, n, 10 N).
        structure: At random states, shape (s, p).
        prior: Inertial parameters to start from, shape (10 N,).
        scale: Their natural scale, shape (10 N,).
    """

    model: RobotModel
    friction: FrictionModel
    processing: Processing
    stretches: tuple[Stretch, ...]
    Y: tuple[Array, ...]
    structure: Array
    prior: Array
    scale: Array

    @classmethod
    def build(
        cls,
        model: RobotModel,
        recordings: Sequence[Recording],
        friction: FrictionModel,
        processing: Processing,
    ) -> ArmEquations:
        """Filter the recordings and evaluate the rigid-body regressor along them."""
        parts = tuple(
            stretch
            for recording in recordings
            for stretch in prepare(model, recording, friction, processing)
        )
        Y = tuple(
            joint_torque_regressor(model, s.motion.q, _array(s.motion.v), _array(s.motion.a))
            for s in parts
        )
        return cls(
            model,
            friction,
            processing,
            parts,
            Y,
            arm_structural_rows(model, friction),
            model.pi.ravel(),
            inertial_scale(model),
        )

    def with_friction(self, friction: FrictionModel) -> ArmEquations:
        """The same data with other friction terms."""
        return replace(self, friction=friction, structure=arm_structural_rows(self.model, friction))

    def with_delay(self, delay: float) -> ArmEquations:
        """The same data with the motion as it was `delay` [s] before the efforts."""
        by, parts = delay - self.processing.delay, self.stretches
        return replace(
            self,
            stretches=tuple(replace(s, motion=_earlier(s.motion, by)) for s in parts),
            Y=tuple(_shifted(Y, s.motion.time, by) for Y, s in zip(self.Y, parts, strict=True)),
            processing=replace(self.processing, delay=delay),
        )

    def rigid_torques(self, pi: Array) -> tuple[Array, ...]:
        """Rigid-body torques of every stretch with inertial parameters pi (10 N,)."""
        return tuple(Y @ pi for Y in self.Y)

    def moving(self) -> list[NDArray[np.bool_]]:
        """Samples of every stretch in which some joint moves, each (K_i,)."""
        return [
            np.any(np.abs(_array(s.motion.v)) > self.processing.moving, axis=1)
            for s in self.stretches
        ]

    def moving_share(self) -> float:
        """Share of the samples in which some joint moves."""
        return float(np.mean(np.concatenate(self.moving())))

    def regression(
        self,
        pi: Array,
        keep: Sequence[NDArray[np.bool_]] | None = None,
        *,
        raw: bool = False,
    ) -> Regression:
        """Filtered, trimmed and decimated equations.

        Args:
            pi: Inertial parameters that the load-dependent friction is taken from, (10 N,).
            keep: Samples of every stretch to use, each (K_i,); default: those in motion.
            raw: Neither filtered nor decimated, as a prediction is judged.
        """
        keep = self.moving() if keep is None else keep
        blocks, taus, phi_raw, starts, count = [], [], [], [], 0
        for i, (stretch, Y) in enumerate(zip(self.stretches, self.Y, strict=True)):
            motion, rate = stretch.motion, stretch.rate_hz
            v, a = _array(motion.v), _array(motion.a)
            Phi = self.friction.regressor(motion.q, v, a, Y @ pi)
            low_pass = ZeroPhaseFilter(self.processing.torque_cutoff_hz)
            full, tau, step = np.concatenate([Y, Phi], axis=2), stretch.tau, 1
            if not raw:
                full = _filtered(full, low_pass, rate)
                tau = low_pass.apply(tau, rate)
                step = max(1, int(rate / (6.0 * self.processing.torque_cutoff_hz)))
            use = np.zeros(len(tau), dtype=bool)
            trim = min(int(self.processing.end_trim * rate), len(tau) // 8)
            use[trim : len(tau) - trim : step] = True
            use &= keep[i]
            rows = np.flatnonzero(use)
            if not len(rows):
                continue
            # A hole in the samples ends the correlation of the noise.
            holes = np.flatnonzero(np.diff(rows) > step) + 1
            starts += [count, *(count + holes).tolist()]
            count += len(rows)
            blocks.append(full[rows])
            taus.append(tau[rows])
            phi_raw.append(Phi[rows])
        if not blocks:
            raise EstimationError(
                "No joint moves in these recordings.",
                remedy=f"Nothing is faster than {self.processing.moving} rad/s: move the robot, or"
                " lower the limit.",
            )
        tau_all = np.concatenate(taus)
        names = inertial_parameter_names(self.model) + self.friction.names
        friction_sd = friction_scale(np.concatenate(phi_raw), tau_all, self.friction.names)
        return Regression(
            Y=np.concatenate(blocks),
            tau=tau_all,
            names=names,
            units=INERTIAL_UNITS * self.model.n_bodies + self.friction.units,
            rows=self.model.joint_names,
            bodies=self.model.body_names,
            prior=np.concatenate([self.prior, np.zeros(len(self.friction.names))]),
            prior_sd=np.concatenate([self.scale, friction_sd]),
            non_negative=np.concatenate(
                [np.zeros(len(self.prior), dtype=bool), np.array(self.friction.non_negative)]
            ),
            structure=self.structure,
            starts=tuple(starts),
            rate_hz=self.stretches[0].rate_hz / step,
        )


def arm_structural_rows(model: RobotModel, friction: FrictionModel, seed: int = 7) -> Array:
    """Triangular factor of rigid-body and friction regressor at random states, shape (p, p).

    Rounded angles of the URDF count as the exact ones: a tilt of 1e-6 rad shows nothing in practice.
    """
    model = with_exact_angles(model)[0].with_pi(model.pi)
    rng = np.random.default_rng(seed)
    n_samples = max(12 * model.n_bodies, len(friction.names)) + 30
    q, v, a = random_states(model, n_samples, rng)
    angles = rng.uniform(-np.pi, np.pi, (n_samples, model.nv))
    if q.shape[1] == model.nv:
        angles = q
    Y = joint_torque_regressor(model, q, v, a)
    # Loads as the robot's own masses cause them, or masses of natural size where it has none.
    load = Y @ (model.pi.ravel() + 0.1 * inertial_scale(model))
    # Slow and fast samples, so that the terms near standstill differ from Coulomb friction.
    slow = v * np.where(rng.random(v.shape) < 0.5, 2e-3, 1.0)
    Phi = friction.regressor(angles, slow, a, load * rng.choice([-1.0, 1.0], v.shape))
    # Viscous and inertial columns belong to the same states as the rigid body's.
    same = friction.regressor(angles, v, a, load)
    rows = np.concatenate([np.concatenate([Y, same], 2), np.concatenate([Y, Phi], 2)])
    flat = rows.reshape(-1, rows.shape[2])
    return np.asarray(np.linalg.qr(flat, mode="r"))


def _filtered(values: Array, low_pass: ZeroPhaseFilter, rate_hz: float) -> Array:
    """Filter only the columns that aren't zero: half of a serial arm's regressor is."""
    K, n, p = values.shape
    flat = values.reshape(K, n * p)
    used = np.any(flat != 0.0, axis=0)
    out = np.zeros_like(flat)
    out[:, used] = low_pass.apply(flat[:, used], rate_hz)
    return out.reshape(K, n, p)


def _earlier(motion: JointStream, shift: float) -> JointStream:
    """The motion as it was `shift` [s] before; the efforts, which aren't smooth, stay in place."""
    q, v, a = (_shifted(_array(x), motion.time, shift) for x in (motion.q, motion.v, motion.a))
    return replace(motion, q=q, v=v, a=a)


def _shifted(values: Array, time: Array, shift: float) -> Array:
    """Smooth columns, (K, ...), as they were `shift` before."""
    return make_interp_spline(time, values, k=1)(np.clip(time - shift, time[0], time[-1]))


def _array(values: Array | None) -> Array:
    if values is None:  # `smooth_motion` fills them
        raise SignalError("The motion has no velocities or accelerations.")
    return values
