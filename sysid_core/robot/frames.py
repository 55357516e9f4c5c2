# SPDX-License-Identifier: Apache-2.0
"""Mounting of a robot's base, and frames that its description lacks: mounted ones, those of TF's
`tf_static`, and a robot for the poses of a frame.

Only static transforms state where something is mounted. The frames on `tf` move; while a robot
stands still, they do not reveal to which of its links a frame is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin
import scipy
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.model import STANDARD_GRAVITY, RobotModel
from sysid_core.settings import numbers

_UNIT = 1e-2  # how far a rotation's quaternion may be from length 1
POSE_FRAME = "sensor"
_TRIES = 300  # turns of the axes that are tried
_FLAT = np.deg2rad(50.0)  # middle angles up to here are far from the singularity
POSE_JOINTS = ("slide_x", "slide_y", "slide_z", "turn_z", "turn_y", "turn_x")


def gravity_of_mount(rpy: ArrayLike) -> Array:
    r"""Gravity in the frame of a base that is rotated relative to the world, `g_B = R_WB^T g_W`.

    Args:
        rpy: Roll, pitch and yaw of the base in the world (z up), shape (3,) [rad].

    Returns:
        Shape (3,) [m/s^2].

    Raises:
        ModelError: Not three finite numbers.
    """
    rpy = np.asarray(rpy, dtype=float)
    if rpy.shape != (3,) or not np.all(np.isfinite(rpy)):
        raise ModelError(
            f"A mount is three angles, roll, pitch and yaw [rad], not {rpy.tolist()}.",
            remedy="Examples: 3.14159,0,0 for a base on the ceiling; 0,1.5708,0 for a base on a wall.",
        )
    return np.asarray(pin.rpy.rpyToMatrix(*rpy).T @ np.array(STANDARD_GRAVITY))


def with_gravity(model: RobotModel, gravity: ArrayLike) -> RobotModel:
    """Copy with another direction of gravity in the base frame.

    Args:
        model: The robot.
        gravity: Shape (3,) [m/s^2].

    Raises:
        ModelError: Not three finite numbers, or far from any gravity on a planet.
    """
    gravity = np.asarray(gravity, dtype=float)
    if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
        raise ModelError(
            f"Gravity is three numbers in the base frame, not {gravity.tolist()}.",
            remedy="Write x,y,z in m/s^2: 0,0,-9.81 for a robot on the floor.",
        )
    size = float(np.linalg.norm(gravity))
    if size > 0.0 and not 1.0 <= size <= 30.0:
        raise ModelError(
            f"Gravity of {size:.3g} m/s^2 is impossible.",
            remedy="Write x,y,z in m/s^2: 0,0,-9.81 for a robot on the floor.",
        )
    tree = model.pin_model.copy()
    tree.gravity.linear = gravity
    return replace(model, pin_model=tree)


def mounted(
    model: RobotModel, gravity: str = "", mount: str = "", otherwise: ArrayLike | None = None
) -> RobotModel:
    """Robot with gravity from the options, otherwise from the file, otherwise from its description.

    Args:
        model: The robot.
        gravity: `X,Y,Z` in the base frame [m/s^2], or "".
        mount: `ROLL,PITCH,YAW` of the base in the world [rad], or "".
        otherwise: Gravity where both are "", shape (3,) [m/s^2].

    Raises:
        ModelError: Both are given, or no three numbers.
    """
    if gravity and mount:
        raise ModelError("Both --gravity and --mount are given.", remedy="Give one of them.")
    if gravity:
        return with_gravity(model, numbers(gravity, (3,), "--gravity", ModelError))
    if mount:
        return with_gravity(model, gravity_of_mount(numbers(mount, (3,), "--mount", ModelError)))
    return model if otherwise is None else with_gravity(model, otherwise)


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


def robot_of_poses(position: ArrayLike, rotation: ArrayLike) -> tuple[str, tuple[str, ...], Array]:
    """URDF of a gantry with a spherical wrist that carries the frame `sensor`, and joint positions
    for given poses of that frame.

    The wrist's axes are turned such that its singularity stays away from all poses: a path passes
    it by if there is a way.

    Args:
        position: Position of the frame in a fixed base whose z axis points up, shape (K, 3) [m].
        rotation: Orientation of the frame in that base, shape (K, 3, 3).

    Returns:
        URDF, joint names (6,), positions (K, 6) [m, rad].

    Raises:
        ModelError: The arrays don't belong together, or aren't rotations.
    """
    p, matrices = np.asarray(position, dtype=float), np.asarray(rotation, dtype=float)
    if p.ndim != 2 or p.shape[1:] != (3,) or matrices.shape != (len(p), 3, 3) or not len(p):
        raise ModelError(
            f"Poses have positions {p.shape} and rotations {matrices.shape}.",
            remedy="Give (K, 3) and (K, 3, 3).",
        )
    R = scipy.spatial.transform.Rotation.from_matrix(matrices)
    rng = np.random.default_rng(0)
    best: (
        tuple[float, scipy.spatial.transform.Rotation, scipy.spatial.transform.Rotation, Array]
        | None
    ) = None
    for k in range(_TRIES):
        turns = (
            scipy.spatial.transform.Rotation.random(2, random_state=rng)
            if k
            else scipy.spatial.transform.Rotation.identity(2)
        )
        before, after = turns[0], turns[1]
        angles = (before.inv() * R * after.inv()).as_euler("ZYX")
        worst = float(np.abs(angles[:, 1]).max())
        if best is None or worst < best[0]:
            best = worst, before, after, angles
        if best[0] < _FLAT:
            break
    assert best is not None
    _, before, after, angles = best
    return _urdf(before, after), POSE_JOINTS, np.hstack([p, np.unwrap(angles, axis=0)])


def _urdf(before: scipy.spatial.transform.Rotation, after: scipy.spatial.transform.Rotation) -> str:
    parts, link = ['<?xml version="1.0"?><robot name="poses"><link name="base"/>'], "base"

    def add(name: str, kind: str, inside: str) -> None:
        nonlocal link
        parts.append(
            f'<link name="{name}"/><joint name="{name if kind != "fixed" else name + "_fixed"}"'
            f' type="{kind}"><parent link="{link}"/><child link="{name}"/>{inside}</joint>'
        )
        link = name

    def turned(rotation: scipy.spatial.transform.Rotation) -> str:
        values: NDArray[np.float64] = rotation.as_euler("xyz")
        return '<origin rpy="{:.15g} {:.15g} {:.15g}"/>'.format(*values)

    wide = '<limit lower="-1e4" upper="1e4" velocity="1e3" effort="1e6"/>'
    for index, name in enumerate(POSE_JOINTS):
        if index == 3:
            add("wrist", "fixed", turned(before))
        axis = np.eye(3, dtype=int)["xyz".index(name[-1])]
        kind = "prismatic" if index < 3 else "revolute"
        add(name, kind, '<axis xyz="{} {} {}"/>'.format(*axis) + wide)
    add(POSE_FRAME, "fixed", turned(after))
    return "".join([*parts, "</robot>"])
