# SPDX-License-Identifier: Apache-2.0
r"""Torques of the actuated joints of a closed chain, linear in the parameters: `u = G^T W theta`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import INERTIAL_UNITS, Array
from sysid_core.robot.loops.actuation import closure_state
from sysid_core.robot.loops.assembly import assemble, assemble_along
from sysid_core.robot.loops.chain import ClosedChain
from sysid_core.robot.regressor import inertial_parameter_names

DRIVE_NAMES = ("F_c", "F_v", "I_a", "beta")
DRIVE_UNITS = ("N m", "N m s/rad", "kg m^2", "N m")


@dataclass(frozen=True, eq=False)
class ConstrainedMotion:
    """Consistent motion of all joints of a closed chain; K samples.

    Attributes:
        q: Shape (K, n) [rad].
        v: Shape (K, n).
        a: Shape (K, n).
        G: `q̇ = G q̇_a`, shape (K, n, n_a).
    """

    q: Array
    v: Array
    a: Array
    G: Array

    def __len__(self) -> int:
        return len(self.q)

    def rows(self, rows: slice) -> ConstrainedMotion:
        """Some of the samples."""
        return ConstrainedMotion(self.q[rows], self.v[rows], self.a[rows], self.G[rows])


def constrained_motion(
    chain: ClosedChain,
    q_a: ArrayLike,
    v_a: ArrayLike,
    a_a: ArrayLike,
    *,
    q: ArrayLike | None = None,
    ordered: bool = True,
) -> ConstrainedMotion:
    r"""All joints' motion from the actuated ones' (Zhang et al. 2024, eq. 18, 21, 22).

    Args:
        chain: The mechanism.
        q_a: Actuated positions, shape (K, n_a).
        v_a: Velocities, shape (K, n_a).
        a_a: Accelerations, shape (K, n_a).
        q: All positions where they are known already, shape (K, n): they must close the loops.
        ordered: Whether the samples follow each other in time.

    Raises:
        ModelError: A loop doesn't assemble.
    """
    v_a, a_a = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (v_a, a_a))
    if q is not None:
        q_all = np.asarray(q, dtype=float)
    else:
        q_all = assemble_along(chain, q_a) if ordered else assemble(chain, q_a)
    state = closure_state(chain, q_all, v_a)
    a = np.einsum("kij,kj->ki", state.G, a_a) + state.drift
    return ConstrainedMotion(state.q, state.v, a, state.G)


def drive_parameter_names(joints: tuple[str, ...]) -> tuple[str, ...]:
    """Names such as `knee.F_c`, four per joint."""
    return tuple(f"{joint}.{name}" for joint in joints for name in DRIVE_NAMES)


def constrained_parameter_names(chain: ClosedChain, drives: tuple[str, ...]) -> tuple[str, ...]:
    """Names of all columns of `projected_regressor`: 10 per body, then 4 per drive."""
    return inertial_parameter_names(chain.model) + drive_parameter_names(drives)


def constrained_parameter_units(chain: ClosedChain, drives: tuple[str, ...]) -> tuple[str, ...]:
    """Their units."""
    return INERTIAL_UNITS * chain.model.n_bodies + DRIVE_UNITS * len(drives)


def projected_inertial_regressor(chain: ClosedChain, motion: ConstrainedMotion) -> Array:
    """`G^T Y` of the rigid bodies (eq. 27), shape (K, n_a, 10 n_bodies)."""
    model = chain.model.pin_model
    data = model.createData()
    q = chain.model.configuration(motion.q)
    GY = np.empty((len(motion), chain.n_actuated, 10 * chain.model.n_bodies))
    G_T = np.ascontiguousarray(np.swapaxes(motion.G, 1, 2))
    for k in range(len(motion)):
        Y = pin.computeJointTorqueRegressor(model, data, q[k], motion.v[k], motion.a[k])
        np.matmul(G_T[k], Y, out=GY[k])
    return GY


def projected_drive_regressor(
    chain: ClosedChain, motion: ConstrainedMotion, drives: tuple[str, ...]
) -> Array:
    """`G^T F` of friction and drive (eq. 7), columns `[F_c, F_v, I_a, beta]` per joint.

    Args:
        chain: The mechanism.
        motion: K samples.
        drives: Joints with a drive or friction, actuated or passive.

    Returns:
        Shape (K, n_a, 4 d) for d drives.

    Raises:
        ModelError: A joint isn't in the robot.
    """
    unknown = [name for name in drives if name not in chain.model.joint_names]
    if unknown:
        raise ModelError(
            f"Friction was asked for joints {unknown} that '{chain.name}' doesn't have.",
            remedy=f"Joints: {', '.join(chain.model.joint_names)}.",
        )
    columns = [chain.model.joint_names.index(name) for name in drives]
    v, a = motion.v[:, columns], motion.a[:, columns]
    basis = np.stack([np.sign(v), v, a, np.ones_like(v)], axis=2)  # (K, drives, 4)
    GF = motion.G[:, columns].transpose(0, 2, 1)[:, :, :, None] * basis[:, None]
    return GF.reshape(len(motion), chain.n_actuated, 4 * len(drives))


def projected_regressor(
    chain: ClosedChain, motion: ConstrainedMotion, drives: tuple[str, ...] | None = None
) -> Array:
    """`G^T W` with `u = G^T W theta` (eq. 23), inertial columns before the drives'.

    Zhang, Haugk and Vasudevan (2024), eqs. (10), (12), (23).

    Args:
        chain: The mechanism.
        motion: K samples.
        drives: Joints with friction and drive columns; default: the actuated ones.

    Returns:
        Shape (K, n_a, 10 N + 4 d) for N bodies and d drives.
    """
    names = chain.actuated if drives is None else drives
    return np.concatenate(
        [
            projected_inertial_regressor(chain, motion),
            projected_drive_regressor(chain, motion, names),
        ],
        axis=2,
    )


def constrained_torques(chain: ClosedChain, motion: ConstrainedMotion) -> Array:
    """Torques of the actuated joints with the chain's own parameters and drives, (K, n_a).

    Much faster than building the regressor: recursive Newton-Euler, then the projection.
    """
    tau = chain.model.inverse_dynamics(motion.q, motion.v, motion.a)
    names = chain.model.joint_names
    values = np.array([chain.drive(name).values for name in names])  # (n, 4)
    tau = tau + np.sign(motion.v) * values[:, 0] + motion.v * values[:, 1]
    tau += motion.a * values[:, 2] + values[:, 3]
    return np.einsum("kij,ki->kj", motion.G, tau)


def actuated_inertia(chain: ClosedChain) -> Array:
    """Diagonal of the reduced mass matrix at the home posture, drives included, (n_a,) [kg m^2]."""
    n = chain.n_actuated
    q_a = np.tile(chain.actuated_home, (n + 1, 1))
    a_a = np.vstack([np.zeros((1, n)), np.eye(n)])
    motion = constrained_motion(chain, q_a, np.zeros_like(q_a), a_a, ordered=False)
    u = constrained_torques(chain, motion)
    return np.diag(u[1:] - u[0]).copy()
