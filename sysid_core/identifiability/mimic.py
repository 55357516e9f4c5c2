"""Joints that follow another one: `q_follower = multiplier * q_leader + offset`."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np

from sysid_core.errors import IdentifiabilityError
from sysid_core.robot import Array, RobotModel


@dataclass(frozen=True)
class MimicJoint:
    """A joint with a `<mimic>` element in the URDF, resolved to the joint that really drives it."""

    joint: str
    leader: str
    multiplier: float
    offset: float


def mimic_joints(model: RobotModel) -> tuple[MimicJoint, ...]:
    """The joints of a model that its URDF calls followers.

    Raises:
        IdentifiabilityError: Joints mimic each other in a circle.
    """
    direct = _mimic_elements(model.urdf_xml)
    if not direct:
        return ()
    resolved = []
    for name in model.joint_names:
        if name not in direct:
            continue
        leader, multiplier, offset = direct[name]
        seen = {name}
        while leader in direct:
            if leader in seen:
                raise IdentifiabilityError(
                    f"The joints {sorted(seen)} mimic each other in a circle.",
                    remedy="One of them must lead: correct the URDF.",
                )
            seen.add(leader)
            leader, m, b = direct[leader]
            multiplier, offset = multiplier * m, multiplier * b + offset
        resolved.append(MimicJoint(name, leader, multiplier, offset))
    return tuple(resolved)


@functools.lru_cache(maxsize=32)
def _mimic_elements(urdf_xml: str) -> dict[str, tuple[str, float, float]]:
    """Follower to leader, multiplier, offset."""
    if "<mimic" not in urdf_xml:
        return {}
    direct: dict[str, tuple[str, float, float]] = {}
    for joint in ET.fromstring(urdf_xml).iter("joint"):
        mimic = joint.find("mimic")
        if mimic is not None:
            direct[str(joint.get("name"))] = (
                str(mimic.get("joint")),
                float(mimic.get("multiplier", "1")),
                float(mimic.get("offset", "0")),
            )
    return direct


def coupled_joints(model: RobotModel) -> dict[int, list[tuple[int, float, float]]]:
    """Groups of joints that one coordinate moves, for bodies on the same parent (remark 11).

    Returns:
        Leader to its followers, as pinocchio's joint indices, with multiplier and offset.

    Raises:
        IdentifiabilityError: Leader and follower move bodies with different parents, or have
            several degrees of freedom: the recursion doesn't cover that.
    """
    groups: dict[int, list[tuple[int, float, float]]] = {}
    pin_model = model.pin_model
    for mimic in mimic_joints(model):
        j = int(pin_model.getJointId(mimic.joint))
        leader = int(pin_model.getJointId(mimic.leader)) if mimic.leader in model.joint_names else 0
        if (
            leader == 0
            or pin_model.parents[j] != pin_model.parents[leader]
            or pin_model.joints[j].nv != 1
            or pin_model.joints[leader].nv != 1
            or mimic.multiplier == 0.0
        ):
            raise IdentifiabilityError(
                f"Joint '{mimic.joint}' of '{model.name}' mimics '{mimic.leader}', but they don't both"
                " turn or slide on the same parent link, so that one coordinate moves bodies in a"
                " way that the structural recursion doesn't cover.",
                remedy="Analyse it as a joint of its own (mimic='independent'; --mimic independent"
                " on the command line), which is an upper bound, or lock it.",
                joint=mimic.joint,
                leader=mimic.leader,
            )
        groups.setdefault(leader, []).append((j, mimic.multiplier, mimic.offset))
    return groups


def coupling_matrix(model: RobotModel) -> Array:
    r"""`G` with `v = G @ v_leading` for a model with coupled mimic joints; `tau_leading = G^T tau`.

    Returns:
        Shape (nv, nv - number of followers).
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
