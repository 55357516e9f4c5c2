# SPDX-License-Identifier: Apache-2.0
"""Joints of a description that are locked or follow others: fingers, rods."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from sysid_core.errors import ModelError

if TYPE_CHECKING:
    from sysid_core.robot.model import RobotModel


def lock_positions(texts: Sequence[str]) -> dict[str, float | None]:
    """Return the joints to lock from `JOINT` or `JOINT=POSITION`; None without a position.

    Raises:
        ModelError: A position is not a finite number.
    """
    out: dict[str, float | None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            out[name.strip()] = float(value) if equals else None
        except ValueError:
            out[name.strip()] = np.nan
        if equals and not np.isfinite(out[name.strip()] or 0.0):
            raise ModelError(
                f"Joint to lock '{text}': '{value}' is not a finite number.",
                remedy="Write --lock JOINT or --lock JOINT=POSITION (rad or m).",
            )
    return out


def held_positions(
    model: RobotModel,
    joints: Sequence[str],
    lock: Sequence[str],
    measured: Sequence[str] | None,
    positions: Mapping[str, float] | None,
) -> dict[str, float]:
    """Return the joints that `RobotModel.holding` locks, with their positions [rad or m].

    Raises:
        ModelError: A name or pattern matches no joint, or all joints would be locked.
    """
    texts = lock_positions(lock)
    for pattern in (*joints, *texts):
        if not any(fnmatchcase(name, pattern) for name in model.joint_names):
            raise ModelError(
                f"'{pattern}' fits no joint of '{model.name}'.",
                remedy=f"Joints: {', '.join(model.joint_names)}.",
            )
    moving = [
        name
        for name in model.joint_names
        if not any(fnmatchcase(name, pattern) for pattern in texts)
        and (not joints or any(fnmatchcase(name, pattern) for pattern in joints))
        and (joints or measured is None or name in measured)
    ]
    held = [name for name in model.joint_names if name not in moving]
    if not moving:
        raise ModelError(
            f"All joints of '{model.name}' would be held.",
            remedy="Correct the parameters `joints` and `lock`, and check that the description belongs to this robot.",
        )
    given = {name: value for name in held for p, value in texts.items() if fnmatchcase(name, p)}
    described = _described_positions(model)
    known = {k: v for k, v in (positions or {}).items() if np.isfinite(v)}
    return {name: _first(given.get(name), known.get(name), described[name]) for name in held}


def _first(*values: float | None) -> float:
    """First of the given values that is not None."""
    return next(float(value) for value in values if value is not None)


def _described_positions(model: RobotModel) -> dict[str, float]:
    """Zero, or the nearest position within the limits, for joints with one degree of freedom."""
    lower, upper = model.position_limits
    out, at = {}, 0
    for name, nv in zip(model.joint_names, model.degrees_of_freedom, strict=True):
        out[name] = float(np.clip(0.0, lower[at], upper[at])) if nv == 1 else 0.0
        at += nv
    return out


@dataclass(frozen=True)
class MimicJoint:
    """Joint with a `<mimic>` element in the URDF, resolved to the joint that it finally follows."""

    joint: str
    leader: str
    multiplier: float
    offset: float


def mimic_joints(urdf_xml: str, joint_names: Sequence[str]) -> tuple[MimicJoint, ...]:
    """Return the mimic joints of a URDF among the given joints, in their order.

    Raises:
        ModelError: Joints mimic each other in a circle.
    """
    direct = _mimic_elements(urdf_xml)
    if not direct:
        return ()
    resolved = []
    for name in joint_names:
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
    """For each following joint: the joint that it follows, multiplier and offset."""
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
