# SPDX-License-Identifier: Apache-2.0
r"""Several links in a row that one coordinate moves, such as the phalanges of a finger.

Their velocities `v_j = X_j(q) v_p + J_j(q) q'` have no constant free mode, so that remark 11 of the
paper doesn't reach them. All conditions are analytic in the one coordinate q and lie in a function
space of finite dimension (products of few exponentials): they hold for every q when they hold at
enough different values of it. These values are the only sampling in this room's structural part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sysid_core.identifiability.rpna.spatial import motion_transforms, parameter_transforms
from sysid_core.robot import Array, wrench_regressor

N_VALUES = 64  # of q at which the functions of a coupled joint are sampled
_REACH = 2.5  # [rad, or natural lengths]: the values of q lie within this of zero


@dataclass(frozen=True, eq=False, slots=True)
class CoupledChain:
    """Members in the order of the bodies, parents first; natural units.

    Attributes:
        carriers: Member that carries each one, -1 for the link that carries the group.
        poses: Poses of each member in its carrier at q = 0, each (4, 4).
        modes: Free mode per unit of q in each member's frame, each (6,).
    """

    carriers: Sequence[int]
    poses: Sequence[Array]
    modes: Sequence[Array]

    def at(self, q: float) -> tuple[Array, Array, Array, Array]:
        """The maps at one value of the coordinate; m members.

        Returns:
            X (m, 6, 6), J (m, 6), B (m, 10, 10), and `momenta` (m, 6, 10) with I(pi) J.
        """
        poses: list[Array] = []
        J: list[Array] = []
        for carrier, pose, mode in zip(self.carriers, self.poses, self.modes, strict=True):
            step = pose @ np.asarray(pin.exp6(pin.Motion(q * mode)).homogeneous)
            if carrier < 0:
                poses.append(step)
                J.append(mode)
            else:
                poses.append(poses[carrier] @ step)
                J.append(motion_transforms(step[None])[0] @ J[carrier] + mode)
        T, Js = np.array(poses), np.array(J)
        momenta = wrench_regressor(Js[:, :3], np.zeros_like(Js[:, :3]), Js[:, 3:])
        return motion_transforms(T), Js, parameter_transforms(T), momenta

    def conditions(
        self, V_p: Array, K_p: Array, static: bool
    ) -> tuple[list[Array], Array, Array, Array]:
        """What the group adds to the recursion.

        Args:
            V_p: Velocity span of the carrying link, shape (6, k).
            K_p: Parameter span of the carrying link, shape (10, l).
            static: Whether only resting postures count.

        Returns:
            Columns of each member's velocity span, each (6, ...); columns of the parameter span of
            all, (10 m, ...); the momentum and mapping conditions, (..., 10 m); B at zero, (10, 10 m).
        """
        m = len(self.poses)
        golden = 0.5 * (np.sqrt(5.0) - 1.0)
        values = _REACH * (2.0 * np.mod(golden * np.arange(1, N_VALUES + 1), 1.0) - 1.0)
        _, _, B_0, _ = self.at(0.0)
        velocities: list[list[Array]] = [[] for _ in range(m)]
        spans, conditions = [], []
        for q in values:
            X, J, B, momenta = self.at(float(q))
            columns = [
                X[j] @ V_p if static else np.column_stack([X[j] @ V_p, J[j]]) for j in range(m)
            ]
            for j in range(m):
                velocities[j].append(columns[j])
            momentum = np.hstack([columns[j].T @ momenta[j] for j in range(m)])
            spans += [np.hstack([K_p.T @ B[j] for j in range(m)]), momentum]
            conditions += [momentum, np.hstack([K_p.T @ (B[j] - B_0[j]) for j in range(m)])]
        scale = 1.0 / np.sqrt(N_VALUES)
        return (
            [scale * np.hstack(columns) for columns in velocities],
            scale * np.vstack(spans).T,
            scale * np.vstack(conditions),
            np.hstack(list(B_0)),
        )
