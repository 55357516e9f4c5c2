# SPDX-License-Identifier: Apache-2.0
"""Frames that a description lacks, from the topic `tf_static`; and a robot model for the poses of a
frame.

Only static transforms state where something is mounted. The frames on `tf` move, and while a robot
is at rest they do not show to which of its links a frame is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin
import scipy
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array

_UNIT = 1e-2  # how far a rotation's quaternion may be from length 1
_TRIES = 300  # turns of the axes that are tried
_FLAT = np.deg2rad(50.0)  # middle angles up to here are far from the singularity


@dataclass(frozen=True)
class StaticTransform:
    """Pose of one frame in another, as published on `tf_static`.

    Attributes:
        parent: Frame to which `child` is fixed.
        child: Name of the frame.
        translation: Origin of `child` in the parent, shape (3,) [m].
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
        """Return the static transform from a `geometry_msgs/TransformStamped` of a bag or of rclpy.

        Args:
            stamped: Message of the type `geometry_msgs/TransformStamped`.

        Raises:
            ModelError: The transform is not rigid.
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


@dataclass(frozen=True, eq=False)
class PoseRobot:
    """Gantry with a spherical wrist that carries a frame, with joint positions for poses of that
    frame.

    Attributes:
        urdf: URDF of the robot.
        q: Positions of the joints, shape (K, 6) [m, rad].
    """

    FRAME: ClassVar[str] = "sensor"
    JOINTS: ClassVar[tuple[str, ...]] = (
        "slide_x", "slide_y", "slide_z", "turn_z", "turn_y", "turn_x",
    )  # fmt: skip

    urdf: str
    q: Array

    @classmethod
    def of(cls, position: ArrayLike, rotation: ArrayLike) -> PoseRobot:
        """Return the robot whose frame has given poses.

        The axes of the wrist are oriented such that its singularity is far from all poses, if this
        is possible.

        Args:
            position: Position of the frame in a fixed base whose z axis points up, shape (K, 3)
                [m].
            rotation: Orientation of the frame in that base, shape (K, 3, 3).

        Raises:
            ModelError: The arrays have inconsistent shapes, or are not rotations.
        """
        p, matrices = np.asarray(position, dtype=float), np.asarray(rotation, dtype=float)
        if p.ndim != 2 or p.shape[1:] != (3,) or matrices.shape != (len(p), 3, 3) or not len(p):
            raise ModelError(
                f"Poses have positions {p.shape} and rotations {matrices.shape}.",
                remedy="Give positions (K, 3) and rotation matrices (K, 3, 3).",
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
        return cls(_urdf(before, after), np.hstack([p, np.unwrap(angles, axis=0)]))


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
    for index, name in enumerate(PoseRobot.JOINTS):
        if index == 3:
            add("wrist", "fixed", turned(before))
        axis = np.eye(3, dtype=int)["xyz".index(name[-1])]
        kind = "prismatic" if index < 3 else "revolute"
        add(name, kind, '<axis xyz="{} {} {}"/>'.format(*axis) + wide)
    add(PoseRobot.FRAME, "fixed", turned(after))
    return "".join([*parts, "</robot>"])
