# SPDX-License-Identifier: Apache-2.0
"""Export to MJCF, the format of MuJoCo: inertias, armature, damping and dry friction.

Inertias are written as complete tensors (`fullinertia`) at the body that moves. Links attached by
fixed joints are separate bodies without mass, whose poses follow from the composition of the fixed
joints in pinocchio. A constant torque of a drive becomes the bias of its motor, so that `ctrl` is
the torque of the drive.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from sysid_core.errors import ModelError
from sysid_core.export.geometry import Geometry, MeshFolder, geometries_of
from sysid_core.export.joint_fields import JointFields
from sysid_core.export.tree import (
    FixedLink,
    Tree,
    distinct_names,
    exact,
    link_elements,
    tree_of,
)
from sysid_core.lazy import lazy_import
from sysid_core.robot import Array, RobotModel, mass_com_inertia_from_pi
from sysid_core.robot.loops import ClosedChain, LoopKind

if TYPE_CHECKING:
    import mujoco
else:
    mujoco = lazy_import("mujoco")

MESH_FORMATS = (".stl", ".obj", ".msh")
TIMESTEP = 0.002  # [s], MuJoCo's default
# [s] A simulation may be stepped as finely: MuJoCo cuts a delay that its buffer of steps can't hold.
_SHORTEST = TIMESTEP / 4
# Dry friction is a soft constraint in MuJoCo: below its limit a joint creeps at
# v = (1 - d) / d * tau / M * (d timeconst / 2). The largest impedance and the shortest time constant
# that MuJoCo allows (mjMAXIMP = 0.9999; two steps) leave 2e-7 rad/s per rad/s^2 of load.
STICKING = {
    "solreffriction": f"{2 * TIMESTEP!r} 1",
    "solimpfriction": "0.9999 0.9999 0.001 0.5 2",
}


Sites = list[tuple[str, Array, Array]]  # name, axes and origin in the body


@dataclass
class _Writer:
    """MJCF document under construction."""

    tree: Tree
    fields: Mapping[str, JointFields]
    links: Mapping[str, ET.Element]
    meshes: MeshFolder | None
    sites: Mapping[int, Sites]
    assets: dict[tuple[tuple[str, str], ...], str] = field(default_factory=dict)

    def body(self, j: int) -> ET.Element:
        """Write the body of a joint with all bodies beyond it."""
        joint = self.tree.joints[j]
        element = ET.Element("body", {"name": joint.link} | _pose(joint.R, joint.p))
        mass, com, inertia = mass_com_inertia_from_pi(joint.pi)
        full = [inertia[a, b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        ET.SubElement(
            element, "inertial", pos=exact(com), mass=exact(mass), fullinertia=exact(full)
        )
        own = self.fields.get(joint.name, JointFields())
        attributes = {
            "name": joint.name,
            "type": "slide" if joint.slides else "hinge",
            "axis": exact(joint.axis),
        }
        limits = own.limits or joint.limits
        if np.all(np.isfinite(limits)) and limits[0] < limits[1]:
            attributes["range"] = exact(limits)
        for key in ("armature", "damping", "frictionloss"):
            attributes[key] = exact(getattr(own, key))
        ET.SubElement(element, "joint", attributes | STICKING)
        self.shapes(element, joint.link)
        self.carried(element, j)
        return element

    def base(self, world: ET.Element) -> None:
        """Write all bodies inside a root body, because pinocchio reads only the first body. The
        root body is the link at the origin of the base or, without such a link, a body without
        shapes.
        """
        origin = next((link for link in self.tree.links if _at_origin(link)), None)
        taken = ["world", *(j.link for j in self.tree.joints), *(k.name for k in self.tree.links)]
        name = origin.name if origin else distinct_names([("", "base")], taken, str)[""]
        element = ET.SubElement(world, "body", name=name)
        if origin is not None:
            self.shapes(element, name)
        self.carried(element, -1, origin)

    def carried(self, element: ET.Element, j: int, but: FixedLink | None = None) -> None:
        """Write the links and sites that are fixed to the body of joint j, and the bodies beyond it."""
        for link in self.tree.links:
            if link is but:
                continue
            if link.joint == j and link.name != "world":
                body = ET.SubElement(element, "body", {"name": link.name} | _pose(link.R, link.p))
                self.shapes(body, link.name)
            elif link.joint == j:
                self.shapes(element, link.name)
        for name, R, p in self.sites.get(j, []):
            ET.SubElement(element, "site", {"name": name} | _pose(R, p))
        for k, child in enumerate(self.tree.joints):
            if child.parent == j:
                element.append(self.body(k))

    def shapes(self, element: ET.Element, link: str) -> None:
        """Write the geometry of a link; collision shapes are visible if the link has no visual
        shapes.
        """
        shapes = geometries_of(self.links[link]) if link in self.links else []
        written = [(shape, own) for shape in shapes if (own := self.shape(shape)) is not None]
        pictured = not all(shape.collides for shape, _ in written)
        for shape, attributes in written:
            # Shapes for contacts meet the world's, not each other. They weigh nothing: bodies without
            # inertia of their own, which Drake and pinocchio refuse if they have none otherwise.
            attributes["mass"] = "0"
            # MuJoCo's viewer shows the groups 0 to 2.
            attributes["group"] = "3" if shape.collides and pictured else "2"
            attributes |= {"contype": "0", "conaffinity": str(int(shape.collides))}
            ET.SubElement(element, "geom", attributes | _pose(shape.R, shape.p))

    def shape(self, shape: Geometry) -> dict[str, str] | None:
        """Type and size of a shape; None for a mesh that is not available."""
        if shape.kind == "mesh":
            own = {"scale": exact(shape.size)}

            def taken(path: Path) -> bool:
                if _reads_mesh(path, own, shape.collides):
                    return True
                own["inertia"] = "shell"  # for meshes without volume
                return _reads_mesh(path, own, shape.collides)

            copied = None if self.meshes is None else self.meshes.copy(shape.mesh, taken)
            if copied is None:
                return None
            asset = tuple({"file": copied, **own}.items())
            name = self.assets.setdefault(asset, f"mesh_{len(self.assets)}")
            return {"type": "mesh", "mesh": name}
        halves = {"box": 0.5, "cylinder": np.array([1.0, 0.5])}.get(shape.kind, 1.0)
        return {"type": shape.kind, "size": exact(halves * np.array(shape.size))}


def _reads_mesh(path: Path, attributes: Mapping[str, str], collides: bool) -> bool:
    """True if MuJoCo reads a mesh. It refuses ASCII files, STL files with more than 200 000 faces,
    and flat collision meshes.
    """
    root = ET.Element("mujoco")
    mesh = {"name": "mesh", "file": str(path.resolve()), **attributes}
    ET.SubElement(ET.SubElement(root, "asset"), "mesh", mesh)
    shape = {"type": "mesh", "mesh": "mesh", "mass": "0", "contype": "0"}
    shape["conaffinity"] = str(int(collides))  # if positive, MuJoCo computes the convex hull
    ET.SubElement(ET.SubElement(root, "worldbody"), "geom", shape)
    try:
        mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    except ValueError:
        return False
    return True


def _at_origin(link: FixedLink) -> bool:
    at_zero = link.joint == -1 and not np.any(link.p) and np.array_equal(link.R, np.eye(3))
    return at_zero and link.name != "world"


def mjcf_of(
    model: RobotModel,
    fields: Mapping[str, JointFields],
    *,
    meshes: MeshFolder | None = None,
    chain: ClosedChain | None = None,
) -> str:
    """Return the MJCF text of a robot.

    Args:
        model: Robot with the inertial parameters to be written.
        fields: Attributes of each joint, by its name.
        meshes: Folder of the mesh files, below the folder of the file; None: no meshes are written.
        chain: Closed chain whose loops are written as `<equality>`; None: no loops.

    Raises:
        ModelError: MJCF cannot represent a joint or body, or MuJoCo refuses the file.
    """
    tree = tree_of(model)
    sites, equalities, tendons = ({}, [], []) if chain is None else _closures(chain)
    if chain is None:
        for f in model.mimic_joints:
            if f.leader in model.joint_names:
                law = f"{exact([f.offset, f.multiplier])} 0 0 0"
                pair = {"joint1": f.joint, "joint2": f.leader, "polycoef": law}
                equalities.append(ET.Element("joint", pair))
    pulls = _springs(tree, fields, sites, tendons)
    writer = _Writer(tree, fields, link_elements(model), meshes, sites)
    root = ET.Element("mujoco", model=tree.name)
    compiler = {"angle": "radian", "autolimits": "true"}
    folder = {} if meshes is None else {"meshdir": meshes.out.name}
    ET.SubElement(root, "compiler", compiler | folder)
    ET.SubElement(root, "option", gravity=exact(tree.gravity), timestep=repr(TIMESTEP))
    world = ET.Element("worldbody")
    writer.base(world)
    asset = ET.SubElement(root, "asset")
    for attributes, name in writer.assets.items():
        ET.SubElement(asset, "mesh", {"name": name, **dict(attributes)})
    root.append(world)
    if tendons:
        ET.SubElement(root, "tendon").extend(tendons)
    if equalities:
        ET.SubElement(root, "equality").extend(equalities)
    ET.SubElement(root, "actuator").extend([*_actuators(tree, fields), *pulls])
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def write_mjcf(path: Path, text: str) -> Path:
    """Write an MJCF file and check that MuJoCo can read it.

    Raises:
        ModelError: MuJoCo rejects the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    try:
        mujoco.MjModel.from_xml_path(str(path))
    except ValueError as err:
        raise ModelError(
            f"MuJoCo refuses '{path.name}': {str(err).strip()}.",
            remedy="Correct the named value or name in the robot's description.",
        ) from err
    return path


