# SPDX-License-Identifier: Apache-2.0
"""Export to SDFormat 1.9 for Gazebo and Drake: inertias, `<dynamics><damping><friction>`, limits.

The pose of a joint is given in the frame of its parent body, and the pose of the moved body in the
frame of the joint; rotations are quaternions. Links attached by fixed joints are frames of the body
that carries them.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError
from sysid_core.export.geometry import Geometry, MeshFolder, geometries_of
from sysid_core.export.projection import Projection
from sysid_core.export.tree import (
    FIXED_BASE,
    ReadTree,
    Tree,
    TreeJoint,
    distinct_names,
    exact,
    link_elements,
    tree_of,
)
from sysid_core.robot import Array, RobotModel, mass_com_inertia_from_pi

SDF_MESH_FORMATS = (".stl", ".obj", ".dae")


def sdf_of(robot: Projection, *, meshes: MeshFolder | None = None) -> str:
    """Return the SDF text of a robot.

    Args:
        robot: Robot with the terms that SDF supports.
        meshes: Folder of the mesh files, below the folder of the file; None: no meshes are written.

    Raises:
        ModelError: SDF cannot represent a joint or body.
    """
    tree, links = tree_of(robot.model), link_elements(robot.model)
    names = sdf_names(robot.model)
    root = ET.Element("sdf", version="1.9")
    model = ET.SubElement(root, "model", name=names[""])
    base = names["base"]
    _base(model, base, names["to_world"])
    _shapes(model[-2], tree, links, -1, meshes)
    friction = zip(robot.of("F_c").tolist(), robot.of("F_v").tolist(), strict=True)
    moved = [names[f"link {joint.link}"] for joint in tree.joints]
    bodies = []
    for j, (joint, (coulomb, viscous)) in enumerate(zip(tree.joints, friction, strict=True)):
        parent = moved[joint.parent] if joint.parent >= 0 else base
        name = names[f"joint {joint.name}"]
        model.append(_joint(joint, name, parent, moved[j], coulomb, viscous))
        link = ET.SubElement(model, "link", name=moved[j])
        ET.SubElement(link, "pose", relative_to=name).text = "0 0 0 0 0 0"
        link.append(_inertial(joint.pi))
        bodies.append(link)
    for j, link in enumerate(bodies):
        _shapes(link, tree, links, j, meshes)
    for frame in tree.links:
        own = names.get(f"frame {frame.name}")
        if own is None:
            continue  # the base, or the world itself
        carrier = moved[frame.joint] if frame.joint >= 0 else base
        element = ET.SubElement(model, "frame", name=own, attached_to=carrier)
        element.append(_pose(frame.R, frame.p))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def sdf_names(model: RobotModel) -> dict[str, str]:
    """Return the valid SDF names for `""`, `base`, `to_world`, `link NAME`, `joint NAME` and `frame
    NAME`.

    Links, joints and frames share one scope; `::` divides scopes, `world` and `__NAME__` are reserved.
    """
    tree = tree_of(model)
    wanted = [(f"joint {joint.name}", joint.name) for joint in tree.joints]
    wanted += [(f"link {joint.link}", joint.link) for joint in tree.joints]
    fixed = (f.name for f in tree.links if f.name not in ("world", model.root_link))
    wanted += [(f"frame {name}", name) for name in fixed]
    wanted += [("base", "base" if model.root_link == "world" else model.root_link)]
    wanted += [("to_world", f"{model.root_link}_to_world")]

    def allowed(name: str) -> str:
        plain = name.replace("::", "_").strip() or "robot"
        return plain.strip("_") or "robot" if re.fullmatch("__.*__", plain) else plain

    return {"": allowed(model.name)} | distinct_names(wanted, ("world",), allowed)


class SdfReader(ReadTree):
    """Torques of an SDF file as simulators compute them: rigid bodies and joint friction.

    Args:
        text: SDF text with one model.
        joint_names: Names of the n joints, in the order of the arrays.
        gravity: Gravity in the base frame, shape (3,) [m/s^2]; in SDF it is a property of the
            world.

    Raises:
        ModelError: The model is not a tree of revolute and prismatic joints that starts at the
            world.
    """

    def __init__(self, text: str, joint_names: tuple[str, ...], gravity: Array) -> None:
        model = ET.fromstring(text).find("model")
        if model is None:
            raise ValueError("the SDF has no model")
        bodies = {str(link.get("name")): link for link in model.findall("link")}
        joints = {str(joint.get("name")): joint for joint in model.findall("joint")}
        tree = pin.Model()
        tree.gravity.linear = np.asarray(gravity, dtype=float)
        moved: dict[str, int] = {}
        left = dict(joints)
        while left:
            ready = [n for n, j in left.items() if j.findtext("parent") in ("world", *moved)]
            if not ready:
                raise ModelError(
                    f"The joints {list(left)} of the SDF are not connected to the base.",
                    remedy="Start from a link that is fixed to the world.",
                )
            for name in ready:
                _add(tree, moved, name, left.pop(name), bodies)
        if sorted(tree.names[1:]) != sorted(joint_names):
            raise ModelError(
                f"The SDF has the joints {list(tree.names[1:])}, expected {list(joint_names)}.",
                remedy="Export again.",
            )

        def dynamics(key: str) -> Array:
            return np.array(
                [float(joints[n].findtext(f"axis/dynamics/{key}", "0")) for n in joint_names]
            )

        super().__init__(
            RobotModel(tree.name, tree), joint_names, dynamics("friction"), dynamics("damping")
        )


def _add(
    tree: pin.Model,
    moved: dict[str, int],
    name: str,
    joint: ET.Element,
    bodies: Mapping[str, ET.Element],
) -> None:
    """Append a joint and its body to the model."""
    child, parent = str(joint.findtext("child")), str(joint.findtext("parent"))
    before = moved.get(parent, 0)
    if joint.get("type") == "fixed":
        moved[child] = before
        return
    axis = _floats(joint.findtext("axis/xyz", "0 0 1"))
    made = (
        pin.JointModelPrismaticUnaligned
        if joint.get("type") == "prismatic"
        else pin.JointModelRevoluteUnaligned
    )(axis)
    index = tree.addJoint(before, made, _se3(joint.find("pose")), name)
    inertial = bodies[child].find("inertial")
    if inertial is None:
        raise ValueError(f"link '{child}' has no <inertial>")
    inertia = np.zeros((3, 3))
    for key, (i, j) in RobotModel.INERTIA_ENTRIES.items():
        inertia[i, j] = inertia[j, i] = float(inertial.findtext(f"inertia/{key}", "0"))
    tree.inertias[index] = _se3(inertial.find("pose")).act(
        pin.Inertia(float(inertial.findtext("mass", "0")), np.zeros(3), inertia)
    )
    moved[child] = index


def _se3(pose: ET.Element | None) -> pin.SE3:
    if pose is None:
        return pin.SE3.Identity()
    values = _floats(pose.text or "")
    if pose.get("rotation_format") == "quat_xyzw":
        return pin.SE3(pin.Quaternion(values[3:]).normalized().matrix(), values[:3])
    return pin.SE3(pin.rpy.rpyToMatrix(values[3:]), values[:3])


def _floats(text: str) -> Array:
    return np.array([float(x) for x in text.split()])


def _base(model: ET.Element, name: str, joint_name: str) -> None:
    """Write the fixed link, and the joint that fixes it to the world."""
    link = ET.SubElement(model, "link", name=name)
    link.append(_inertial(FIXED_BASE))
    joint = ET.SubElement(model, "joint", name=joint_name, type="fixed")
    ET.SubElement(joint, "parent").text = "world"
    ET.SubElement(joint, "child").text = name


def _joint(
    joint: TreeJoint, name: str, parent: str, child: str, coulomb: float, viscous: float
) -> ET.Element:
    bounded = bool(np.all(np.isfinite(joint.limits))) and joint.limits[0] < joint.limits[1]
    kind = "prismatic" if joint.slides else "revolute" if bounded else "continuous"
    element = ET.Element("joint", name=name, type=kind)
    element.append(_pose(joint.R, joint.p, parent))
    ET.SubElement(element, "parent").text = parent
    ET.SubElement(element, "child").text = child
    axis = ET.SubElement(element, "axis")
    ET.SubElement(axis, "xyz").text = exact(joint.axis)
    limit = ET.SubElement(axis, "limit")
    if bounded:
        ET.SubElement(limit, "lower").text = exact(joint.limits[0])
        ET.SubElement(limit, "upper").text = exact(joint.limits[1])
    for key, value in (("effort", joint.effort), ("velocity", joint.velocity)):
        if 0.0 < value < np.inf:
            ET.SubElement(limit, key).text = exact(value)
    dynamics = ET.SubElement(axis, "dynamics")
    ET.SubElement(dynamics, "damping").text = exact(viscous)
    ET.SubElement(dynamics, "friction").text = exact(coulomb)
    return element


def _inertial(pi: Array) -> ET.Element:
    mass, com, inertia = mass_com_inertia_from_pi(pi)
    element = ET.Element("inertial")
    ET.SubElement(element, "pose").text = f"{exact(com)} 0 0 0"
    ET.SubElement(element, "mass").text = exact(mass)
    moments = ET.SubElement(element, "inertia")
    for key, (i, j) in RobotModel.INERTIA_ENTRIES.items():
        ET.SubElement(moments, key).text = exact(inertia[i, j])
    return element


def _shapes(
    link: ET.Element, tree: Tree, links: Mapping[str, ET.Element], j: int, meshes: MeshFolder | None
) -> None:
    """Write the geometry of a body and of all links that are fixed to it."""
    carried = [(f.name, pin.SE3(f.R, f.p)) for f in tree.links if f.joint == j]
    if j >= 0:
        carried.insert(0, (tree.joints[j].link, pin.SE3.Identity()))
    for name, placement in carried:
        for i, shape in enumerate(geometries_of(links[name]) if name in links else ()):
            geometry = _geometry(shape, meshes)
            if geometry is None:
                continue
            kind = "collision" if shape.collides else "visual"
            element = ET.SubElement(link, kind, name=f"{name}_{kind}_{i}")
            at = placement * pin.SE3(shape.R, shape.p)
            element.append(_pose(at.rotation, at.translation))
            element.append(geometry)


def _geometry(shape: Geometry, meshes: MeshFolder | None) -> ET.Element | None:
    element = ET.Element("geometry")
    if shape.kind == "mesh":
        copied = None if meshes is None else meshes.copy(shape.mesh)
        if meshes is None or copied is None:
            return None
        mesh = ET.SubElement(element, "mesh")
        ET.SubElement(mesh, "uri").text = f"{meshes.out.name}/{copied}"
        ET.SubElement(mesh, "scale").text = exact(shape.size)
        return element
    inner = ET.SubElement(element, shape.kind)
    if shape.kind == "box":
        ET.SubElement(inner, "size").text = exact(shape.size)
    else:
        for key, value in zip(("radius", "length"), shape.size, strict=False):
            ET.SubElement(inner, key).text = exact(value)
    return element


def _pose(R: Array, p: Array, relative_to: str = "") -> ET.Element:
    quaternion = pin.Quaternion(np.asarray(R)).normalized()
    attributes = {"relative_to": relative_to} if relative_to else {}
    element = ET.Element("pose", attributes | {"rotation_format": "quat_xyzw"})
    element.text = f"{exact(p)} {exact(quaternion.coeffs())}"
    return element
