"""Motions that tell what a robot holds: static postures, then an oscillation of the wrist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ExcitationError
from sysid_core.excitation.compose import MotionBuilder
from sysid_core.excitation.limits import MotionLimits
from sysid_core.excitation.motion_check import MotionCheck, MotionChecker
from sysid_core.excitation.trajectory import Trajectory
from sysid_core.excitation.transfer import minimum_jerk, sample_times
from sysid_core.robot import Array, RobotModel, wrench_regressor

# Nadeau, Giamou and Kelly 2022, section V-A: alpha_n + 45 deg sin(2 pi f_n t / 240).
FREQUENCY_RATIO = (0.1, 0.13, 0.16)
AMPLITUDE = np.pi / 4.0  # [rad]
MOVE_SHARE = 0.6  # of the limits, on the way from one posture to the next
TARE_MARGIN = 0.1  # [rad], of static postures from the planned range
MAX_TRIED = 60  # of the postures, best first, before giving up
PHASE_PERIOD = 100.0  # after which all three sines repeat

# What makes force and torque comparable: noise (spec 4, moderate) and the size of a typical load.
FORCE_NOISE, TORQUE_NOISE = 0.1, 0.005  # [N], [N m]
TYPICAL_MASS, TYPICAL_LENGTH = 1.0, 0.1  # [kg], [m]
BIAS_SCALE = (1.0, 0.1)  # [N], [N m]


@dataclass(frozen=True, eq=False)
class PayloadPlan:
    """A payload motion that passed its check.

    Attributes:
        trajectory: With segments `tare_1`…, `still`, `oscillation`, `settle` and moves between.
        check: The result of the check.
        posture: About which the wrist oscillates, shape (n,) [rad].
        wrist_joints: The three joints that oscillate.
        frequencies_hz: Of the three joints at full speed.
        mean_angular_speed: Of the last link at full speed [rad/s].
    """

    trajectory: Trajectory
    check: MotionCheck
    posture: Array
    wrist_joints: tuple[str, str, str]
    frequencies_hz: tuple[float, float, float]
    mean_angular_speed: float


def wrist_columns(model: RobotModel, frame: str) -> NDArray[np.intp]:
    """Columns of the last three joints on the way to a frame, shape (3,).

    Raises:
        ExcitationError: There are fewer than three, or joints with several degrees of freedom.
    """
    joint = model.pin_model.frames[model.frame_id(frame)].parentJoint
    chain = [int(j) for j in model.pin_model.supports[joint] if j > 0]
    if len(chain) < 3 or any(model.pin_model.joints[j].nv != 1 for j in chain[-3:]):
        raise ExcitationError(
            f"The way to '{frame}' has {len(chain)} joints; a payload motion needs three single"
            " joints behind one another.",
            remedy="Give the frame of the sensor or tool as TCP frame.",
        )
    return np.array([model.pin_model.joints[j].idx_v for j in chain[-3:]], dtype=np.intp)


def oscillation(
    posture: ArrayLike,
    columns: ArrayLike,
    frequencies_hz: ArrayLike,
    duration: float,
    *,
    amplitude: ArrayLike = AMPLITUDE,
    ramp: float = 1.0,
    rate_hz: float = 100.0,
) -> tuple[Array, Array, Array, Array]:
    r"""Sines of some joints, `alpha + A sin(2 pi f phi(t))`, starting and ending at rest.

    The phase speed rises and falls along a minimum-jerk profile, so the path stays that of the
    sines, velocity and acceleration vanish at both ends, and no velocity exceeds the sines'.

    Args:
        posture: Centre of the oscillation and start of the motion, shape (n,) [rad].
        columns: The m joints that move, shape (m,).
        frequencies_hz: Shape (m,).
        duration: Including both ramps [s].
        amplitude: One for all, or shape (m,) [rad].
        ramp: Duration of each ramp, at most half of the whole [s].
        rate_hz: Of the samples.

    Returns:
        time (K,), q, v and a (K, n).
    """
    posture, columns = np.asarray(posture, dtype=float), np.asarray(columns, dtype=int)
    ramp = min(ramp, duration / 2.0)
    time = sample_times(duration, rate_hz)

    def area(s: Array) -> Array:
        """Integral of the minimum-jerk profile from 0 to s."""
        return s**4 * (2.5 - 3.0 * s + s**2)

    rise, fall = np.clip(time / ramp, 0, 1), np.clip((duration - time) / ramp, 0, 1)
    speed = np.minimum(minimum_jerk(rise)[0], minimum_jerk(fall)[0])
    slope = (minimum_jerk(rise)[1] - minimum_jerk(fall)[1]) / ramp
    phase = np.where(time <= ramp, ramp * area(rise), time - ramp / 2.0)
    phase = np.where(time > duration - ramp, duration - ramp * (1.0 + area(fall)), phase)
    amplitude = np.asarray(amplitude, dtype=float)
    omega = 2.0 * np.pi * np.asarray(frequencies_hz, dtype=float)
    angle = omega * phase[:, None]
    q = np.tile(posture, (len(time), 1))
    v, a = np.zeros_like(q), np.zeros_like(q)
    q[:, columns] += amplitude * np.sin(angle)
    v[:, columns] = amplitude * omega * np.cos(angle) * speed[:, None]
    a[:, columns] = amplitude * (
        omega * np.cos(angle) * slope[:, None] - (omega * speed[:, None]) ** 2 * np.sin(angle)
    )
    return time, q, v, a


def frequencies_for_speed(
    model: RobotModel,
    frame: str,
    posture: ArrayLike,
    mean_angular_speed: float,
    *,
    ratio: tuple[float, float, float] = FREQUENCY_RATIO,
    amplitude: float = AMPLITUDE,
) -> tuple[float, float, float]:
    """Frequencies of the wrist joints that give the last link a mean angular speed.

    The mean is over the whole period of the three sines at full speed.

    Args:
        model: The robot.
        frame: Whose link is meant.
        posture: Centre of the oscillation, shape (n,).
        mean_angular_speed: [rad/s].
        ratio: Of the three frequencies.
        amplitude: [rad].

    Returns:
        Three frequencies [Hz].
    """
    columns = wrist_columns(model, frame)
    omega = 2.0 * np.pi * np.asarray(ratio)
    angle = omega * np.linspace(0.0, PHASE_PERIOD, 400, endpoint=False)[:, None]
    q = np.tile(np.asarray(posture, dtype=float), (len(angle), 1))
    v = np.zeros_like(q)
    q[:, columns] += amplitude * np.sin(angle)
    v[:, columns] = amplitude * omega * np.cos(angle)
    speed = np.linalg.norm(model.frame_motion(frame, q, v, np.zeros_like(q)).omega, axis=1).mean()
    scale = mean_angular_speed / float(speed)
    return (scale * ratio[0], scale * ratio[1], scale * ratio[2])


def payload_information(
    model: RobotModel, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    r"""Information of a motion about a load held at a frame, `A^T Sigma^-1 A`.

    With independent wrench noise of `FORCE_NOISE` and `TORQUE_NOISE` per sample.

    Args:
        model: The robot.
        frame: Of the force-torque sensor.
        q: Shape (K, n).
        v: Shape (K, n).
        a: Shape (K, n).

    Returns:
        Shape (10, 10), in the units of the parameter vector.
    """
    motion = model.frame_motion(frame, q, v, a)
    A = wrench_regressor(motion.a, motion.omega, motion.alpha)
    A = A / np.array([FORCE_NOISE] * 3 + [TORQUE_NOISE] * 3)[:, None]
    return np.einsum("kri,krj->ij", A, A)


_LOAD_SCALE = TYPICAL_MASS * np.array([1.0] + [TYPICAL_LENGTH] * 3 + [TYPICAL_LENGTH**2] * 6)


def _log_det(information: Array, scale: Array) -> float:
    return float(np.linalg.slogdet(information * np.outer(scale, scale) + 1e-12)[1])


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


def choose_tare_postures(
    checker: MotionChecker, posture: ArrayLike, n_postures: int, rng: np.random.Generator
) -> Array:
    """Static postures of the wrist that tell the sensor's bias from the load's weight best.

    Greedily maximises the information about six bias components, mass and first moment.

    Args:
        checker: Of the robot and its limits.
        posture: The other joints stay here, shape (n,).
        n_postures: At least 3; fewer can't separate bias and weight.
        rng: Draws the candidates.

    Returns:
        Shape (n_postures, n), ordered for short ways.

    Raises:
        ExcitationError: Fewer than three postures, or no candidates without contact.
    """
    if n_postures < 3:
        raise ExcitationError(f"Bias and weight need 3 or more static postures, not {n_postures}.")
    model, frame = checker.model, checker.limits.tcp_frame
    columns = wrist_columns(model, frame)
    lower = np.maximum(checker.limits.lower[columns] + TARE_MARGIN, -np.pi)
    upper = np.minimum(checker.limits.upper[columns] - TARE_MARGIN, np.pi)
    drawn = np.tile(np.asarray(posture, dtype=float), (200, 1))
    drawn[:, columns] = rng.uniform(lower, upper, size=(len(drawn), 3))
    drawn = np.array([q for q in drawn if not checker.contacts(q)])
    if len(drawn) < n_postures:
        raise ExcitationError("Hardly any wrist posture is free of contact here.")
    still = np.zeros_like(drawn)
    gravity = model.frame_motion(frame, drawn, still, still).gravity
    A = np.zeros((len(drawn), 6, 10))
    A[:, :, :6] = np.diag([BIAS_SCALE[0]] * 3 + [BIAS_SCALE[1]] * 3)
    A[:, :, 6:] = wrench_regressor(-gravity, still[:, :3], still[:, :3])[:, :, :4] * _LOAD_SCALE[:4]
    A /= np.array([FORCE_NOISE] * 3 + [TORQUE_NOISE] * 3)[:, None]
    gains = np.einsum("kri,krj->kij", A, A)
    total, chosen = 1e-6 * np.eye(10), []
    for _ in range(n_postures):
        best = int(np.argmax(np.linalg.slogdet(total + gains)[1]))
        total = total + gains[best]
        chosen.append(drawn[best])
    ordered, rest = [np.asarray(posture, dtype=float)], chosen
    while rest:
        distances = [np.max(np.abs(q - ordered[-1])) for q in rest]
        ordered.append(rest.pop(int(np.argmin(distances))))
    return np.array(ordered[:0:-1])  # the nearest to the oscillation comes last


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
        checker: Of the robot and its limits.
        posture: Centre of the oscillation, shape (n,).
        tare_postures: Shape (N, n); N may be 0.
        frequencies_hz: Of the three wrist joints.
        duration: Of the oscillation with its ramps [s].
        amplitude: [rad].
        still: Duration of every still phase [s].
        rate_hz: Of the samples.
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
        mean_angular_speed: Of the last link [rad/s].
        duration: Of the oscillation with its ramps [s].
        amplitude: [rad].
        n_tare: Static postures, 0 for none, else at least 3.
        still: Duration of every still phase [s].
        rate_hz: Of the samples.
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
    ranked = []
    for i, q in enumerate(candidates):
        frequencies = frequencies_for_speed(
            model, frame, q, mean_angular_speed, amplitude=amplitude
        )
        motion = oscillation(q, columns, frequencies, duration, amplitude=amplitude, rate_hz=5.0)
        ranked.append(
            (_log_det(payload_information(model, frame, *motion[1:]), _LOAD_SCALE), i, frequencies)
        )
        if progress is not None:
            progress(0.5 * (i + 1) / len(candidates))
    ranked.sort(key=lambda item: (-item[0], item[1]))
    ranked = ranked[:MAX_TRIED]
    last: MotionCheck | None = None
    for n_tried, (_, i, frequencies) in enumerate(ranked):
        if progress is not None:
            progress(0.5 + 0.5 * n_tried / len(ranked))
        q = candidates[i]
        core = build_payload_motion(
            checker,
            q,
            [],
            frequencies,
            duration=duration,
            amplitude=amplitude,
            still=still,
            rate_hz=rate_hz,
        )
        last = checker.check(core, stop_early=True)
        if not last.is_safe:
            continue
        tare = choose_tare_postures(checker, q, n_tare, rng) if n_tare else np.empty((0, len(q)))
        trajectory = build_payload_motion(
            checker,
            q,
            tare,
            frequencies,
            duration=duration,
            amplitude=amplitude,
            still=still,
            rate_hz=rate_hz,
            seed=seed,
        )
        last = checker.check(trajectory, stop_early=True)
        if last.is_safe:
            names = [model.joint_names[j] for j in columns]
            return PayloadPlan(
                trajectory, last, q, (names[0], names[1], names[2]), frequencies, mean_angular_speed
            )
    reasons = "" if last is None else "; ".join(str(v) for v in last.violations[:4])
    raise ExcitationError(
        f"None of {len(ranked)} postures of '{model.name}' allows a payload motion of"
        f" {mean_angular_speed:.2f} rad/s. In the last one: {reasons or 'contact everywhere'}.",
        remedy="Lower the angular speed or the amplitude, raise the TCP speed limit, or give a posture.",
        violations=() if last is None else last.violations,
    )
