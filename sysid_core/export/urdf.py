# SPDX-License-Identifier: Apache-2.0
"""Export to URDF: inertias, `<dynamics friction damping>`, and a reader."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError
from sysid_core.estimation.arm import Identification
from sysid_core.export.projection import Projection
from sysid_core.export.tree import ReadTree, exact
from sysid_core.robot import Array, RobotModel, is_physically_consistent, mass_com_inertia_from_pi


def urdf_of(robot: Projection, remarks: Mapping[str, str] | None = None) -> str:
    """Return the URDF of the robot with the identified bodies and the projected friction.

    Links that are attached by fixed joints are part of the body that carries them. The whole
    inertia is written to the link of this body, and zero to the attached links, because without an
    inertia MuJoCo computes one from the shapes and PyBullet assumes 1 kg. Locked joints are written
    as fixed joints.

    Args:
        robot: Robot with the terms that a URDF supports.
        remarks: Comments on the values, by link name.

    Raises:
        ModelError: The model has no URDF, or parameters are physically impossible.
    """
    model = robot.model
    _require_writable(model)
    root = _root(model.urdf_xml)
    root.set("name", root.get("name") or "robot")  # required by Drake
    links = {link.get("name"): link for link in root.findall("link")}
    joints = {joint.get("name"): joint for joint in root.findall("joint")}
    body_of = _links_of_bodies(model)
    for name, link in links.items():
        body = body_of.get(str(name), 0)
        if body == 0:
            continue  # fixed to the world: never moves
        for old in link.findall("inertial"):
            link.remove(old)
        own = model.pi[body - 1] if name == model.body_names[body - 1] else np.zeros(10)
        link.insert(0, _inertial(own))
        remark = (remarks or {}).get(str(name))
        if remark and np.any(own):
            link.insert(0, ET.Comment(f" {remark.replace('--', '-')} "))
    for name, position in model.locked.items():
        _fix(joints[name], position)
    for joint in joints.values():
        mimic = joint.find("mimic")
        if mimic is not None and mimic.get("joint") in model.locked:  # parsers refuse such a leader
            joint.remove(mimic)
    for transmission in root.findall("transmission"):
        if any(joint.get("name") not in joints for joint in transmission.findall("joint")):
            root.remove(transmission)  # Drake refuses a file with one of an unknown joint
    for key, symbol in (("friction", "F_c"), ("damping", "F_v")):
        for name, value in zip(model.joint_names, robot.of(symbol), strict=True):
            element = joints[name].find("dynamics")
            if element is None:
                element = ET.SubElement(joints[name], "dynamics")
            element.set(key, exact(value))
    return _text(root)


def with_meshes(urdf: str, name_of: Callable[[str], str]) -> str:
    """Return a URDF with other names of its mesh files.

    Args:
        urdf: URDF text.
        name_of: New name of each mesh file.
    """
    root = _root(urdf)
    for mesh in root.iterfind("link/*/geometry/mesh"):
        if mesh.get("filename"):
            mesh.set("filename", name_of(mesh.attrib["filename"]))
    return _text(root)


def _root(urdf: str) -> ET.Element:
    """Root element, whose comments are kept."""
    return ET.fromstring(urdf, parser=ET.XMLParser(target=ET.TreeBuilder(insert_comments=True)))


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _require_writable(model: RobotModel) -> None:
    """Raise an error for a robot without URDF, and for parameters that are not physically
    consistent.
    """
    if not model.urdf_xml:
        raise ModelError(
            f"'{model.name}' wasn't built from a URDF: there is nothing to write back to.",
            remedy="Load the robot from its URDF.",
        )
    consistent = is_physically_consistent(model.pi)
    bad = [n for n, ok in zip(model.body_names, consistent, strict=True) if not ok]
    if bad:
        raise ModelError(
            f"The parameters of {bad} are not physically consistent, and simulators refuse them.",
            remedy="Identify with `--method lmi` or `--method entropic`.",
            bodies=bad,
        )


def _links_of_bodies(model: RobotModel) -> dict[str, int]:
    """Map from the name of each link to the index of the joint that moves it (0: none)."""
    return {
        frame.name: int(frame.parentJoint)
        for frame in model.pin_model.frames
        if frame.type == pin.FrameType.BODY
    }


def _fix(joint: ET.Element, position: float) -> None:
    """Convert a joint to a fixed joint at a position [rad or m]."""
    origin, axis = joint.find("origin"), joint.find("axis")
    if origin is None:
        origin = ET.SubElement(joint, "origin")
    xyz, rpy, along = (
        np.array([float(x) for x in text.split()])
        for text in (
            origin.get("xyz", "0 0 0"),
            origin.get("rpy", "0 0 0"),
            "1 0 0" if axis is None else axis.get("xyz", "1 0 0"),
        )
    )
    along /= np.linalg.norm(along)
    R = pin.rpy.rpyToMatrix(rpy)
    if joint.get("type") == "prismatic":
        xyz = xyz + R @ (position * along)
    else:
        R = R @ pin.exp3(position * along)
    origin.set("xyz", exact(xyz))
    origin.set("rpy", exact(pin.rpy.matrixToRpy(R)))
    joint.set("type", "fixed")
    for tag in ("axis", "limit", "dynamics", "mimic", "safety_controller", "calibration"):
        for element in joint.findall(tag):
            joint.remove(element)


def _inertial(pi: Array) -> ET.Element:
    mass, com, inertia = (
        mass_com_inertia_from_pi(pi) if np.any(pi) else (0.0, np.zeros(3), np.zeros((3, 3)))
    )
    element = ET.Element("inertial")
    ET.SubElement(element, "mass", value=exact(mass))
    ET.SubElement(element, "origin", rpy="0 0 0", xyz=exact(com))
    moments = {key: exact(inertia[i, j]) for key, (i, j) in RobotModel.INERTIA_ENTRIES.items()}
    ET.SubElement(element, "inertia", moments)
    return element


def remarks_on(result: Identification) -> dict[str, str]:
    """Return the comments for each link of a URDF: which parameters were identified, and which were
    kept.
    """
    estimate = result.estimate
    known = {
        name: f"{value:.4g} +- {sd:.2g} {unit}"
        for name, value, sd, unit in zip(
            estimate.names,
            estimate.values,
            estimate.standard_deviations,
            estimate.units,
            strict=True,
        )
        if np.isfinite(sd)
    }
    out = {}
    for body in result.model.body_names:
        own = [name for name in result.names if name.startswith(f"{body}.")]
        measured = [f"{name.rsplit('.', 1)[1]} {known[name]}" for name in own if name in known]
        open_ = [name.rsplit(".", 1)[1] for name in own if name not in known]
        parts = [f"measured alone: {', '.join(measured)}"] if measured else []
        if open_:
            parts.append(
                f"only in combination with others, with the URDF's share: {', '.join(open_)}"
            )
        out[body] = f"{estimate.method}, about the link's frame; {'; '.join(parts)}"
    return out


class UrdfReader(ReadTree):
    """Torques of a URDF file as simulators compute them: rigid bodies and joint friction.

    Args:
        text: URDF text.
        joint_names: Names of the n joints, in the order of the arrays; other joints are held at
            zero.
        gravity: Gravity in the base frame, shape (3,) [m/s^2].
    """

    def __init__(self, text: str, joint_names: tuple[str, ...], gravity: Array) -> None:
        dynamics = {j.get("name"): j.find("dynamics") for j in ET.fromstring(text).findall("joint")}
        model = RobotModel.from_urdf(text, gravity=gravity)
        model = model.with_locked([n for n in model.joint_names if n not in joint_names])

        def attribute(name: str) -> Array:
            found = [dynamics.get(joint) for joint in joint_names]
            return np.array([0.0 if d is None else float(d.get(name, "0")) for d in found])

        super().__init__(model, joint_names, attribute("friction"), attribute("damping"))