def _actuators(tree: Tree, fields: Mapping[str, JointFields]) -> list[ET.Element]:
    """One actuator for each driven joint, in the order of the joints."""
    out = []
    for joint in tree.joints:
        own = fields.get(joint.name, JointFields())
        if not own.driven:
            continue  # its offset is among the springs
        names = {"name": joint.name, "joint": joint.name}
        if own.servo is not None:
            force = own.servo.force
            limits = {"forcerange": exact([-force, force])} if np.isfinite(force) else {}
            gains = {"kp": exact(own.servo.kp), "kv": exact(own.servo.kv)}
            kept = int(np.ceil(own.servo.delay / _SHORTEST))
            late = {"delay": exact(own.servo.delay), "nsample": str(kept)} if kept else {}
            out.append(ET.Element("position", names | gains | limits | late))
            continue
        bounded = 0.0 < joint.effort < np.inf
        limits = {"ctrlrange": exact([-joint.effort, joint.effort])} if bounded else {}
        at_joint = own.spring if own.spring is not None and own.spring.anchors is None else None
        stiffness, zero = (at_joint.stiffness, at_joint.zero) if at_joint else (0.0, 0.0)
        line = exact([-own.offset + stiffness * zero, -stiffness])
        bias = {"biastype": "affine", "biasprm": f"{line} 0"}
        out.append(ET.Element("general", names | {"gainprm": "1"} | bias | limits))
    return out


