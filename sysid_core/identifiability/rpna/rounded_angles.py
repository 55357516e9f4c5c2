# SPDX-License-Identifier: Apache-2.0
"""Rounded angles in a URDF: detection, exact values, and the effect of the rounding on the result."""

from __future__ import annotations

import functools
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np

from sysid_core.identifiability.rpna.algorithm import StageResult
from sysid_core.identifiability.rpna.stages import Layout, Mimic
from sysid_core.identifiability.rpna.subspace import Decision
from sysid_core.robot import INERTIAL_NAMES, RobotModel
from sysid_core.robot.loops import mimic_joints

_RPY = re.compile(r"""rpy\s*=\s*["']([^"']*)["']""")
# Fractions of pi that robots are built with, and the digits from which on a match is no accident.
_NICE = ((math.pi / 2, 2), (math.pi / 4, 3), (math.pi / 6, 3))
_EXACT = 1e-10  # [rad] closer than this, an angle needs no snapping


def exact_angle(text: str) -> float:
    """Exact angle of a rounded decimal number: "1.5708" is pi/2, "1.4" is 1.4.

    An angle is taken for a multiple of pi/2, pi/4 or pi/6 when it agrees to its last digit.
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
    """True if some `rpy` in the text is a rounded multiple of pi/2, pi/4 or pi/6."""
    return any(
        _is_rounded(number)
        for rpy in set(_RPY.findall(urdf_xml))
        for number in rpy.replace(",", " ").split()
    )


def with_exact_angles(model: RobotModel) -> tuple[RobotModel, tuple[str, ...]]:
    """Copy of a robot in which rounded angles of joint origins are replaced by exact ones (such as
    1.5708 by pi/2).

    Args:
        model: A robot from a URDF.

    Returns:
        The robot and the names of the joints (fixed ones too) whose angles changed; the model
        itself and nothing when there are none, or when it isn't the URDF's tree of joints.
    """
    if not model.urdf_xml:
        return model, ()
    exact_xml, changed = _exact_urdf(model.urdf_xml)
    if not changed:
        return model, ()
    tree = model.tree
    floating = model.pin_model.joints[1].shortname() == "JointModelFreeFlyer"
    exact = _built(exact_xml, floating, tuple(model.gravity.tolist()))
    exact = exact.with_locked({n: q for n, q in model.locked.items() if n in exact.joint_names})
    same = exact.joint_names == tree.joint_names
    return (model.on_tree(exact), changed) if same else (model, ())


@functools.lru_cache(maxsize=8)
def _built(urdf_xml: str, floating_base: bool, gravity: tuple[float, ...]) -> RobotModel:
    return RobotModel.from_urdf(urdf_xml, floating_base=floating_base, gravity=gravity)


@functools.lru_cache(maxsize=32)
def _exact_urdf(urdf_xml: str) -> tuple[str, tuple[str, ...]]:
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


_ROUNDING = 1e-4  # of the natural scale: kept directions below this are reported
_MOTION_NAMES = ("vx", "vy", "vz", "wx", "wy", "wz")


def doubts_in_words(model: RobotModel, layout: Layout, results: Sequence[StageResult]) -> list[str]:
    """Sentences on rank decisions that are uncertain or depend on rounding."""
    near, weak = [], []
    for stage, result in zip(layout.stages, results, strict=True):
        name = model.body_names[stage.bodies[0]]
        for kind, decision in result.doubts:
            if decision.is_near_the_edge:
                near.append(
                    f"A rank decision on '{name}' ({kind} span) is near the edge: kept"
                    f" {decision.kept:.1e}, dropped {decision.dropped:.1e} of the natural scale,"
                    f" along {_direction(kind, decision, len(stage.bodies))}."
                )
            elif decision.kept < _ROUNDING and name not in weak:
                weak.append(name)
    if weak:
        near.append(
            f"Part of the result for {listed(weak)} depends on offsets or angles of less than"
            f" {_ROUNDING:g} of the robot's size, which real data will hardly excite."
        )
    return near


def _direction(kind: str, decision: Decision, n_links: int) -> str:
    vector = decision.direction
    names: tuple[str, ...]
    if kind == "velocity" or len(vector) == len(_MOTION_NAMES):
        names, extra = _MOTION_NAMES, "spin"
    else:
        names, extra = INERTIAL_NAMES, "Im"
    labels = [*names * n_links, *[extra] * len(vector)]  # rotors come last
    terms = [
        f"{vector[i]:+.2f} {labels[i]}"
        for i in np.argsort(-np.abs(vector))[:3]
        if abs(vector[i]) > 0.1
    ]
    return " ".join(terms)


def mimic_in_words(model: RobotModel, mimic: Mimic) -> list[str]:
    """Sentence on the treatment of mimic joints; empty without mimic joints."""
    followers = mimic_joints(model)
    if not followers:
        return []
    what = listed([f"{f.joint} (follows {f.leader})" for f in followers])
    if mimic is Mimic.COUPLED:
        return [f"Mimic joints move with their leaders, without separate torques: {what}."]
    return [
        f"Mimic joints count as independent joints with measured torques, which gives an upper bound: "
        f" {what}. Choose mimic='coupled' for the parameters identifiable from one drive."
    ]


def listed(names: Sequence[str], at_most: int = 6) -> str:
    """Text with the first names of a list."""
    shown = ", ".join(names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"
