# SPDX-License-Identifier: Apache-2.0
"""Additional frames that a robot's description lacks, such as a sensor on a link."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.model import RobotModel


def with_mounted_frame(
    model: RobotModel, name: str, parent: str, pose: ArrayLike = (0.0,) * 6
) -> RobotModel:
    """Copy of a robot with an additional frame, fixed to a link.

    Args:
        model: The robot.
        name: Name of the new frame.
        parent: Link or frame that it is fixed to.
        pose: x y z roll pitch yaw of the new frame in the parent, as URDF's origin, shape (6,)
            [m, rad].

    Raises:
        ModelError: There is no such link, the pose isn't six finite numbers, or the name is taken.
    """
    pose = np.asarray(pose, dtype=float)
    if pose.shape != (6,) or not np.all(np.isfinite(pose)):
        raise ModelError(
            f"The pose of frame '{name}' is {pose.tolist()}, expected six finite numbers.",
            remedy="Give x y z roll pitch yaw in the parent link (m, rad).",
        )
    if model.pin_model.existFrame(name):
        raise ModelError(
            f"The robot '{model.name}' has a frame '{name}' already.",
            remedy="Omit the mounting, or give the sensor frame another name.",
        )
    tree = model.pin_model.copy()
    local = pin.SE3(pin.rpy.rpyToMatrix(*pose[3:]), pose[:3])
    fix_frame(tree, name, model.frame_id(parent), local)
    return replace(model, pin_model=tree)


def fix_frame(tree: pin.Model, name: str, parent: int, pose: pin.SE3) -> None:
    """Add a frame to pinocchio's model, fixed to another frame that is given by its index."""
    base = tree.frames[parent]
    placement = base.placement * pose
    tree.addFrame(pin.Frame(name, base.parentJoint, parent, placement, pin.FrameType.BODY), False)
