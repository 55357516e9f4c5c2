# SPDX-License-Identifier: Apache-2.0
"""Joints of a description that are locked or follow others (fingers, rods), and rounded angles of their
origins.
"""

from __future__ import annotations

import functools
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from sysid_core.errors import ModelError

if TYPE_CHECKING:
    from sysid_core.robot.model import RobotModel


_RPY = re.compile(r"""rpy\s*=\s*["']([^"']*)["']""")
# Fractions of pi that robots are built with, and the digits from which on a match is no accident.
_NICE = ((math.pi / 2, 2), (math.pi / 4, 3), (math.pi / 6, 3))
_EXACT = 1e-10  # [rad] closer than this, an angle needs no snapping


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


def exact_angle(text: str) -> float:
    """Return the exact angle of a rounded decimal number: "1.5708" is pi/2, "1.4" is 1.4.

    An angle counts as a multiple of pi/2, pi/4 or pi/6 if it agrees to its last digit.
    """
    value = float(text)
    mantissa = re.split("[eE]", text.strip())[0]
    decimals = len(mantissa.partition(".")[2]) if "e" not in text.lower() else 0
    for unit, needed in _NICE:
        k = round(value / unit)
        if k and decimals >= needed and abs(value - k * unit) <= 10.0**-decimals:
            return k * unit
    return value


def _is_rounded(text: str) -> bool:
    try:
        return abs(exact_angle(text) - float(text)) > _EXACT
    except ValueError:
        return False


def has_rounded_angles(urdf_xml: str) -> bool:
    """Return True if some `rpy` in the text is a rounded multiple of pi/2, pi/4 or pi/6."""
    return any(
        _is_rounded(number)
        for rpy in set(_RPY.findall(urdf_xml))
        for number in rpy.replace(",", " ").split()
    )


@functools.lru_cache(maxsize=32)
def exact_urdf(urdf_xml: str) -> tuple[str, tuple[str, ...]]:
    """Return a description with exact angles, and the names of the joints whose angles changed."""
    if not has_rounded_angles(urdf_xml):
        return urdf_xml, ()
    root = ET.fromstring(urdf_xml)
    changed = []
    for joint in root.iter("joint"):
        origin = joint.find("origin")
        numbers = (origin.get("rpy") or "").split() if origin is not None else []
        if origin is not None and any(_is_rounded(number) for number in numbers):
            origin.set("rpy", " ".join(repr(exact_angle(number)) for number in numbers))
            changed.append(str(joint.get("name")))
    return ET.tostring(root, encoding="unicode"), tuple(changed)
