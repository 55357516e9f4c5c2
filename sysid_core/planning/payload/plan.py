# SPDX-License-Identifier: Apache-2.0
"""Planning of payload motions: static postures, then an oscillation of the wrist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ExcitationError
from sysid_core.planning.bases import SHARE
from sysid_core.planning.design.excitation_problem import all_in_contact
from sysid_core.planning.limits import MotionLimits
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.payload.motion import (
    AMPLITUDE,
    WristSwing,
    oscillation,
    wrist_columns,
)
from sysid_core.planning.trajectory import Trajectory, first_best
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.planning.violations import LimitKind, MotionCheck, Violation
from sysid_core.robot import Array, RobotModel, wrench_regressor

# What makes force and torque comparable: noise (moderate, of Nadeau, Giamou and Kelly 2022) and
# the size of a typical load.
WRENCH_NOISE = np.array([0.1] * 3 + [0.005] * 3)  # [N], [N m]
TYPICAL_MASS, TYPICAL_LENGTH = 1.0, 0.1  # [kg], [m]
LOAD_SCALE = TYPICAL_MASS * np.array([1.0] + [TYPICAL_LENGTH] * 3 + [TYPICAL_LENGTH**2] * 6)
BIAS_SCALE = (1.0, 0.1)  # [N], [N m]
TARE_MARGIN = 0.1  # [rad], of static postures from the planned range
MOVE_SHARE = 0.6  # of the limits, on the way from one posture to the next
USUAL_SPEED = 1.0  # [rad/s], slowest mean angular speed in Nadeau, Giamou and Kelly (2022)
MAX_TRIED = 60  # of the postures, best first, before giving up


def payload_information(
    model: RobotModel, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    r"""Return the information matrix of a motion about a payload held at a frame.

    The wrench noise of the samples is assumed independent, with the standard deviations
    `WRENCH_NOISE`.

    Args:
        model: Robot model.
        frame: Frame of the force-torque sensor.
        q: Joint positions, shape (K, n) [rad or m].
        v: Joint velocities, shape (K, n) [rad/s or m/s].
        a: Joint accelerations, shape (K, n) [rad/s^2 or m/s^2].

    Returns:
        Information matrix, shape (10, 10), for the parameters in SI units.
    """
    motion = model.frame_motion(frame, q, v, a)
    A = wrench_regressor(motion.a, motion.omega, motion.alpha)
    A = A / WRENCH_NOISE[:, None]
    return np.einsum("kri,krj->ij", A, A)


def log_determinant(information: Array) -> float:
    """Return the log-determinant of the information matrix (10, 10), in units of a typical payload,
    with a small prior to keep it finite.
    """
    return float(np.linalg.slogdet(information * np.outer(LOAD_SCALE, LOAD_SCALE) + 1e-12)[1])


def choose_tare_postures(
    checker: MotionChecker, posture: ArrayLike, n_postures: int, rng: np.random.Generator
) -> Array:
    """Return the static postures of the wrist that separate the bias of the sensor from the weight
    of the load best.

    A greedy algorithm maximises the information about the six bias components, mass and first
    moment.

    Args:
        checker: Checker of motions against the robot's limits.
        posture: Posture in which the other joints remain, shape (n,) [rad].
        n_postures: Number of postures, at least 3; fewer cannot separate bias and weight.
        rng: Random generator of the candidates.

    Returns:
        Postures, shape (n_postures, n) [rad], ordered for short moves.

    Raises:
        ExcitationError: Fewer than three postures are requested, or there are no candidates without
            contact.
    """
    if n_postures < 3:
        raise ExcitationError(
            f"Bias and weight need 3 or more static postures, not {n_postures}.",
            remedy="Plan three postures or more.",
        )
    model, frame = checker.model, checker.limits.tcp_frame
    columns = wrist_columns(model, frame)
    lower = np.maximum(checker.limits.lower[columns] + TARE_MARGIN, -np.pi)
    upper = np.minimum(checker.limits.upper[columns] - TARE_MARGIN, np.pi)
    drawn = np.tile(np.asarray(posture, dtype=float), (200, 1))
    drawn[:, columns] = rng.uniform(lower, upper, size=(len(drawn), 3))
    drawn = np.array([q for q in drawn if not checker.contacts(q)])
    if len(drawn) < n_postures:
        raise ExcitationError(
            "Almost no posture of the wrist is free of contact.",
            remedy="Free the space around the robot, start in another posture, or check the cell's obstacles.",
        )
    still = np.zeros_like(drawn)
    gravity = model.frame_motion(frame, drawn, still, still).gravity
    A = np.zeros((len(drawn), 6, 10))
    A[:, :, :6] = np.diag([BIAS_SCALE[0]] * 3 + [BIAS_SCALE[1]] * 3)
    A[:, :, 6:] = wrench_regressor(-gravity, still[:, :3], still[:, :3])[:, :, :4] * LOAD_SCALE[:4]
    A /= WRENCH_NOISE[:, None]
    gains = np.einsum("kri,krj->kij", A, A)
    total, chosen = 1e-6 * np.eye(10), []
    for _ in range(n_postures):
        best = first_best(np.linalg.slogdet(total + gains)[1])
        total = total + gains[best]
        chosen.append(drawn[best])
    ordered, rest = [np.asarray(posture, dtype=float)], chosen
    while rest:
        nearness = [-np.max(np.abs(q - ordered[-1])) for q in rest]
        ordered.append(rest.pop(first_best(nearness)))
    return np.array(ordered[:0:-1])  # the nearest to the oscillation comes last


@dataclass(frozen=True, eq=False)
class PayloadMotion:
    """Construction of the payload motion about a given posture; fields as in `plan_payload_motion`."""

    checker: MotionChecker
    columns: NDArray[np.intp]
    mean_angular_speed: float | None
    duration: float
    amplitude: float
    still: float
    rate_hz: float

    def speed(self, q: Array) -> float:
        """Return the mean angular speed of the last link [rad/s].

        The default is `USUAL_SPEED`, or a lower speed if the wrist's velocity or acceleration
        limits require it.
        """
        if self.mean_angular_speed is not None:
            return self.mean_angular_speed
        omega = 2.0 * np.pi * np.array(self._swing(q, USUAL_SPEED).frequencies_hz)
        limits = self.checker.limits
        velocity = SHARE * limits.velocity[self.columns] / (self.amplitude * omega)
        acceleration = SHARE * limits.acceleration[self.columns] / (self.amplitude * omega**2)
        return USUAL_SPEED * float(min(1.0, velocity.min(), np.sqrt(acceleration.min())))

    def frequencies(self, q: Array) -> tuple[float, float, float]:
        """Return the frequencies of the wrist joints for the mean angular speed [Hz]."""
        return self._swing(q, self.speed(q)).frequencies_hz

    def _swing(self, q: Array, speed: float) -> WristSwing:
        model, frame = self.checker.model, self.checker.limits.tcp_frame
        return WristSwing.of_speed(model, frame, q, speed, amplitude=self.amplitude)

    def information(self, q: Array) -> float:
        """Return the log-determinant of the information matrix of the oscillation about the
        payload.
        """
        _, *motion = self._oscillation(q, 5.0)
        model, frame = self.checker.model, self.checker.limits.tcp_frame
        return log_determinant(payload_information(model, frame, *motion))

    def _oscillation(self, q: Array, rate_hz: float) -> tuple[Array, Array, Array, Array]:
        return oscillation(
            q,
            self.columns,
            self.frequencies(q),
            self.duration,
            amplitude=self.amplitude,
            rate_hz=rate_hz,
        )

    def trajectory(self, q: Array, tare: ArrayLike, seed: int | None = None) -> Trajectory:
        """Return static postures, shape (N, n), a rest, the oscillation about a posture and a rest,
        connected by moves; not checked yet.
        """
        stations = np.asarray(tare, dtype=float).reshape(-1, len(q))
        builder = MotionBuilder(
            self.checker,
            stations[0] if len(stations) else q,
            rate_hz=self.rate_hz,
            share=MOVE_SHARE,
        )
        for i, station in enumerate(stations):
            builder.move_to(station)
            builder.rest(self.still, f"tare_{i + 1}")
        builder.move_to(q)
        builder.rest(self.still, "still")
        builder.play(*self._oscillation(q, self.rate_hz), "oscillation")
        builder.rest(self.still, "settle")
        return builder.build(seed=seed)


@dataclass(frozen=True, eq=False)
class PayloadPlan:
    """Payload motion that passed its check.

    Attributes:
        trajectory: Trajectory with the segments `tare_1`…, `still`, `oscillation` and `settle`, and
            moves between them.
        check: Result of the check.
        posture: Posture about which the wrist oscillates, shape (n,) [rad].
        wrist_joints: Names of the three joints that oscillate.
        frequencies_hz: Frequencies of the three joints at full speed [Hz].
        mean_angular_speed: Mean angular speed of the last link at full speed [rad/s].
    """

    trajectory: Trajectory
    check: MotionCheck
    posture: Array
    wrist_joints: tuple[str, str, str]
    frequencies_hz: tuple[float, float, float]
    mean_angular_speed: float


def _candidate_postures(
    checker: MotionChecker, columns: Array, amplitude: float, n: int, rng: np.random.Generator
) -> Array:
    """Random postures without contact whose wrist has room for the oscillation."""
    limits = checker.limits
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    room_lower, room_upper = lower.copy(), upper.copy()
    room_lower[columns] = np.maximum(limits.lower[columns] + amplitude, -np.pi)
    room_upper[columns] = np.minimum(limits.upper[columns] - amplitude, np.pi)
    tight = [checker.model.joint_names[j] for j in columns if room_lower[j] > room_upper[j]]
    if tight:
        room = 0.5 * float(np.min(np.minimum(limits.upper - limits.lower, 2.0 * np.pi)[columns]))
        raise ExcitationError(
            f"The position limits of {tight} leave no room for an oscillation of"
            f" {np.rad2deg(amplitude):.0f}°.",
            remedy=f"Plan with an amplitude of at most {np.floor(np.rad2deg(room)):.0f}°, or lock these"
            " joints if they are a gripper's.",
        )
    drawn = rng.uniform(room_lower, room_upper, size=(n, len(lower)))
    return np.array([q for q in drawn if not checker.contacts(q)]).reshape(-1, len(lower))


def plan_payload_motion(
    model: RobotModel,
    limits: MotionLimits | None = None,
    *,
    posture: ArrayLike | None = None,
    mean_angular_speed: float | None = None,
    duration: float = 15.0,
    amplitude: float = AMPLITUDE,
    n_tare: int = 4,
    still: float = 1.0,
    rate_hz: float = 100.0,
    seed: int = 0,
    n_candidates: int = 200,
    progress: Callable[[float], None] | None = None,
) -> PayloadPlan:
    """Plan and check a payload motion for an arm.

    Among random postures without contact in which the motion respects all limits, the one with the
    most information about the load (largest log-determinant) is selected.

    Args:
        model: Robot model.
        limits: Motion limits; None: those of the description, TCP speed 0.25 m/s.
        posture: Centre of the oscillation, shape (n,) [rad]; None: chosen.
        mean_angular_speed: Mean angular speed of the last link [rad/s]; None: 1 rad/s, or what
            the velocity and acceleration limits of the wrist joints allow.
        duration: Duration of the oscillation with its ramps [s].
        amplitude: Amplitude of the oscillation of each joint [rad].
        n_tare: Number of static postures; 0: none, otherwise at least 3.
        still: Duration of every still phase [s].
        rate_hz: Sampling rate [Hz].
        seed: Seed of the random numbers; the plan is reproducible, on one computer bit for bit.
        n_candidates: Number of random postures to choose from.
        progress: Function that is called with the completed share.

    Raises:
        ExcitationError: No posture passes the check; the message lists the limits concerned.
    """
    checker = MotionChecker(model, limits or MotionLimits.from_model(model))
    frame = checker.limits.tcp_frame
    columns = wrist_columns(model, frame)
    rng = np.random.default_rng(seed)
    if posture is None:
        candidates = _candidate_postures(checker, columns, amplitude, n_candidates, rng)
        if not len(candidates):
            raise all_in_contact(checker, n_candidates)
    else:
        candidates = np.asarray(posture, dtype=float).reshape(1, -1)
    report = progress or (lambda share: None)
    make = PayloadMotion(checker, columns, mean_angular_speed, duration, amplitude, still, rate_hz)
    ranked = []
    for i, q in enumerate(candidates):
        ranked.append((make.information(q), i))
        report(0.5 * (i + 1) / len(candidates))
    ranked.sort(key=lambda item: (-item[0], item[1]))
    best = [candidates[i] for _, i in ranked[:MAX_TRIED]]
    return _first_safe(make, best, n_tare, rng, seed, lambda share: report(0.5 + 0.5 * share))


def _first_safe(
    make: PayloadMotion,
    tries: Sequence[Array],
    n_tare: int,
    rng: np.random.Generator,
    seed: int,
    report: Callable[[float], None],
) -> PayloadPlan:
    """Motion about the first of some postures in which the motion respects every limit."""
    checker = make.checker
    names = checker.model.joint_names
    blame: list[tuple[Violation, ...]] = []
    for n_tried, q in enumerate(tries):
        report(n_tried / len(tries))
        last = checker.check(make.trajectory(q, []), stop_early=True)
        if not last.is_safe:
            blame.append(last.violations)
            continue
        tare = choose_tare_postures(checker, q, n_tare, rng) if n_tare else np.empty((0, len(q)))
        trajectory = make.trajectory(q, tare, seed)
        last = checker.check(trajectory, stop_early=True)
        if last.is_safe:
            a, b, c = (names[j] for j in make.columns)
            return PayloadPlan(trajectory, last, q, (a, b, c), make.frequencies(q), make.speed(q))
        blame.append(last.violations)
    kinds = Counter(kind for broken in blame for kind in {v.kind.value for v in broken})
    counted = [b for b in blame if all(v.kind is not LimitKind.CONTACT for v in b)]
    nearest = min(counted, default=(), key=lambda b: max(v.excess / (abs(v.limit) or 1) for v in b))
    least = "; ".join(v.demand for v in nearest)
    raise ExcitationError(
        f"None of {len(tries)} postures of '{checker.model.name}' allows a payload motion of"
        f" {make.speed(tries[-1]):.2f} rad/s. Limiting:"
        f" {', '.join(f'{kind} ({n} times)' for kind, n in kinds.most_common())}."
        + (f" Nearest: {least}." if least else ""),
        remedy="Lower the angular speed or the amplitude, widen the violated limit, or give a posture.",
        violations=tuple(v for broken in blame for v in broken),
    )
