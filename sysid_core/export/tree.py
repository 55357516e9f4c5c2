# SPDX-License-Identifier: Apache-2.0
"""Robot as a tree of joints and links in plain numbers, from which all files are written, and the
tree that their readers return.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError
from sysid_core.robot import Array, RobotModel, is_physically_consistent, mass_com_inertia_from_pi

_LEAST = 1e-15  # [kg, kg m^2] mass and principal moments of a moving body, MuJoCo's mjMINVAL
# Simulators take no link without mass, even one that is fixed to the world.
FIXED_BASE = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """Joint with one degree of freedom, and its body.

    Attributes:
        name: Name of the joint.
        link: Name of the link moved by the joint.
        parent: Index of the preceding joint; -1: the base.
        slides: True for a prismatic joint.
        axis: Unit vector in the body's frame, shape (3,).
        R: Axes of the body at position zero in the frame of its parent, shape (3, 3).
        p: Origin of the body at position zero in the frame of its parent, shape (3,) [m].
        pi: Inertial parameters of the body with all links fixed to it, shape (10,).
        limits: Lower and upper position limit [rad or m]; infinite: no limit.
        velocity: Velocity limit [rad/s or m/s]; 0 or infinite: no limit.
        effort: Effort limit [N m or N]; 0 or infinite: no limit.
    """

    name: str
    link: str
    parent: int
    slides: bool
    axis: Array
    R: Array
    p: Array
    pi: Array
    limits: tuple[float, float]
    velocity: float
    effort: float


@dataclass(frozen=True, eq=False)
class FixedLink:
    """Link attached to a body by fixed joints, without separate inertia.

    Attributes:
        name: Name of the link.
        joint: Index of the joint that moves the link; -1: the base.
        R: Axes of the link in the frame of the body, shape (3, 3).
        p: Origin of the link in the frame of the body, shape (3,) [m].
    """

    name: str
    joint: int
    R: Array
    p: Array


@dataclass(frozen=True, eq=False)
class Tree:
    """Joints with parents first, in the order of the robot, and the links fixed to their bodies.

    Attributes:
        name: Name of the robot.
        joints: All n joints, parents first.
        links: Links attached by fixed joints.
        gravity: Gravity in the base frame, shape (3,) [m/s^2].
    """

    name: str
    joints: tuple[TreeJoint, ...]
    links: tuple[FixedLink, ...]
    gravity: Array


def tree_of(model: RobotModel) -> Tree:
    """Return the tree of a robot.

    Raises:
        ModelError: A joint is neither revolute nor prismatic, or no simulator accepts a body.
    """
    tree = model.pin_model
    lower, upper = model.position_limits
    bad = [n for n, pi in zip(model.body_names, model.pi, strict=True) if not _accepted(pi)]
    if bad:
        raise ModelError(
            f"Simulators refuse the bodies {bad}, whose mass is zero or whose inertia is zero or physically inconsistent.",
            remedy="Identify with `--method lmi`, or lock the joints before them.",
            bodies=bad,
        )
    joints = []
    for j in range(1, tree.njoints):
        slides, axis = _axis(model, j)
        k = int(tree.joints[j].idx_v)
        joints.append(
            TreeJoint(
                tree.names[j],
                model.body_names[j - 1],
                int(tree.parents[j]) - 1,
                slides,
                axis,
                tree.jointPlacements[j].rotation.copy(),
                tree.jointPlacements[j].translation.copy(),
                model.pi[j - 1],
                (float(lower[k]), float(upper[k])),
                float(tree.velocityLimit[k]),
                float(tree.effortLimit[k]),
            )
        )
    links = [
        FixedLink(
            frame.name,
            int(frame.parentJoint) - 1,
            frame.placement.rotation.copy(),
            frame.placement.translation.copy(),
        )
        for frame in tree.frames
        if frame.type == pin.FrameType.BODY
        and not (frame.parentJoint and frame.name == model.body_names[frame.parentJoint - 1])
    ]
    return Tree(model.name or "robot", tuple(joints), tuple(links), model.gravity)


def _accepted(pi: Array) -> bool:
    """True if simulators accept the inertial parameters of a moving body."""
    if not (is_physically_consistent(pi[None])[0] and pi[0] > _LEAST):
        return False
    return float(np.linalg.eigvalsh(mass_com_inertia_from_pi(pi)[2])[0]) > _LEAST


def require_single_joints(model: RobotModel) -> None:
    """Raise an error for joints that are not exported.

    Raises:
        ModelError: A joint is neither revolute nor prismatic.
    """
    for j in range(1, model.pin_model.njoints):
        _axis(model, j)


def distinct_names(
    wanted: Iterable[tuple[str, str]], taken: Iterable[str], allowed: Callable[[str], str]
) -> dict[str, str]:
    """Return the unique names within one scope, by key.

    Args:
        wanted: Desired names by key; of equal names, the first is kept.
        taken: Names already in use.
        allowed: Function that converts a name to one valid in the format.
    """
    used, out = set(taken), {}
    for key, name in wanted:
        plain = free = allowed(name)
        k = 1
        while free in used:
            k += 1
            free = f"{plain}_{k}"
        used.add(free)
        out[key] = free
    return out


def _axis(model: RobotModel, j: int) -> tuple[bool, Array]:
    """True if a joint is prismatic, and its axis in the frame of the body."""
    joint = model.pin_model.joints[j]
    if joint.nv == 1:
        data = joint.createData()
        joint.calc(data, pin.neutral(model.pin_model)[joint.idx_q : joint.idx_q + joint.nq])
        S = np.asarray(data.S).reshape(6)
        if not (np.any(S[:3]) and np.any(S[3:])):
            direction = S[3:] if np.any(S[3:]) else S[:3]
            return not np.any(S[3:]), direction / np.linalg.norm(direction)
    raise ModelError(
        f"Joint '{model.pin_model.names[j]}' ({joint.shortname()}) is neither revolute nor prismatic, and only such joints are exported.",
        remedy=f"Fix the base, or lock it: {RobotModel.lock_options([model.pin_model.names[j]])}.",
        joint=model.pin_model.names[j],
    )


def link_elements(model: RobotModel) -> dict[str, ET.Element]:
    """Return `<link>` elements of the robot's URDF by name; empty without a URDF."""
    if not model.urdf_xml:
        return {}
    return {str(e.get("name")): e for e in ET.fromstring(model.urdf_xml).findall("link")}