def _springs(
    tree: Tree,
    fields: Mapping[str, JointFields],
    sites: dict[int, Sites],
    tendons: list[ET.Element],
) -> list[ET.Element]:
    """Actuators without control: offsets of joints without a drive, and springs that pull at tendons.

    Sites and tendons of the springs are added.
    """
    out = []
    for j, joint in enumerate(tree.joints):
        own = fields.get(joint.name, JointFields())
        if not own.driven and own.offset:
            bias = {"biastype": "affine", "biasprm": f"{exact(-own.offset)} 0 0"}
            passive = {"name": f"{joint.name}:offset", "joint": joint.name, "gainprm": "0"}
            out.append(ET.Element("general", passive | bias))
        spring = own.spring
        if spring is None or spring.anchors is None:
            continue
        # Any direction across the axis: the ends are in line at `zero`.
        across = np.linalg.svd(joint.axis[None])[2][1]
        turned = pin.exp3(-spring.zero * joint.axis) @ across
        name = f"{joint.name}:spring"
        d1, d2 = spring.anchors
        before = joint.p + joint.R @ (d1 * across)
        sites.setdefault(joint.parent, []).append((f"{name}:a", np.eye(3), before))
        sites.setdefault(j, []).append((f"{name}:b", np.eye(3), d2 * turned))
        tendon = ET.Element("spatial", name=name)
        for end in "ab":
            ET.SubElement(tendon, "site", site=f"{name}:{end}")
        tendons.append(tendon)
        slack = spring.preload - spring.stiffness * abs(d1 - d2)
        pull = {"biastype": "affine", "biasprm": f"{exact([-slack, -spring.stiffness])} 0"}
        out.append(ET.Element("general", {"name": name, "tendon": name, "gainprm": "0"} | pull))
    return out


def _closures(
    chain: ClosedChain,
) -> tuple[dict[int, Sites], list[ET.Element], list[ET.Element]]:
    """Sites by joint, `<equality>` and `<tendon>` elements of a closed chain."""
    sites: dict[int, Sites] = {}
    equalities: list[ET.Element] = []
    tendons: list[ET.Element] = []
    open_ends = chain.ends.poses(np.zeros((1, chain.n))).p[:, 0]
    for i, (loop, ends) in enumerate(zip(chain.loops, chain.attachments, strict=True)):
        names = [f"{loop.name}:{end}" for end in "ab"]
        for name, end in zip(names, ends, strict=True):
            sites.setdefault(end.joint, []).append((name, end.R_BF, end.p_BF))
        pair = {"site1": names[0], "site2": names[1]}
        if loop.kind is LoopKind.ROD:
            rod = ET.Element("spatial", name=loop.name)
            for name in names:
                ET.SubElement(rod, "site", site=name)
            tendons.append(rod)
            gap = loop.length - float(np.linalg.norm(open_ends[2 * i] - open_ends[2 * i + 1]))
            equalities.append(_tendon(loop.name, gap))
        else:
            kind = "weld" if loop.kind is LoopKind.WELD else "connect"
            equalities.append(ET.Element(kind, {"name": loop.name} | pair))
    for coupling in chain.couplings:
        law = ET.Element("fixed", name=coupling.name)
        for joint, factor in coupling.joints.items():
            ET.SubElement(law, "joint", joint=joint, coef=exact(factor))
        tendons.append(law)
        equalities.append(_tendon(coupling.name, coupling.offset))
    return sites, equalities, tendons


def _tendon(name: str, excess: float) -> ET.Element:
    """Tendon whose length differs from that at position zero by a constant."""
    return ET.Element("tendon", name=name, tendon1=name, polycoef=f"{exact(excess)} 0 0 0 0")


def _pose(R: Array, p: Array) -> dict[str, str]:
    quaternion = pin.Quaternion(np.asarray(R)).normalized()
    return {
        "pos": exact(p),
        "quat": exact([quaternion.w, quaternion.x, quaternion.y, quaternion.z]),
    }
