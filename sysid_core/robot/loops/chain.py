# SPDX-License-Identifier: Apache-2.0
r"""Torques of the actuated joints of a closed chain, linear in the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from sysid_core.errors import IdentifiabilityError, ModelError
from sysid_core.robot.drives import DriveTrain
from sysid_core.robot.friction import FrictionModel
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops.assembly import ClosedMechanism
from sysid_core.robot.loops.mechanism import JointDrive


@dataclass(frozen=True, eq=False)
class ConstrainedMotion:
    """Motion of all joints of a closed chain that satisfies the loop closure; K samples.

    Attributes:
        q: Positions of all joints, shape (K, n) [rad].
        v: Velocities of all joints, shape (K, n) [rad/s].
        a: Accelerations of all joints, shape (K, n) [rad/s^2].
        G: Matrix G of `q̇ = G q̇_a`, shape (K, n, n_a).
    """

    q: Array
    v: Array
    a: Array
    G: Array

    def __len__(self) -> int:
        return len(self.q)

    def rows(self, rows: slice) -> ConstrainedMotion:
        """Return a copy with some of the samples."""
        return ConstrainedMotion(self.q[rows], self.v[rows], self.a[rows], self.G[rows])


class ClosedChain(ClosedMechanism):
    """Robot whose kinematic tree is closed by loops; without loops it is an open chain.

    Its torques are linear in the parameters of its bodies and drives.

    Attributes:
        model, loops, actuated, drives, home, box, measured, couplings: As in `Mechanism`; `home` has
            the shape (n,).
    """

    def motion(
        self,
        q_a: ArrayLike,
        v_a: ArrayLike,
        a_a: ArrayLike,
        *,
        q: ArrayLike | None = None,
        ordered: bool = True,
    ) -> ConstrainedMotion:
        r"""Return the motion of all joints from that of the actuated joints (Zhang et al. 2024, eq.
        18, 21, 22).

        Args:
            q_a: Positions of the actuated joints, shape (K, n_a) [rad].
            v_a: Velocities of the actuated joints, shape (K, n_a) [rad/s].
            a_a: Accelerations of the actuated joints, shape (K, n_a) [rad/s^2].
            q: Positions of all joints, with closed loops, shape (K, n) [rad]; None: solved for.
            ordered: True if the samples follow each other in time.

        Raises:
            ModelError: A loop cannot be closed.
        """
        v_a, a_a = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (v_a, a_a))
        if q is not None:
            q_all = np.asarray(q, dtype=float)
        else:
            q_all = self.assemble_along(q_a) if ordered else self.assemble(q_a)
        state = self.closure_state(q_all, v_a)
        a = np.einsum("kij,kj->ki", state.G, a_a) + state.drift
        return ConstrainedMotion(state.q, state.v, a, state.G)

    def parameter_names(self, drives: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of all columns of `regressor`: 10 per body, then 4 per
        drive.
        """
        return self.model.parameter_names + drive_friction(drives).names

    def inertial_regressor(self, motion: ConstrainedMotion) -> Array:
        """Return the projected regressor `G^T Y` of the rigid bodies (eq. 27), shape (K, n_a, 10
        n_bodies).
        """
        model = self.model.pin_model
        data = model.createData()
        q = self.model.configuration(motion.q)
        GY = np.empty((len(motion), self.n_actuated, 10 * self.model.n_bodies))
        G_T = np.ascontiguousarray(np.swapaxes(motion.G, 1, 2))
        for k in range(len(motion)):
            Y = pin.computeJointTorqueRegressor(model, data, q[k], motion.v[k], motion.a[k])
            np.matmul(G_T[k], Y, out=GY[k])
        return GY

    def drive_regressor(self, motion: ConstrainedMotion, drives: tuple[str, ...]) -> Array:
        """Return the regressor `G^T F` of friction and drives (eq. 7), with columns `[F_c, F_v,
        I_a, beta]` per joint.

        Args:
            motion: Motion of all joints, K samples.
            drives: Joints with a drive or friction, actuated or passive.

        Returns:
            Regressor, shape (K, n_a, 4 d) for d drives.

        Raises:
            ModelError: A joint is not part of the robot.
        """
        unknown = [name for name in drives if name not in self.model.joint_names]
        if unknown:
            raise ModelError(
                f"Friction was requested for joints {unknown}, which '{self.name}' does not have.",
                remedy=f"Joints: {', '.join(self.model.joint_names)}.",
            )
        columns = [self.model.joint_names.index(name) for name in drives]
        states = (x[:, columns] for x in (motion.q, motion.v, motion.a))
        return np.asarray(
            np.swapaxes(motion.G[:, columns], 1, 2) @ drive_friction(drives).regressor(*states)
        )

    def regressor(self, motion: ConstrainedMotion, drives: tuple[str, ...] | None = None) -> Array:
        """Return the regressor `G^T W` with `u = G^T W theta` (eq. 23); the inertial columns
        precede those of the drives.

        Zhang, Haugk and Vasudevan (2024), eqs. (10), (12), (23).

        Args:
            motion: Motion of all joints, K samples.
            drives: Joints with friction and drive columns; None: the actuated joints.

        Returns:
            Regressor, shape (K, n_a, 10 N + 4 d) for N bodies and d drives.
        """
        names = self.actuated if drives is None else drives
        return np.concatenate(
            [
                self.inertial_regressor(motion),
                self.drive_regressor(motion, names),
            ],
            axis=2,
        )

    def torques(self, motion: ConstrainedMotion) -> Array:
        """Return the torques of the actuated joints from the parameters of the chain and its
        drives, (K, n_a).

        The torques are computed by the recursive Newton-Euler algorithm and then projected, which
        is much faster than building the regressor.
        """
        tau = self.model.inverse_dynamics(motion.q, motion.v, motion.a)
        names = self.model.joint_names
        values = np.array([self.drive(name).values for name in names])  # (n, 4)
        tau = tau + FrictionModel.usual_torques(values, motion.v, motion.a)
        return np.einsum("kij,ki->kj", motion.G, tau)

    def actuated_inertia(self) -> Array:
        """Return the diagonal of the reduced mass matrix at the home posture, drives included,
        (n_a,) [kg m^2].
        """
        n = self.n_actuated
        q_a = np.tile(self.actuated_home, (n + 1, 1))
        a_a = np.vstack([np.zeros((1, n)), np.eye(n)])
        motion = self.motion(q_a, np.zeros_like(q_a), a_a, ordered=False)
        u = self.torques(motion)
        return np.diag(u[1:] - u[0]).copy()

    def with_parameters(self, names: Sequence[str], values: ArrayLike) -> ClosedChain:
        """Return a copy of a chain with drive parameters `joint.F_c` … and, if all are given,
        masses `link.m` ….

        Args:
            names: Names of the p estimated parameters.
            values: Values of the parameters, shape (p,) [SI].

        Raises:
            ModelError: The estimate contains no parameter of this chain, or not all parameters of
                its bodies.
        """
        by_name: dict[str, float] = dict(
            zip(names, np.asarray(values, dtype=float).tolist(), strict=True)
        )
        found = {}
        for joint in self.model.joint_names:
            own = {
                key: by_name[f"{joint}.{key}"]
                for key in JointDrive.NAMES
                if f"{joint}.{key}" in by_name
            }
            if len(own) == len(JointDrive.NAMES):
                found[joint] = replace(self.drive(joint), **own)
        inertial = self.model.parameter_names
        known = [name for name in inertial if name in by_name]
        if not found and not known:
            raise ModelError(
                f"The estimate has neither drives nor masses of '{self.name}'.",
                remedy="Give the estimate of this robot, with full parameters.",
            )
        if known and len(known) < len(inertial):
            raise ModelError(
                f"The estimate holds {len(known)} of {len(inertial)} inertial parameters: base"
                " parameters, not a model.",
                remedy="Identify with --method lmi, or complete them with `full_parameters`.",
            )
        out = self.with_drives(found)
        if known:
            pi = np.array([by_name[name] for name in inertial]).reshape(-1, 10)
            out = out.with_model(self.model.with_pi(pi))
        return out

    @property
    def coupled_drives(self) -> tuple[tuple[str, ...], ...]:
        """Return the groups of actuated joints that move the same passive joints."""
        q = self.assemble(self.actuated_home)
        touched = np.abs(self.loop_jacobian(q)[0]) > 1e-9  # (n_c, n)
        passive = touched[:, self.passive_columns].astype(int)
        count, group_of = connected_components(passive @ passive.T, directed=False)
        driven = np.sort(self.actuated_columns)
        names = np.array(self.model.joint_names)[driven]
        moved = (touched[group_of == k].any(axis=0)[driven] for k in range(count))
        groups = (tuple(names[together].tolist()) for together in moved)
        return tuple(group for group in groups if len(group) > 1)

    def random_postures(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Return random postures of all joints with closed loops, (K, n), within the excitation range
        of the file of kinematic loops, or else the limits of the driven joints.

        Raises:
            IdentifiabilityError: Hardly any posture closes the loops.
        """
        lower, upper = (limit[self.actuated_columns] for limit in self.model.position_limits)
        lower, upper = np.maximum(lower, -np.pi), np.minimum(upper, np.pi)
        shape = (2 * n_samples, self.n_actuated)
        postures: list[Array] = []
        for _ in range(20):
            if self.box is not None:
                q_a = self.box.positions(rng.uniform(-1.0, 1.0, shape))
            else:
                q_a = rng.uniform(lower, upper, shape)
            found = self.try_assemble(q_a)
            postures.append(found.q[found.assembled])
            if sum(map(len, postures)) >= n_samples:
                return np.concatenate(postures)[:n_samples]
        raise IdentifiabilityError(
            f"Only {sum(map(len, postures))} of {20 * shape[0]} random postures of '{self.name}'"
            " assemble.",
            remedy="Give a box of motion (`excitation`) in the file of kinematic loops, or tighter URDF joint limits.",
        )


def drive_friction(joints: Sequence[str]) -> FrictionModel:
    """Return the friction and drive torques of some joints (eq. 7), with the exact sign
    function.
    """
    return FrictionModel(DriveTrain.direct(joints), coulomb_velocity=0.0)
