# SPDX-License-Identifier: Apache-2.0
"""Effect of a body carried at a frame of the arm on the joint torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import Processing, filled, prepare, require_finite, require_torques
from sysid_core.estimation.estimate import ParameterVerdict
from sysid_core.identifiability import numerical_rank, random_states
from sysid_core.robot import (
    Array,
    FrictionModel,
    RobotModel,
    joint_torque_regressor,
    parameter_transform,
)
from sysid_core.signals import EffortKind, JointStream, Recording

RANK_TOLERANCE = 1e-6


def payload_torque_regressor(
    model: RobotModel, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    """Regressor of the joint torques of a body that is fixed to a frame, for its parameters in that
    frame.

    Args:
        model: The robot.
        frame: A link or frame of it.
        q: Joint positions, shape (K, nv).
        v: Velocities, shape (K, nv).
        a: Accelerations, shape (K, nv).

    Returns:
        Y_L, shape (K, nv, 10).
    """
    return joint_torque_regressor(model, q, v, a) @ carried_by(model, frame)


def carried_by(model: RobotModel, frame: str) -> Array:
    """Matrix from `pi` of a body in a frame to the parameters of all N bodies, shape (10 N, 10).

    Raises:
        EstimationError: The frame doesn't move.
    """
    placed = model.pin_model.frames[model.frame_id(frame)]
    body = int(placed.parentJoint) - 1
    if body < 0:
        raise EstimationError(
            f"'{frame}' is fixed to the base of '{model.name}': no joint carries it.",
            remedy="Give a frame on the moving part of the arm, such as the flange.",
        )
    out = np.zeros((10 * model.n_bodies, 10))
    out[10 * body : 10 * body + 10] = parameter_transform(placed.placement.homogeneous)
    return out


def with_load(model: RobotModel, frame: str, pi: ArrayLike) -> RobotModel:
    """Robot with an additional body fixed to one of its frames.

    Args:
        model: The robot without it.
        frame: What carries the body.
        pi: Its parameters in that frame, shape (10,).
    """
    added = carried_by(model, frame) @ np.asarray(pi, dtype=float)
    return model.with_pi(model.pi.ravel() + added)


def structural_verdicts(model: RobotModel, frame: str) -> tuple[int, tuple[ParameterVerdict, ...]]:
    """Structural rank of the ten load parameters at a frame of this arm, with a verdict for each."""
    states = random_states(model, 40, np.random.default_rng(0))
    Y = payload_torque_regressor(model, frame, *states).reshape(-1, 10)
    length = np.linalg.norm(Y, axis=0)
    unseen = length <= RANK_TOLERANCE * length.max(initial=1e-300)
    rank = numerical_rank(Y, RANK_TOLERANCE).rank
    kernel = np.linalg.svd(Y / np.where(unseen, np.inf, length))[2][rank:]
    leak = np.where(unseen, 0.0, np.linalg.norm(kernel, axis=0))
    return rank, tuple(
        ParameterVerdict.UNIDENTIFIABLE
        if none
        else (ParameterVerdict.COMBINATION if x > 1e-6 else ParameterVerdict.IDENTIFIABLE)
        for none, x in zip(unseen, leak, strict=True)
    )


def torque_streams(
    model: RobotModel,
    recording: Recording,
    friction: FrictionModel,
    processing: Processing,
) -> tuple[JointStream, ...]:
    """Filtered gapless spans of motion and joint torques, with trimmed ends, for
    `PayloadFromTorques`.

    Args:
        model: The robot.
        recording: Joint states with declared efforts.
        friction: Its drives turn efforts into torques.
        processing: Rates and cut-offs.
    """
    out = []
    for span in prepare(model, recording, friction, processing):
        trim = round(processing.end_trim * span.rate_hz)
        inside = slice(trim, len(span.tau) - trim)
        if len(span.tau) > 2 * trim + 2:
            motion = span.motion.select(inside)
            torque = EffortKind.ACTUATOR_TORQUE
            out.append(replace(motion, effort=span.tau[inside], effort_kind=torque))
    return tuple(out)


def require_filtered(stream: JointStream, source: str) -> None:
    """Raise an error for a stream without velocities, accelerations or true joint torques.

    Raises:
        SignalError: Says what is missing.
    """
    require_torques(stream, source)
    require_finite(stream, source)
    filled(stream.v), filled(stream.a)
