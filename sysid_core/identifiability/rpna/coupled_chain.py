# SPDX-License-Identifier: Apache-2.0
"""Chains with coupled joints: mimic joints, and transmissions shared by several axes.

Spatial vectors are in pinocchio's order, linear before angular. Everything is batched over a leading
axis and used in natural units, see `scaling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sysid_core.errors import IdentifiabilityError
from sysid_core.robot import (
    Array,
    RobotModel,
    pi_from_pseudo_inertia,
    pseudo_inertia_from_pi,
    skew,
    wrench_regressor,
)

# Unit pseudo-inertias U[l] = P(e_l), and W with pi_k = W[k] : P for symmetric P.
_UNIT = pseudo_inertia_from_pi(np.eye(10))
_READ = pi_from_pseudo_inertia(np.eye(16).reshape(16, 4, 4)).T.reshape(10, 4, 4)
_READ = 0.5 * (_READ + np.swapaxes(_READ, 1, 2))
# B = einsum("kab,nac,lcd,nbd->nkl", _READ, X, _UNIT, X), as one matrix product of size 256.
_CONGRUENCE = np.einsum("kab,lcd->abcdkl", _READ, _UNIT).reshape(256, 100)
# A(phi) = einsum over xi: xi P + P xi^T, linear in the 4x4 twist matrix xi.
_RATE = 2.0 * np.einsum("kab,lcb->ackl", _READ, _UNIT).reshape(16, 100)
N_VALUES = 64  # of q at which the functions of a coupled joint are sampled
_REACH = 2.5  # [rad, or natural lengths]: the values of q lie within this of zero


def motion_transforms(X_PC: Array) -> Array:
    r"""Return the transforms X of spatial velocities from the frame of the parent to that of the
    child, `v_C = X @ v_P`.

    Wensing, Niemeyer and Slotine (2023), eqs. (65), (66).

    Args:
        X_PC: Poses of the child in the parent, shape (n, 4, 4).

    Returns:
        Transforms X, shape (n, 6, 6).
    """
    Rt = np.swapaxes(X_PC[:, :3, :3], 1, 2)
    X = np.zeros((len(X_PC), 6, 6))
    X[:, :3, :3] = X[:, 3:, 3:] = Rt
    X[:, :3, 3:] = -Rt @ skew(X_PC[:, :3, 3])
    return X


def parameter_transforms(X_PC: Array) -> Array:
    r"""Return the maps of the ten parameters of a body from its frame to that of the parent (eq.
    39); (n, 4, 4) to (n, 10, 10).

    Wensing, Niemeyer and Slotine (2023), eqs. (39), (42).
    """
    pairs = X_PC[:, :, None, :, None] * X_PC[:, None, :, None, :]  # n a b c d: X_ac X_bd
    return (pairs.reshape(-1, 256) @ _CONGRUENCE).reshape(-1, 10, 10)


def parameter_rates(phi: Array) -> Array:
    r"""Return the rates of the ten parameters in the parent frame along a free mode of the joint
    (eq. 40).

    Wensing, Niemeyer and Slotine (2023), eqs. (13), (40).

    Args:
        phi: Free modes [v; omega], shape (n, 6).

    Returns:
        Matrices that map the ten parameters to their rates, shape (n, 10, 10).
    """
    twist = np.zeros((len(phi), 4, 4))
    twist[:, :3, :3] = skew(phi[:, 3:])
    twist[:, :3, 3] = phi[:, :3]
    return (twist.reshape(-1, 16) @ _RATE).reshape(-1, 10, 10)


def motion_crosses(phi: Array) -> Array:
    """Return the motion cross-product matrices, (n, 6) to (n, 6, 6).

    Wensing, Niemeyer and Slotine (2023), eq. (11): `d/dq X = -(phi x) X`.
    """
    W = skew(phi[:, 3:])
    out = np.zeros((len(phi), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = W
    out[:, :3, 3:] = skew(phi[:, :3])
    return out


@dataclass(frozen=True)
class CoupledGroup:
    """Joints that move with one coordinate q: `q_j = multiplier * q + offset`.

    Attributes:
        joints: Pinocchio's index, multiplier and offset of each joint, indices ascending.
        parent: Index of the joint whose body carries the group; 0: the world.
        is_chain: True if members carry other members, as in the phalanges of a finger.
    """

    joints: tuple[tuple[int, float, float], ...]
    parent: int
    is_chain: bool


def coupled_groups(model: RobotModel) -> tuple[CoupledGroup, ...]:
    """Return the groups of mimic joints; all joints of a group must be mounted on one link.

    Raises:
        IdentifiabilityError: A joint between members is not a member, or a member has several
            degrees of freedom, so that the recursion does not cover the motion.
    """
    pin_model = model.pin_model
    found: dict[str, list[tuple[int, float, float]]] = {}
    for mimic in model.mimic_joints:
        j = int(pin_model.getJointId(mimic.joint))
        found.setdefault(mimic.leader, []).append((j, mimic.multiplier, mimic.offset))
    groups = []
    for leader, followers in found.items():
        first = int(pin_model.getJointId(leader)) if leader in model.joint_names else 0
        members = sorted([(first, 1.0, 0.0), *followers])
        ids = {j for j, _, _ in members}
        carriers = {int(pin_model.parents[j]) for j in ids} - ids
        if first == 0:
            raise IdentifiabilityError(
                f"The joints {[pin_model.names[j] for j, _, _ in followers]} mimic '{leader}',"
                f" which isn't a moving joint of '{model.name}'.",
                remedy="Correct the URDF, lock them too, or choose mimic='independent'"
                " (--mimic independent on the command line).",
                leader=leader,
            )
        if len(carriers) != 1 or any(
            pin_model.joints[j].nv != 1 or m == 0.0 for j, m, _ in members
        ):
            names = [pin_model.names[j] for j, _, _ in followers]
            raise IdentifiabilityError(
                f"The joints {names} of '{model.name}' mimic '{leader}', but are mounted on"
                " another link, which the structural recursion does not cover.",
                remedy="Analyse them as independent joints (mimic='independent'; --mimic"
                " independent on the command line), which is an upper bound, or lock them.",
                joints=names,
                leader=leader,
            )
        is_chain = any(int(pin_model.parents[j]) in ids for j in ids)
        groups.append(CoupledGroup(tuple(members), carriers.pop(), is_chain))
    return tuple(groups)


@dataclass(frozen=True, eq=False, slots=True)
class CoupledChain:
    """Chain of coupled links: its members in the order of the bodies, parents first; natural units.

    Attributes:
        carriers: Index of the member that carries each member; -1: the link that carries the group.
        poses: Poses of each member in its carrier at q = 0, each (4, 4).
        modes: Spatial velocity [v; omega] of each member per unit of joint velocity, each (6,).
    """

    carriers: Sequence[int]
    poses: Sequence[Array]
    modes: Sequence[Array]

    def at(self, q: float) -> tuple[Array, Array, Array, Array]:
        """Return the maps at one value of the coordinate q, for m members.

        Returns:
            Velocity transforms X (m, 6, 6), velocities J per unit of q (m, 6), parameter maps B (m,
            10, 10), and `momenta` (m, 6, 10) with `momenta @ pi` = I(pi) J.
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
        """Return the conditions that the group adds to the recursion.

        Args:
            V_p: Basis of the velocity span of the carrying link, shape (6, k).
            K_p: Basis of the parameter span of the carrying link, shape (10, l).
            static: True if only postures at rest are measured.

        Returns:
            Columns of each member's velocity span, each (6, ...); columns of the common parameter
            span, (10 m, ...); momentum and mapping conditions, (..., 10 m); B at q = 0, (10, 10 m).
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
