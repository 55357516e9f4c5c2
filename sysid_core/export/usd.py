# SPDX-License-Identifier: Apache-2.0
"""Export to USD with the joint attributes of UsdPhysics and PhysX, for Isaac Sim and Isaac Lab.

The text form is written, which needs no library; reading it back needs `usd-core` (extra `usd`).
UsdPhysics keeps masses, inertias and joint frames in single precision, and angles in degrees. Every
body has its pose at joint position zero, and every joint moves along or about the x-axis of its
frames. The schemas: https://openusd.org/release/wp_rigid_body_physics.html, and PhysxJointAxisAPI
of Omniverse Physics.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError
from sysid_core.export.projection import Projection
from sysid_core.export.tree import FIXED_BASE, ReadTree, TreeJoint, distinct_names, exact, tree_of
from sysid_core.robot import Array, RobotModel, mass_com_inertia_from_pi

_DEGREES = 180.0 / np.pi


def usd_of(robot: Projection) -> str:
    """Return the USD text of a robot.

    Args:
        robot: Robot with the terms that PhysX supports.

    Raises:
        ModelError: USD cannot represent a joint or body.
    """
    tree = tree_of(robot.model)
    names = prim_names(robot.model)
    root = f"/{names['']}"
    placed: list[pin.SE3] = []
    for joint in tree.joints:
        before = placed[joint.parent] if joint.parent >= 0 else pin.SE3.Identity()
        placed.append(before * pin.SE3(joint.R, joint.p))
    out = [
        "#usda 1.0",
        f'(\n    defaultPrim = "{names[""]}"\n    metersPerUnit = 1\n    kilogramsPerUnit = 1'
        '\n    upAxis = "Z"\n)',
        f'def Xform "{names[""]}" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])\n{{',
        *_body("fixed_base", FIXED_BASE, pin.SE3.Identity()),
        f'def PhysicsFixedJoint "to_world"\n{{\n    rel physics:body1 = <{root}/fixed_base>\n}}',
    ]
    columns = (robot.of(symbol).tolist() for symbol in ("I_a", "F_c", "F_v"))
    for joint, at, values in zip(tree.joints, placed, zip(*columns, strict=True), strict=True):
        body = names[f"link {joint.link}"]
        parent = tree.joints[joint.parent].link if joint.parent >= 0 else None
        before = "fixed_base" if parent is None else names[f"link {parent}"]
        out += _body(body, joint.pi, at)
        out += _joint(
            joint, names[f"joint {joint.name}"], f"{root}/{before}", f"{root}/{body}", values
        )
    return "\n".join([*out, "}"]) + "\n"


def actuators_of(
    robot: Projection, stiffness: Array | None = None, force: Array | None = None
) -> dict[str, dict[str, float]]:
    """Return the fields of Isaac Lab's `ImplicitActuatorCfg` for each joint (by its name in USD),
    SI units.

    Limits of arms are omitted; Isaac Lab then uses those in the USD file. The gain `damping` is
    zero, because the viscous friction is that of the joint.

    Args:
        robot: Robot with the terms that PhysX supports.
        stiffness: Stiffness of each joint's position servo, shape (n,) [N m/rad]; None: no servos.
        force: Largest torque of the servos, shape (n,) [N m]; None, or infinite: no limit.
    """
    model, zero = robot.model, np.zeros(robot.model.nv)
    columns = {
        "stiffness": zero if stiffness is None else stiffness,
        "damping": zero,
        "armature": robot.of("I_a"),
        "friction": robot.of("F_c"),
        "dynamic_friction": robot.of("F_c"),
        "viscous_friction": robot.of("F_v"),
        "effort_limit_sim": zero + np.inf if force is None else force,
    }
    names = prim_names(model)
    return {
        names[f"joint {joint}"]: {
            key: float(column[j]) for key, column in columns.items() if np.isfinite(column[j])
        }
        for j, joint in enumerate(model.joint_names)
    }


def prim_names(model: RobotModel) -> dict[str, str]:
    """Return the valid and unique USD names for `""`, `link NAME` and `joint NAME`."""
    wanted = [("", model.name), *((f"link {n}", n) for n in model.body_names)]
    wanted += [(f"joint {n}", n) for n in model.joint_names]

    def allowed(name: str) -> str:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        return plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"

    return distinct_names(wanted, ("fixed_base", "to_world"), allowed)


def require_usd() -> None:
    """Raise an error if the library that reads USD is missing.

    Raises:
        ModelError: The package usd-core is not installed.
    """
    try:
        import pxr.Usd  # noqa: F401
    except ImportError as err:
        raise ModelError(
            "A USD can't be read back without usd-core.",
            remedy="pip install 'robot_sysid[usd]', or leave the target 'usd' out.",
        ) from err


class UsdReader(ReadTree):
    """Torques of a USD file, read by `usd-core`: bodies, armature, joint friction.

    Args:
        path: Path of the USD file.
        joint_names: Names of the joints in USD, in the order of the joint arrays.
        gravity: Gravity in the base frame, shape (3,) [m/s^2]; in USD it is a property of the
            scene.

    Raises:
        ModelError: The package usd-core is not installed, or the file does not contain a robot.
    """

    def __init__(self, path: str, joint_names: Sequence[str], gravity: Array) -> None:
        require_usd()
        from pxr import Usd, UsdPhysics

        stage = Usd.Stage.Open(path)
        kinds = (UsdPhysics.RevoluteJoint, UsdPhysics.PrismaticJoint)
        joints = [prim for prim in stage.Traverse() if any(prim.IsA(kind) for kind in kinds)]
        tree = pin.Model()
        tree.gravity.linear = np.asarray(gravity, dtype=float)
        placed: dict[str, tuple[int, pin.SE3]] = {}
        rows: dict[str, tuple[float, float, float]] = {}
        for prim in joints:
            body0, body1 = (
                str(prim.GetRelationship(f"physics:body{k}").GetTargets()[0]) for k in (0, 1)
            )
            frame0, frame1 = (_frame(prim, k) for k in (0, 1))
            before, parent_from_body = placed.get(body0, (0, pin.SE3.Identity()))
            slides = prim.IsA(UsdPhysics.PrismaticJoint)
            made = pin.JointModelPX() if slides else pin.JointModelRX()
            index = tree.addJoint(before, made, parent_from_body * frame0, prim.GetName())
            tree.inertias[index] = frame1.inverse().act(_inertia(stage.GetPrimAtPath(body1)))
            placed[body1] = index, frame1.inverse()
            rows[prim.GetName()] = _axis_values(prim, "linear" if slides else "angular")
        if sorted(rows) != sorted(joint_names):
            raise ModelError(
                f"The USD has the joints {sorted(rows)}, expected {sorted(joint_names)}.",
                remedy="Export again.",
            )
        armature, coulomb, viscous = np.array([rows[name] for name in joint_names]).T
        super().__init__(
            RobotModel(tree.name, tree), tuple(joint_names), coulomb, viscous, armature
        )


def _body(name: str, pi: Array, at: pin.SE3) -> list[str]:
    mass, com, inertia = mass_com_inertia_from_pi(pi)
    moments, axes = np.linalg.eigh(np.asarray(inertia))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return [
        f'def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])\n{{',
        f"    float physics:mass = {exact(mass)}",
        f"    point3f physics:centerOfMass = {_tuple(com)}",
        f"    float3 physics:diagonalInertia = {_tuple(moments)}",
        f"    quatf physics:principalAxes = {_quaternion(axes)}",
        f"    double3 xformOp:translate = {_tuple(at.translation)}",
        f"    quatd xformOp:orient = {_quaternion(at.rotation)}",
        '    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]\n}',
    ]


def _joint(
    joint: TreeJoint, name: str, body0: str, body1: str, values: tuple[float, float, float]
) -> list[str]:
    armature, coulomb, viscous = values
    axis, kind = ("linear", "Prismatic") if joint.slides else ("angular", "Revolute")
    unit = 1.0 if joint.slides else _DEGREES
    turned = pin.Quaternion.FromTwoVectors(np.array([1.0, 0.0, 0.0]), joint.axis).matrix()
    lower, upper = joint.limits
    bounded = bool(np.isfinite(lower) and np.isfinite(upper)) and lower < upper
    api = f"PhysxJointAxisAPI:{axis}"
    prefix = f"physxJointAxis:{axis}"
    lines = [
        f'def Physics{kind}Joint "{name}" (prepend apiSchemas = ["{api}", "PhysicsDriveAPI:{axis}"])\n{{',
        f"    custom string robot_sysid:name = {json.dumps(joint.name, ensure_ascii=False)}",
        f"    rel physics:body0 = <{body0}>",
        f"    rel physics:body1 = <{body1}>",
        '    uniform token physics:axis = "X"',
        f"    point3f physics:localPos0 = {_tuple(joint.p)}",
        f"    quatf physics:localRot0 = {_quaternion(joint.R @ turned)}",
        "    point3f physics:localPos1 = (0, 0, 0)",
        f"    quatf physics:localRot1 = {_quaternion(turned)}",
        f"    float {prefix}:armature = {exact(armature)}",
        f"    float {prefix}:staticFrictionEffort = {exact(coulomb)}",
        f"    float {prefix}:dynamicFrictionEffort = {exact(coulomb)}",
        f"    float {prefix}:viscousFrictionCoefficient = {exact(viscous / unit)}",
        f"    float drive:{axis}:physics:stiffness = 0",
        f"    float drive:{axis}:physics:damping = 0",
    ]
    if bounded:
        lines += [
            f"    float physics:lowerLimit = {exact(lower * unit)}",
            f"    float physics:upperLimit = {exact(upper * unit)}",
        ]
    if 0.0 < joint.effort < np.inf:
        lines.append(f"    float drive:{axis}:physics:maxForce = {exact(joint.effort)}")
    if 0.0 < joint.velocity < np.inf:
        lines.append(f"    float {prefix}:maxJointVelocity = {exact(joint.velocity * unit)}")
    return [*lines, "}"]


def _frame(prim: Any, k: int) -> pin.SE3:
    rotation = prim.GetAttribute(f"physics:localRot{k}").Get()
    quaternion = pin.Quaternion(rotation.GetReal(), *rotation.GetImaginary()).normalized()
    return pin.SE3(
        quaternion.matrix(), np.array(prim.GetAttribute(f"physics:localPos{k}").Get(), dtype=float)
    )


def _inertia(prim: Any) -> pin.Inertia:
    axes = prim.GetAttribute("physics:principalAxes").Get()
    R = pin.Quaternion(axes.GetReal(), *axes.GetImaginary()).normalized().matrix()
    moments = np.array(prim.GetAttribute("physics:diagonalInertia").Get(), dtype=float)
    return pin.Inertia(
        float(prim.GetAttribute("physics:mass").Get()),
        np.array(prim.GetAttribute("physics:centerOfMass").Get(), dtype=float),
        R @ np.diag(moments) @ R.T,
    )


def _axis_values(prim: Any, axis: str) -> tuple[float, float, float]:
    """Armature, dry and viscous friction of a joint, SI units."""
    armature, coulomb, viscous = (
        float(prim.GetAttribute(f"physxJointAxis:{axis}:{name}").Get())
        for name in ("armature", "dynamicFrictionEffort", "viscousFrictionCoefficient")
    )
    return armature, coulomb, viscous * (_DEGREES if axis == "angular" else 1.0)


def _quaternion(R: Array) -> str:
    q = pin.Quaternion(np.asarray(R)).normalized()
    return _tuple([q.w, q.x, q.y, q.z])


def _tuple(values: Any) -> str:
    return f"({exact(values, ', ')})"
