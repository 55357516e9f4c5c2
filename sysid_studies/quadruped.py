# SPDX-License-Identifier: Apache-2.0
"""Quadruped with the leg layout of the Cheetah 3, and a gallop for it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from sysid_core.robot import Array, RobotModel

LEGS = ("FL", "FR", "RL", "RR")
LEG_JOINTS = ("abad", "hip", "knee")
GEAR_RATIO = 10.0
STRIDES, SAMPLES = 4, 240  # of a gallop
_HIP_OFFSET, _THIGH = 0.044, 0.342  # [m], along the hip's axis; as in the paper
_TORSO = (0.30, 0.12)  # [m] half distances between the legs, forward and sideways
# mass [kg], com [m] (left side), inertia about the com [kg m^2]: chosen, not the Cheetah's.
_TORSO_INERTIAL = (24.0, (0.01, 0.003, 0.02), (0.32, 1.25, 1.4, 0.01, 0.03, -0.008))
_LINKS = {
    "abad": (1.6, (0.004, 0.026, -0.003), (2.1e-3, 1.7e-3, 2.4e-3, 1e-4, -2e-4, 1.5e-4)),
    "hip": (2.7, (0.006, 0.011, -0.058), (2.3e-2, 2.2e-2, 4.4e-3, 3e-4, -6e-4, 5e-4)),
    "knee": (0.75, (0.005, -0.002, -0.12), (9.6e-3, 9.5e-3, 3.2e-4, 2e-5, 1.6e-4, -1e-4)),
}
_ROTOR = (0.32, 4.2e-4, 2.3e-4)  # mass [kg], inertia about the axis, across it [kg m^2]
_AXES = {"abad": "1 0 0", "hip": "0 1 0", "knee": "0 1 0"}


def quadruped() -> RobotModel:
    """Return the robot with a floating torso and four legs; every rotor is a separate body that
    mimics its joint.
    """
    return RobotModel.from_urdf(_urdf(LEGS), floating_base=True)


def single_leg(leg: str = "FL") -> RobotModel:
    """Return the robot with one leg on a locked torso, as on a test bench."""
    return RobotModel.from_urdf(_urdf((leg,)))


def _urdf(legs: tuple[str, ...]) -> str:
    robot = ET.Element("robot", name="quadruped")
    _link(robot, "torso", *_TORSO_INERTIAL)
    for leg in legs:
        forward, side = (1 if leg[0] == "F" else -1), (1 if leg[1] == "L" else -1)
        places = {
            "abad": (forward * _TORSO[0], side * _TORSO[1], 0.0),
            "hip": (0.0, side * _HIP_OFFSET, 0.0),
            "knee": (0.0, 0.0, -_THIGH),
        }
        parent = "torso"
        for joint in LEG_JOINTS:
            name = f"{leg}_{joint}"
            mass, com, (xx, yy, zz, xy, xz, yz) = _LINKS[joint]
            mirrored = (com[0], side * com[1], com[2])
            _link(robot, f"{name}_link", mass, mirrored, (xx, yy, zz, side * xy, xz, side * yz))
            _joint(robot, name, parent, f"{name}_link", places[joint], _AXES[joint])
            # The rotor's z is the joint's axis; the knee's rotor sits at the hip.
            rotor = f"{name}_rotor"
            m, along, across = _ROTOR
            _link(robot, rotor, m, (0.0, 0.0, 0.0), (across, across, along, 0.0, 0.0, 0.0))
            rpy = "0 1.5707963267948966 0" if joint == "abad" else "-1.5707963267948966 0 0"
            where = (0.0, 0.0, 0.0) if joint == "knee" else places[joint]
            _joint(robot, f"{rotor}_joint", parent, rotor, where, "0 0 1", rpy, follows=name)
            parent = f"{name}_link"
    return ET.tostring(robot, encoding="unicode")


def _link(
    robot: ET.Element, name: str, mass: float, com: tuple[float, ...], inertia: tuple[float, ...]
) -> None:
    inertial = ET.SubElement(ET.SubElement(robot, "link", name=name), "inertial")
    ET.SubElement(inertial, "mass", value=repr(mass))
    ET.SubElement(inertial, "origin", xyz=" ".join(map(repr, com)), rpy="0 0 0")
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    ET.SubElement(inertial, "inertia", dict(zip(keys, map(repr, inertia), strict=True)))


def _joint(
    robot: ET.Element,
    name: str,
    parent: str,
    child: str,
    place: tuple[float, ...],
    axis: str,
    rpy: str = "0 0 0",
    follows: str = "",
) -> None:
    joint = ET.SubElement(robot, "joint", name=name, type="revolute")
    ET.SubElement(joint, "origin", xyz=" ".join(map(repr, place)), rpy=rpy)
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    ET.SubElement(joint, "axis", xyz=axis)
    ET.SubElement(joint, "limit", lower="-100", upper="100", velocity="1000", effort="1000")
    if follows:
        ET.SubElement(joint, "mimic", joint=follows, multiplier=repr(GEAR_RATIO), offset="0")


@dataclass(frozen=True, eq=False)
class Gallop:
    """Transverse gallop: motion of torso and legs, K samples.

    Attributes:
        time: Times, shape (K,) [s].
        position: Position of the torso, with its first two derivatives, shape (3, K, 3) [m, s].
        rpy: Roll, pitch and yaw of the torso, with their first two derivatives, shape (3, K, 3)
            [rad, s].
        legs: Joint angles by `leg_joint`, with their first two derivatives, shape (3, K) [rad, s].
    """

    time: Array
    position: Array
    rpy: Array
    legs: dict[str, Array]


def gallop(*, stride: float = 0.42, detail: float = 0.0) -> Gallop:
    """Gallop as a sum of harmonics of the stride, with the feet in the order RR, RL, FR, FL.

    Args:
        stride: Duration of a stride [s].
        detail: Phase shift between the harmonics [rad]; each value gives another gallop.
    """
    time = np.linspace(0.0, STRIDES * stride, SAMPLES, endpoint=False)
    w = 2 * np.pi / stride
    slow = w / STRIDES  # lets the strides differ: a course that isn't quite straight

    def wave(mean: float, *terms: tuple[float, float, float]) -> Array:
        """Convert amplitude, frequency [rad/s] and phase [rad] to value, rate and acceleration (3,
        K).
        """
        out = np.zeros((3, SAMPLES))
        out[0] = mean
        for k, (amplitude, frequency, phase) in enumerate(terms, start=1):
            angle = frequency * time + phase + k * detail
            out[0] += amplitude * np.sin(angle)
            out[1] += amplitude * frequency * np.cos(angle)
            out[2] -= amplitude * frequency**2 * np.sin(angle)
        return out

    x = wave(0.0, (0.03, w, 0.4), (0.01, 2 * w, 1.1)) + [3.0 * time, 0 * time + 3.0, 0 * time]
    y = wave(0.0, (0.02, w, 1.9), (0.03, slow, 0.3))
    z = wave(0.6, (0.05, w, 2.6), (0.012, 2 * w, 0.2))
    roll = wave(0.0, (0.05, w, 0.9), (0.03, slow, 1.4))
    pitch = wave(0.0, (0.12, w, 0.1), (0.02, 2 * w, 2.0))
    yaw = wave(0.0, (0.04, w, 1.3), (0.08, slow, 2.2))
    legs = {}
    for leg, touch_down in {"RR": 0.0, "RL": 0.15, "FR": 0.5, "FL": 0.65}.items():
        p = -2 * np.pi * touch_down
        legs[f"{leg}_abad"] = wave(0.0, (0.10, w, p + 0.6), (0.04, 2 * w, 2 * p + 1.7))
        legs[f"{leg}_hip"] = wave(
            -0.7, (0.55, w, p), (0.12, 2 * w, 2 * p + 0.8), (0.04, 3 * w, 3 * p + 2.1)
        )
        legs[f"{leg}_knee"] = wave(
            1.5, (0.50, w, p + 1.2), (0.22, 2 * w, 2 * p + 2.3), (0.06, 3 * w, 3 * p + 0.5)
        )
    return Gallop(time, np.stack([x, y, z], -1), np.stack([roll, pitch, yaw], -1), legs)


def motion_of(model: RobotModel, motion: Gallop) -> tuple[Array, Array, Array]:
    """Return the configuration (K, nq), velocity and acceleration (K, nv) of a model that gallops.

    A model without a floating base moves only its legs, as with a locked torso. Rotors turn with
    their joints.
    """
    pin_model, K = model.pin_model, len(motion.time)
    q = np.tile(pin.neutral(pin_model), (K, 1))
    v, a = np.zeros((K, model.nv)), np.zeros((K, model.nv))
    followers = {mimic.joint: mimic for mimic in model.mimic_joints}
    for name in model.joint_names:
        joint = pin_model.joints[pin_model.getJointId(name)]
        if joint.nv == 6:
            _torso(motion, q, v, a)
            continue
        mimic = followers.get(name)
        ratio, leader = (1.0, name) if mimic is None else (mimic.multiplier, mimic.leader)
        q[:, joint.idx_q], v[:, joint.idx_v], a[:, joint.idx_v] = ratio * motion.legs[leader]
    return q, v, a


def _torso(motion: Gallop, q: Array, v: Array, a: Array) -> None:
    """Fill in the state of the floating base, with velocities in the axes of the base."""
    for k in range(len(motion.time)):
        rpy, rate, acceleration = motion.rpy[:, k]
        R = pin.rpy.rpyToMatrix(rpy)
        J = pin.rpy.computeRpyJacobian(rpy, pin.ReferenceFrame.LOCAL)
        dJ = pin.rpy.computeRpyJacobianTimeDerivative(rpy, rate, pin.ReferenceFrame.LOCAL)
        omega = J @ rate
        q[k, :3], q[k, 3:7] = motion.position[0, k], pin.Quaternion(R).coeffs()
        v[k, :3], v[k, 3:6] = R.T @ motion.position[1, k], omega
        a[k, :3] = R.T @ motion.position[2, k] - np.cross(omega, v[k, :3])
        a[k, 3:6] = J @ acceleration + dJ @ rate
