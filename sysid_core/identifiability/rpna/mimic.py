# SPDX-License-Identifier: Apache-2.0
"""Joints that follow another one: `q_follower = multiplier * q_leader + offset`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import IdentifiabilityError
from sysid_core.robot import Array, RobotModel
from sysid_core.robot.loops import mimic_joints


@dataclass(frozen=True)
class CoupledGroup:
    """Joints that one coordinate q moves: `q_j = multiplier * q + offset`.

    Attributes:
        joints: Pinocchio's indices, ascending, with multiplier and offset.
        parent: Index of the joint whose body carries the group (0: the world).
        is_chain: Whether some members carry others, as in the phalanges of a finger.
    """

    joints: tuple[tuple[int, float, float], ...]
    parent: int
    is_chain: bool


def coupled_groups(model: RobotModel) -> tuple[CoupledGroup, ...]:
    """The groups of joints that mimic each other; they must sit together on one link.

    Raises:
        IdentifiabilityError: Between members there is a joint that isn't one, or one has several
            degrees of freedom: one coordinate then moves bodies in ways that the recursion
            doesn't cover.
    """
    pin_model = model.pin_model
    found: dict[str, list[tuple[int, float, float]]] = {}
    for mimic in mimic_joints(model):
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
                f"The joints {[pin_model.names[j] for j, _, _ in followers]} mimic '{leader}', which"
                f" isn't a moving joint of '{model.name}'.",
                remedy="Correct the URDF, lock them too, or choose mimic='independent'"
                " (--mimic independent on the command line).",
                leader=leader,
            )
        if len(carriers) != 1 or any(
            pin_model.joints[j].nv != 1 or m == 0.0 for j, m, _ in members
        ):
            names = [pin_model.names[j] for j, _, _ in followers]
            raise IdentifiabilityError(
                f"The joints {names} of '{model.name}' mimic '{leader}', but they don't sit"
                " together with it on one link, so that one coordinate moves bodies in a way that"
                " the structural recursion doesn't cover.",
                remedy="Analyse them as joints of their own (mimic='independent'; --mimic"
                " independent on the command line), which is an upper bound, or lock them.",
                joints=names,
                leader=leader,
            )
        is_chain = any(int(pin_model.parents[j]) in ids for j in ids)
        groups.append(CoupledGroup(tuple(members), carriers.pop(), is_chain))
    return tuple(groups)


def coupling_matrix(model: RobotModel) -> Array:
    r"""`G` with `v = G @ v_leading` for a model with coupled mimic joints; `tau_leading = G^T tau`.

    Returns:
        Shape (nv, m), m being nv without the followers.
    """
    followers = {mimic.joint: mimic for mimic in mimic_joints(model)}
    pin_model = model.pin_model
    columns: dict[int, int] = {}
    for name in model.joint_names:
        if name not in followers:
            joint = pin_model.joints[pin_model.getJointId(name)]
            for k in range(joint.nv):
                columns[joint.idx_v + k] = len(columns)
    G = np.zeros((model.nv, len(columns)))
    for row, column in columns.items():
        G[row, column] = 1.0
    for mimic in followers.values():
        row = pin_model.joints[pin_model.getJointId(mimic.joint)].idx_v
        leader = pin_model.joints[pin_model.getJointId(mimic.leader)].idx_v
        G[row, columns[leader]] = mimic.multiplier
    return G
