# SPDX-License-Identifier: Apache-2.0
"""Motions that show what a robot holds: static postures, then an oscillation of the wrist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ExcitationError
from sysid_core.excitation.compose import MotionBuilder
from sysid_core.excitation.limits import MotionLimits
from sysid_core.excitation.motion_check import MotionChecker
from sysid_core.excitation.payload.information import (
    choose_tare_postures,
    log_determinant,
    payload_information,
)
from sysid_core.excitation.payload.motion import (
    AMPLITUDE,
    frequencies_for_speed,
    oscillation,
    wrist_columns,
)
from sysid_core.excitation.trajectory import Trajectory
from sysid_core.excitation.violations import MotionCheck
from sysid_core.robot import Array, RobotModel

MOVE_SHARE = 0.6  # of the limits, on the way from one posture to the next
MAX_TRIED = 60  # of the postures, best first, before giving up


@dataclass(frozen=True, eq=False)
class PayloadPlan:
    """A payload motion that passed its check.

    Attributes:
        trajectory: With segments `tare_1`…, `still`, `oscillation`, `settle` and moves between.
        check: The result of the check.
        posture: About which the wrist oscillates, shape (n,) [rad].
        wrist_joints: The three joints that oscillate.
        frequencies_hz: Frequencies of the three joints at full speed.
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
        raise ExcitationError(
            f"The position limits of {tight} leave no room for an oscillation of"
            f" {np.rad2deg(amplitude):.0f}°.",
            remedy="Plan with a smaller amplitude.",
        )
    drawn = rng.uniform(room_lower, room_upper, size=(n, len(lower)))
    return np.array([q for q in drawn if not checker.contacts(q)]).reshape(-1, len(lower))


def build_payload_motion(
    checker: MotionChecker,
    posture: ArrayLike,
    tare_postures: ArrayLike,
    frequencies_hz: tuple[float, float, float],
    *,
    duration: float,
    amplitude: float = AMPLITUDE,
    still: float = 1.0,
    rate_hz: float = 100.0,
    seed: int | None = None,
) -> Trajectory:
    """Static postures, a still phase, the oscillation and a still phase, joined by moves.

    Args:
        checker: Checker of the robot and its limits.
        posture: Centre of the oscillation, shape (n,).
        tare_postures: Shape (N, n); N may be 0.
        frequencies_hz: Frequencies of the three wrist joints.
        duration: Duration of the oscillation with its ramps [s].
        amplitude: [rad].
        still: Duration of every still phase [s].
        rate_hz: Rate of the samples.
        seed: That the postures were drawn with.

    Returns:
        The trajectory, not checked yet.
    """
    posture = np.asarray(posture, dtype=float)
    stations = np.asarray(tare_postures, dtype=float).reshape(-1, len(posture))
    builder = MotionBuilder(
        checker, stations[0] if len(stations) else posture, rate_hz=rate_hz, share=MOVE_SHARE
    )
    for i, station in enumerate(stations):
        builder.move_to(station)
        builder.rest(still, f"tare_{i + 1}")
    builder.move_to(posture)
    builder.rest(still, "still")
    columns = wrist_columns(checker.model, checker.limits.tcp_frame)
    motion = oscillation(
        posture, columns, frequencies_hz, duration, amplitude=amplitude, rate_hz=rate_hz
    )
    builder.play(*motion, "oscillation")
    builder.rest(still, "settle")
    return builder.build(seed=seed)


