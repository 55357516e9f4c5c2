# SPDX-License-Identifier: Apache-2.0
r"""Posture and velocity with closed loops that are nearest to measured ones.

Encoders on passive joints (the tarsus of Digit) are worth something: they replace a missing
actuated encoder, choose the branch, and reduce noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops.actuation import actuation_map
from sysid_core.robot.loops.assembly import assemble, assemble_along
from sysid_core.robot.loops.chain import ClosedChain

_STEPS = 8  # most Gauss-Newton steps; three settle what readings leave


def project_positions(chain: ClosedChain, names: Sequence[str], q: ArrayLike) -> Array:
    r"""Postures with closed loops nearest to measured positions, `argmin sum_j (q_j -
    measured_j)^2`, by Gauss-Newton in q_a.

    Args:
        chain: The mechanism.
        names: Measured joints, actuated or passive.
        q: Their positions, shape (K, m), in the order of time.

    Returns:
        All joints, shape (K, n), closing the loops.

    Raises:
        ModelError: Unknown joints, or they don't determine the posture.
    """
    columns, q = _measured(chain, names, q)
    K = len(q)
    start = np.tile(chain.actuated_home, (K, 1))
    for i, joint in enumerate(names):
        if joint in chain.actuated:
            start[:, chain.actuated.index(joint)] = q[:, i]
    posture = assemble_along(chain, start)
    for _ in range(_STEPS):
        S = _seen(chain, actuation_map(chain, posture)[:, columns], names)
        step = _least_squares(S, q - posture[:, columns])
        step = np.clip(step, -0.3, 0.3)
        target = posture[:, chain.actuated_columns] + step
        posture = assemble(chain, target, posture + _passive_step(chain, posture, step))
        if np.max(np.abs(step)) < 1e-12:
            break
    return posture


def project_velocities(
    chain: ClosedChain, posture: ArrayLike, names: Sequence[str], v: ArrayLike
) -> Array:
    """Velocities of the actuated joints that fit the measured velocities of all joints best, (K,
    n_a).

    Args:
        chain: The mechanism.
        posture: Closed postures, shape (K, n).
        names: Measured joints.
        v: Their velocities, shape (K, m).
    """
    columns, v = _measured(chain, names, v)
    S = _seen(chain, actuation_map(chain, posture)[:, columns], names)
    return _least_squares(S, v)


def _measured(
    chain: ClosedChain, names: Sequence[str], values: ArrayLike
) -> tuple[list[int], Array]:
    unknown = [name for name in names if name not in chain.model.joint_names]
    values = np.atleast_2d(np.asarray(values, dtype=float))
    if unknown or values.shape[1] != len(names):
        raise ModelError(
            f"Measured joints {list(names)} don't fit '{chain.name}' or {values.shape[1]} columns.",
            remedy=f"Joints: {', '.join(chain.model.joint_names)}.",
            unknown=unknown,
        )
    return [chain.model.joint_names.index(name) for name in names], values


def _seen(chain: ClosedChain, S: Array, names: Sequence[str]) -> Array:
    """The measured joints' rows of G, if they determine the motion."""
    s = np.linalg.svd(S, compute_uv=False)
    if S.shape[1] < chain.n_actuated or np.any(s[:, -1] < 1e-6 * s[:, 0]):
        missing = [joint for joint in chain.actuated if joint not in names]
        raise ModelError(
            f"The measured joints {list(names)} don't determine the posture of '{chain.name}'.",
            remedy=f"Measure {', '.join(missing) or 'more joints'} too, or passive joints that"
            " move with them.",
            missing=missing,
        )
    return S


def _least_squares(S: Array, y: Array) -> Array:
    S_T = np.swapaxes(S, 1, 2)
    return np.linalg.solve(S_T @ S, S_T @ y[:, :, None])[:, :, 0]


def _passive_step(chain: ClosedChain, posture: Array, step: Array) -> Array:
    return np.einsum("kij,kj->ki", actuation_map(chain, posture), step)
