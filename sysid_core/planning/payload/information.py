# SPDX-License-Identifier: Apache-2.0
"""Information matrix of a motion about a payload, and the most informative static postures."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.payload.motion import wrist_columns
from sysid_core.planning.ties import first_best
from sysid_core.robot import Array, RobotModel, wrench_regressor

# What makes force and torque comparable: noise (moderate, of Nadeau, Giamou and Kelly 2022) and
# the size of a typical load.
FORCE_NOISE, TORQUE_NOISE = 0.1, 0.005  # [N], [N m]
TYPICAL_MASS, TYPICAL_LENGTH = 1.0, 0.1  # [kg], [m]
LOAD_SCALE = TYPICAL_MASS * np.array([1.0] + [TYPICAL_LENGTH] * 3 + [TYPICAL_LENGTH**2] * 6)
BIAS_SCALE = (1.0, 0.1)  # [N], [N m]
TARE_MARGIN = 0.1  # [rad], of static postures from the planned range


def payload_information(
    model: RobotModel, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    r"""Information matrix of a motion about a payload held at a frame.

    With independent wrench noise of `FORCE_NOISE` and `TORQUE_NOISE` per sample.

    Args:
        model: The robot.
        frame: Frame of the force-torque sensor.
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


def log_determinant(information: Array) -> float:
    """Log-determinant of the information matrix (10, 10), in units of a typical payload, with a
    small prior to keep it finite.
    """
    return float(np.linalg.slogdet(information * np.outer(LOAD_SCALE, LOAD_SCALE) + 1e-12)[1])


def choose_tare_postures(
    checker: MotionChecker, posture: ArrayLike, n_postures: int, rng: np.random.Generator
) -> Array:
    """Static postures of the wrist that separate the bias of the sensor from the weight of the load
    best.

    Greedily maximises the information about six bias components, mass and first moment.

    Args:
        checker: Checker of the robot and its limits.
        posture: The other joints stay here, shape (n,).
        n_postures: At least 3; fewer can't separate bias and weight.
        rng: Draws the candidates.

    Returns:
        Shape (n_postures, n), ordered for short ways.

    Raises:
        ExcitationError: Fewer than three postures, or no candidates without contact.
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
            remedy="Free the space around the robot, start elsewhere, or check the cell's obstacles.",
        )
    still = np.zeros_like(drawn)
    gravity = model.frame_motion(frame, drawn, still, still).gravity
    A = np.zeros((len(drawn), 6, 10))
    A[:, :, :6] = np.diag([BIAS_SCALE[0]] * 3 + [BIAS_SCALE[1]] * 3)
    A[:, :, 6:] = wrench_regressor(-gravity, still[:, :3], still[:, :3])[:, :, :4] * LOAD_SCALE[:4]
    A /= np.array([FORCE_NOISE] * 3 + [TORQUE_NOISE] * 3)[:, None]
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
