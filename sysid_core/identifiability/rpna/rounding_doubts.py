# SPDX-License-Identifier: Apache-2.0
"""What should be known before a structural answer is used, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_core.identifiability.rpna.algorithm import StageResult
from sysid_core.identifiability.rpna.stages import Layout, Mimic
from sysid_core.identifiability.rpna.subspace import Decision
from sysid_core.robot import INERTIAL_NAMES, RobotModel
from sysid_core.robot.loops import mimic_joints

_ROUNDING = 1e-4  # of the natural scale: kept directions below this are reported
_MOTION_NAMES = ("vx", "vy", "vz", "wx", "wy", "wz")


def doubts_in_words(model: RobotModel, layout: Layout, results: Sequence[StageResult]) -> list[str]:
    """Rank decisions that are near the edge or rest on rounding."""
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
            f"Some of the answer on {listed(weak)} rests on offsets or angles of less than"
            f" {_ROUNDING:g} of the robot's size: real data will hardly show it."
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
    """How mimic joints were treated, when there are any."""
    followers = mimic_joints(model)
    if not followers:
        return []
    what = listed([f"{f.joint} (follows {f.leader})" for f in followers])
    if mimic is Mimic.COUPLED:
        return [f"Mimic joints move with their leaders, without torques of their own: {what}."]
    return [
        f"Mimic joints count as joints of their own with measured torques, which is an upper bound:"
        f" {what}. Choose mimic='coupled' for what one drive can tell."
    ]


def listed(names: Sequence[str], at_most: int = 6) -> str:
    """Names in a row, not too many."""
    shown = ", ".join(names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"
