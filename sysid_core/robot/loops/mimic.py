# SPDX-License-Identifier: Apache-2.0
"""Mimic joints: `q_follower = multiplier * q_leader + offset`."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from sysid_core.errors import ModelError
from sysid_core.robot.loops.chain import ClosedChain
from sysid_core.robot.loops.coupling import Coupling
from sysid_core.robot.model import RobotModel


@dataclass(frozen=True)
class MimicJoint:
    """Joint with a `<mimic>` element in the URDF, resolved to the joint that is driven."""

    joint: str
    leader: str
    multiplier: float
    offset: float


def mimic_joints(model: RobotModel) -> tuple[MimicJoint, ...]:
    """Couplings of a model's joints that the URDF declares as mimic joints.

    Raises:
        ModelError: Joints mimic each other in a circle.
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
                raise ModelError(
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


def chain_of_mimic_joints(model: RobotModel) -> ClosedChain:
    """Mechanism with driven leaders, and followers coupled as the URDF states.

    Raises:
        ModelError: The URDF has no mimic joints, or a leader that isn't a moving joint.
    """
    followers = mimic_joints(model)
    if not followers:
        raise ModelError(
            f"The URDF of '{model.name}' has no mimic joints.",
            remedy="Omit --loops, or give the loops file (docs/closed_chains.md).",
        )
    return ClosedChain(
        model,
        actuated=tuple(
            name for name in model.joint_names if name not in {f.joint for f in followers}
        ),
        couplings=tuple(
            Coupling(f"{f.joint}_follows", {f.joint: 1.0, f.leader: -f.multiplier}, f.offset)
            for f in followers
        ),
    )