def plan_payload_motion(
    model: RobotModel,
    limits: MotionLimits | None = None,
    *,
    posture: ArrayLike | None = None,
    mean_angular_speed: float = 1.0,
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

    The posture is the one, among random ones without contact, that says most about the load
    (largest log-determinant of the information) and passes every limit.

    Args:
        model: The robot.
        limits: Default: those of the description, TCP speed 0.25 m/s.
        posture: Centre of the oscillation, shape (n,); default: chosen.
        mean_angular_speed: Mean angular speed of the last link [rad/s].
        duration: Duration of the oscillation with its ramps [s].
        amplitude: [rad].
        n_tare: Static postures, 0 for none, else at least 3.
        still: Duration of every still phase [s].
        rate_hz: Rate of the samples.
        seed: Makes the plan reproducible.
        n_candidates: Random postures to choose from.
        progress: Called with the share that is done.

    Raises:
        ExcitationError: No posture passes; the message names the limits in the way.
    """
    checker = MotionChecker(model, limits or MotionLimits.from_model(model))
    frame = checker.limits.tcp_frame
    columns = wrist_columns(model, frame)
    rng = np.random.default_rng(seed)
    if posture is None:
        candidates = _candidate_postures(checker, columns, amplitude, n_candidates, rng)
    else:
        candidates = np.asarray(posture, dtype=float).reshape(1, -1)
    report = progress or (lambda share: None)
    make = _Motion(checker, columns, mean_angular_speed, duration, amplitude, still, rate_hz)
    ranked = []
    for i, q in enumerate(candidates):
        ranked.append((make.information(q), i))
        report(0.5 * (i + 1) / len(candidates))
    ranked.sort(key=lambda item: (-item[0], item[1]))
    best = [candidates[i] for _, i in ranked[:MAX_TRIED]]
    return _first_safe(make, best, n_tare, rng, seed, lambda share: report(0.5 + 0.5 * share))


def _first_safe(
    make: _Motion,
    postures: Sequence[Array],
    n_tare: int,
    rng: np.random.Generator,
    seed: int,
    report: Callable[[float], None],
) -> PayloadPlan:
    """The motion about the first posture in which it passes every limit."""
    checker = make.checker
    names = checker.model.joint_names
    last: MotionCheck | None = None
    for n_tried, q in enumerate(postures):
        report(n_tried / len(postures))
        last = checker.check(make.trajectory(q, []), stop_early=True)
        if not last.is_safe:
            continue
        tare = choose_tare_postures(checker, q, n_tare, rng) if n_tare else np.empty((0, len(q)))
        trajectory = make.trajectory(q, tare, seed)
        last = checker.check(trajectory, stop_early=True)
        if last.is_safe:
            a, b, c = (names[j] for j in make.columns)
            speed = make.mean_angular_speed
            return PayloadPlan(trajectory, last, q, (a, b, c), make.frequencies(q), speed)
    reasons = "" if last is None else "; ".join(str(v) for v in last.violations[:4])
    raise ExcitationError(
        f"None of {len(postures)} postures of '{checker.model.name}' allows a payload motion of"
        f" {make.mean_angular_speed:.2f} rad/s. In the last one: {reasons or 'contact everywhere'}.",
        remedy="Lower the angular speed or the amplitude, raise the TCP speed limit, or give a posture.",
        violations=() if last is None else last.violations,
    )


@dataclass(frozen=True, eq=False)
class _Motion:
    """How the payload motion is made about any posture; the fields are `plan_payload_motion`'s."""

    checker: MotionChecker
    columns: NDArray[np.intp]
    mean_angular_speed: float
    duration: float
    amplitude: float
    still: float
    rate_hz: float

    def frequencies(self, q: Array) -> tuple[float, float, float]:
        """Frequencies of the wrist's joints that give the speed [Hz]."""
        model, frame = self.checker.model, self.checker.limits.tcp_frame
        speed = self.mean_angular_speed
        return frequencies_for_speed(model, frame, q, speed, amplitude=self.amplitude)

    def information(self, q: Array) -> float:
        """Logarithm of the determinant of what the oscillation says about the load."""
        _, *motion = oscillation(
            q,
            self.columns,
            self.frequencies(q),
            self.duration,
            amplitude=self.amplitude,
            rate_hz=5.0,
        )
        model, frame = self.checker.model, self.checker.limits.tcp_frame
        return log_determinant(payload_information(model, frame, *motion))

    def trajectory(self, q: Array, tare: ArrayLike, seed: int | None = None) -> Trajectory:
        """Tare postures, standstill and oscillation about a posture."""
        return build_payload_motion(
            self.checker,
            q,
            tare,
            self.frequencies(q),
            duration=self.duration,
            amplitude=self.amplitude,
            still=self.still,
            rate_hz=self.rate_hz,
            seed=seed,
        )
