# SPDX-License-Identifier: Apache-2.0
"""Losses of an export other than friction terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.export.geometry import MeshFolder, has_other_shapes
from sysid_core.export.ros2_control import without
from sysid_core.export.sdf import sdf_names
from sysid_core.export.targets import Target
from sysid_core.export.tree import link_elements
from sysid_core.export.usd import prim_names
from sysid_core.kinds import Kind
from sysid_core.robot import STANDARD_GRAVITY, RobotModel
from sysid_core.robot.loops import mimic_joints


class LossCode(Kind):
    """Kind of model term that a file format lacks."""

    GRAVITY = "gravity_direction"  # the format has none: the reader's world must be turned
    VELOCITY_LIMITS = "velocity_limits"
    EFFORT_LIMITS = "effort_limits"
    ACCELERATION_LIMITS = "acceleration_limits"  # no description has them
    LOCKED = "locked"  # joints that were locked for the identification are fixed in every file
    MIMIC = "mimic"  # a follower whose leader is no joint of the robot, or can't be written
    SHAPES = "shapes"  # for pictures and contacts
    NAMES = "names"  # that the format doesn't take: replaced
    MESH_MISSING = "mesh_missing"  # no such file
    MESH_FORMAT = "mesh_format"  # a format that the target doesn't read


@dataclass(frozen=True)
class Loss:
    """Model term that a file format lacks, with its effect.

    Attributes:
        code: What it is.
        names: Joints, files or numbers that it concerns.
    """

    code: LossCode
    names: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the loss as plain data for proof.json."""
        return {"code": self.code.value, "names": list(self.names)}


def losses_of(model: RobotModel, target: Target, meshes: MeshFolder | None) -> tuple[Loss, ...]:
    """Return the model properties that a written file lacks.

    Args:
        model: The robot.
        target: The file's format.
        meshes: After the file was written.
    """
    found = {LossCode.LOCKED: [f"{joint} at {q:.6g}" for joint, q in model.locked.items()]}
    if target in (Target.URDF, Target.SDF, Target.USD) and not np.array_equal(
        model.gravity, STANDARD_GRAVITY
    ):
        found[LossCode.GRAVITY] = [" ".join(f"{x:.6g}" for x in model.gravity)]
    if target is Target.MJCF:
        found[LossCode.VELOCITY_LIMITS] = [
            name
            for name, limit in zip(model.joint_names, model.velocity_limits, strict=True)
            if 0.0 < limit < np.inf
        ]
    if target is Target.ROS2_CONTROL:
        found[LossCode.VELOCITY_LIMITS] = without(model, model.velocity_limits)
        found[LossCode.EFFORT_LIMITS] = without(model, model.effort_limits)
        found[LossCode.ACCELERATION_LIMITS] = list(model.joint_names)
    followers = [f for f in mimic_joints(model) if target is not Target.URDF]
    found[LossCode.MIMIC] = [
        f.joint for f in followers if target is not Target.MJCF or f.leader not in model.joint_names
    ]
    if target in (Target.MJCF, Target.SDF):
        found[LossCode.SHAPES] = [n for n, e in link_elements(model).items() if has_other_shapes(e)]
    if target is Target.USD:
        found[LossCode.SHAPES] = list(model.body_names)
    if target in (Target.USD, Target.SDF):
        named = prim_names(model) if target is Target.USD else sdf_names(model)
        own = ((key.partition(" ")[2], name) for key, name in named.items())
        found[LossCode.NAMES] = [old for old, name in own if old not in ("", name)]
    if meshes is not None:
        found[LossCode.MESH_MISSING] = meshes.missing
        found[LossCode.MESH_FORMAT] = meshes.unread
    return tuple(Loss(code, tuple(names)) for code, names in found.items() if names)
