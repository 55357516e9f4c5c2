# SPDX-License-Identifier: Apache-2.0
"""Frames fixed to the robot by the topic `tf_static`, such as a sensor that the URDF lacks.

Only what is static says where something is mounted. A frame on `tf` moves: a robot that stands still
doesn't show to which of its links the frame is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError
from sysid_core.robot.model import RobotModel
from sysid_core.robot.mounted_frame import fix_frame

_UNIT = 1e-2  # how far a rotation's quaternion may be from length 1


@dataclass(frozen=True)
class StaticTransform:
    """Pose of one frame in another, as published on `tf_static`.

    Attributes:
        parent: Frame that `child` is fixed to.
        child: The frame.
        translation: The origin of `child` in the parent, shape (3,) [m].
        rotation: Quaternion x y z w from the child's axes to the parent's, shape (4,).
    """

    parent: str
    child: str
    translation: tuple[float, ...]
    rotation: tuple[float, ...]

    def __post_init__(self) -> None:
        numbers = np.array([*self.translation, *self.rotation], dtype=float)
        if numbers.shape != (7,) or not np.isfinite(numbers).all():
            fault = "isn't seven finite numbers"
        elif abs(np.linalg.norm(numbers[3:]) - 1.0) > _UNIT:
            fault = "has no unit quaternion"
        else:
            return
        raise ModelError(
            f"The transform from '{self.child[:80]}' to '{self.parent[:80]}' {fault}.",
            remedy="Correct the publisher on tf_static.",
        )

    @classmethod
    def of(cls, stamped: Any) -> StaticTransform:
        """Static transform from a `geometry_msgs/TransformStamped` of a bag or of rclpy.

        Args:
            stamped: The message.

        Raises:
            ModelError: It isn't a rigid transform.
        """
        p, r = stamped.transform.translation, stamped.transform.rotation
        return cls(
            stamped.header.frame_id.lstrip("/"),
            stamped.child_frame_id.lstrip("/"),
            (p.x, p.y, p.z),
            (r.x, r.y, r.z, r.w),
        )

    @property
    def pose(self) -> pin.SE3:
        """Pose of the child frame in its parent."""
        rotation = np.array(self.rotation) / np.linalg.norm(self.rotation)
        return pin.SE3(pin.Quaternion(rotation), np.array(self.translation))


def with_static_transforms(model: RobotModel, transforms: Iterable[StaticTransform]) -> RobotModel:
    """Copy of a robot with all static frames that are connected to one of its links; existing
    frames are unchanged.

    Args:
        model: The robot.
        transforms: In any order; of several of one child the last counts.
    """
    tree = model.pin_model.copy()
    waiting = {t.child: t for t in transforms if not tree.existFrame(t.child)}
    found: list[StaticTransform] = [t for t in waiting.values() if tree.existFrame(t.parent)]
    if not found:
        return model
    while found:
        for transform in found:
            at = tree.getFrameId(transform.parent)
            fix_frame(tree, transform.child, at, transform.pose)
            del waiting[transform.child]
        found = [t for t in waiting.values() if tree.existFrame(t.parent)]
    return replace(model, pin_model=tree)