def exact(values: Any, separator: str = " ") -> str:
    """Return numbers as text that is read back exactly, without negative zeros."""
    return separator.join(repr(float(x) + 0.0) for x in np.ravel(values))


class ReadTree:
    """Robot read from an exported file, n joints.

    Args:
        model: Rigid-body model of the file.
        joint_names: Names of the joints, in the order of the arrays; those not in the model have no
            torque.
        coulomb: Coulomb friction, shape (n,) [N m].
        viscous: Viscous friction, shape (n,) [N m s/rad].
        armature: Drive inertia, shape (n,) [kg m^2]; None: zero.
    """

    def __init__(
        self,
        model: RobotModel,
        joint_names: tuple[str, ...],
        coulomb: Array,
        viscous: Array,
        armature: Array | float = 0.0,
    ) -> None:
        self._model, self._armature = model, armature
        self._coulomb, self._viscous = coulomb, viscous
        self._columns = [joint_names.index(name) for name in model.joint_names]

    @property
    def dry_friction(self) -> Array:
        """Coulomb friction of the joints, shape (n,) [N m]."""
        return self._coulomb

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques along a motion [N m], shape (K, n) as the arguments, with a discontinuous
        sign of dry friction as in simulators.
        """
        return self.smooth_torques(q, v, a) + self._coulomb * np.sign(v)

    def smooth_torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques without dry friction."""
        k, rigid = self._columns, np.zeros_like(q)
        rigid[:, k] = self._model.inverse_dynamics(q[:, k], v[:, k], a[:, k])
        return np.asarray(rigid + self._armature * a + self._viscous * v)
