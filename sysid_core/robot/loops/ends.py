# SPDX-License-Identifier: Apache-2.0
"""Poses, Jacobians and drift accelerations of the frames that loops connect, by pinocchio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.model import RobotModel


@dataclass(frozen=True, eq=False)
class Attachment:
    """Frame F that is fixed to the body moved by a joint.

    Attributes:
        joint: Index of the joint in the model's order, -1 for the base.
        R_BF: Rotation from the axes of F to those of the body, shape (3, 3).
        p_BF: Origin of F in the body frame, shape (3,) [m].
    """

    joint: int
    R_BF: Array
    p_BF: Array


@dataclass(frozen=True, eq=False)
class EndMotion:
    """Poses and Jacobians of m frames at K postures.

    Attributes:
        q: Joint positions, shape (K, n) [rad or m].
        p: Origins of the frames in the world, shape (m, K, 3) [m].
        R: Rotations from the frames' axes to the world's, shape (m, K, 3, 3).
        J: Jacobians in world axes, shape (m, K, 6, n), linear rows first; empty if not requested.
    """

    q: Array
    p: Array
    R: Array
    J: Array


class LoopEnds:
    """Frames on the bodies of a robot.

    Args:
        model: Robot whose joints have one degree of freedom.
        frames: Links and poses of the m frames.

    Raises:
        ModelError: A joint has more than one degree of freedom.
    """

    def __init__(self, model: RobotModel, frames: Sequence[Attachment]) -> None:
        for name, size in zip(model.joint_names, model.degrees_of_freedom, strict=True):
            if size != 1:
                raise ModelError(
                    f"Joint '{name}' has {size} degrees of freedom: loops need joints of one.",
                    remedy="Load the robot with a fixed base.",
                    joint=name,
                )
        self._model, self._tree = model, model.pin_model.copy()
        self._ids = [
            self._tree.addFrame(
                pin.Frame(f"end {i}", at.joint + 1, pin.SE3(at.R_BF, at.p_BF), pin.OP_FRAME), False
            )
            for i, at in enumerate(frames)
        ]

    def poses(self, q: Array) -> EndMotion:
        """Return the poses at postures q, shape (K, n)."""
        return self._motion(q, jacobians=False)

    def jacobians(self, q: Array) -> EndMotion:
        """Return the poses and Jacobians at postures q, shape (K, n)."""
        return self._motion(q, jacobians=True)

    def drifts(self, q: Array, v: Array) -> Array:
        """Return the accelerations J̇ q̇ of the frames while q̈ = 0, linear and angular; (K, n)
        each to (m, K, 6).
        """
        tree, axes, data = self._tree, pin.LOCAL_WORLD_ALIGNED, self._tree.createData()
        drifts, still = np.empty((len(self._ids), len(q), 6)), np.zeros(tree.nv)
        for k, posture in enumerate(self._model.configuration(q)):
            pin.forwardKinematics(tree, data, posture, v[k], still)
            for i, frame in enumerate(self._ids):
                drifts[i, k] = pin.getFrameClassicalAcceleration(tree, data, frame, axes).vector
        return drifts

    def _motion(self, q: Array, jacobians: bool) -> EndMotion:
        tree, axes = self._tree, pin.LOCAL_WORLD_ALIGNED
        m, K, n = len(self._ids), len(q), tree.nv
        X = np.empty((m, K, 4, 4))
        J = np.empty((m if jacobians else 0, K, 6, n))
        data = tree.createData()
        for k, posture in enumerate(self._model.configuration(q)):
            if jacobians:
                pin.computeJointJacobians(tree, data, posture)
            else:
                pin.forwardKinematics(tree, data, posture)
            for i, frame in enumerate(self._ids):
                X[i, k] = pin.updateFramePlacement(tree, data, frame).homogeneous
                if jacobians:
                    J[i, k] = pin.getFrameJacobian(tree, data, frame, axes)
        return EndMotion(q, X[..., :3, 3], X[..., :3, :3], J)
