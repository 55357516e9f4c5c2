# SPDX-License-Identifier: Apache-2.0
"""Representation of a joint in the RPNA by one or several steps with fixed free modes."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin

from sysid_core.errors import IdentifiabilityError
from sysid_core.robot import Array, RobotModel

_UNIT_MODES = {
    **{f"JointModelP{axis}": k for k, axis in enumerate("XYZ")},
    **{f"JointModelR{axis}": 3 + k for k, axis in enumerate("XYZ")},
    **{f"JointModelRUB{axis}": 3 + k for k, axis in enumerate("XYZ")},
}
_KINDS = {
    "JointModelFreeFlyer": "floating",
    "JointModelPlanar": "planar",
    "JointModelSpherical": "spherical",
    "JointModelSphericalZYX": "spherical",
    "JointModelTranslation": "translation",
    "JointModelUniversal": "universal",
    "JointModelComposite": "composite",
    "JointModelHelicalUnaligned": "helical",
    **{f"JointModelH{axis}": "helical" for axis in "XYZ"},
    **{f"JointModelR{axis}": "revolute" for axis in "XYZ"},
    **{f"JointModelRUB{axis}": "continuous" for axis in "XYZ"},
    **{f"JointModelP{axis}": "prismatic" for axis in "XYZ"},
    "JointModelRevoluteUnaligned": "revolute",
    "JointModelRevoluteUnboundedUnaligned": "continuous",
    "JointModelPrismaticUnaligned": "prismatic",
}


def joint_types(model: RobotModel) -> list[str]:
    """Common names of the joint types, such as "revolute"."""
    names = [joint.shortname() for joint in model.pin_model.joints][1:]
    return [_KINDS.get(name, name.removeprefix("JointModel").lower()) for name in names]


@functools.cache
def _unit_mode(k: int) -> Array:
    mode = np.zeros((1, 6))
    mode[0, k] = 1.0
    mode.setflags(write=False)
    return mode


def joint_steps(model: RobotModel) -> list[list[tuple[Array | None, Array]]]:
    r"""Every joint as a sequence of steps with constant free modes.

    Nearly every joint is one step. A universal or composite joint is several, with massless
    bodies between them. Spherical joints in Euler angles reach every rotation, so that their
    spans are those of a ball joint.

    Args:
        model: The robot.

    Returns:
        For every joint, and every step of it, the pose of the step's frame in the frame before
        (None: the same) and its free modes [v; omega], shape (n_modes, 6).

    Raises:
        IdentifiabilityError: A joint's free modes depend on its position in another way.
    """
    joints, names = model.pin_model.joints, model.pin_model.names
    return [_steps(joint, name) for joint, name in list(zip(joints, names, strict=True))[1:]]


def _steps(joint: pin.JointModel, name: str) -> list[tuple[Array | None, Array]]:
    kind = joint.shortname()
    k = _UNIT_MODES.get(kind)
    if k is not None:
        return [(None, _unit_mode(k))]
    if kind == "JointModelSphericalZYX":
        return [(None, np.eye(6)[3:])]
    # Generic joints come wrapped; the members of a composite joint too.
    inner = joint.extract() if hasattr(joint, "extract") else joint
    if kind == "JointModelUniversal":
        return [
            (None, np.concatenate([np.zeros(3), axis])[None]) for axis in (inner.axis1, inner.axis2)
        ]
    if kind == "JointModelComposite":
        steps: list[tuple[Array | None, Array]] = []
        for member, placement in zip(inner.joints, inner.jointPlacements, strict=True):
            (first, modes), *rest = _steps(member, name)
            pose = np.asarray(placement.homogeneous)
            steps += [(pose if first is None else pose @ first, modes), *rest]
        return steps
    if kind not in _KINDS:
        raise IdentifiabilityError(
            f"Joint '{name}' is a {kind}, whose free modes change with its position.",
            remedy="Model it with revolute, prismatic, planar, spherical or floating joints"
            " (a mimic joint: build the robot without it and choose mimic='coupled').",
            joint=name,
        )
    data = joint.createData()
    joint.calc(data, joint.lieGroup().neutral)
    return [(None, np.asarray(data.S, dtype=float).reshape(6, -1).T)]
