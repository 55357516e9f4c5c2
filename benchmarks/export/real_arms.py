# SPDX-License-Identifier: Apache-2.0
"""Errors of exported arm models on validation recordings, computed with independent readers of the
files.

    python benchmarks/export/real_arms.py OUT [ARM ...]

Each arm is identified with the defaults of `sysid identify` and exported to OUT. The errors are
printed with their ratios to those of the identified model. The readers below share no code with the
exporter: MuJoCo's inverse dynamics, pinocchio's inverse dynamics of the URDF and of the bodies read
here from the SDF, and the compiled C code. `terms`: MuJoCo's rigid bodies; armature, damping and
frictionloss are added here, with friction's sign from the velocity. MuJoCo itself takes the sign of
the next step's velocity, which noise changes while a joint is at rest. `best`: the same terms and a
bias, fitted by least squares to the efforts of the validation recordings; no file with these bodies
and terms can have a smaller error. `soft`: fitted likewise with all terms of MuJoCo's joints:
friction smoothed as in the model, so that the joints creep, and damping of third order.
`slip`: likewise, with ten elements of Coulomb friction on springs at each joint in addition (Maxwell
slip), a bound for friction with memory that does not depend on the load.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "recordings"))

import mujoco
import numpy as np
import pinocchio as pin
from real_arms import ARMS, RealArm
from real_arms import COLUMNS as COLUMN_MAPS
from scipy.optimize import lsq_linear

from sysid_core.estimation.arm import predicted_efforts
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.robot import Array, DriveTrain
from sysid_core.signals import ColumnMap
from sysid_core.workflows import ArmData, IdentifiedArm, identify_data

Torques = Callable[[Array, Array, Array], Array]  # q, v, a of one gapless motion, (K, n) to (K, n)
BEST = ("sign", "v", "a", "one")
SOFT = ("soft", "v", "v |v|", "v^3", "a", "one")
# [rad] positions over which the springs of the elements yield: from an encoder's step to a degree.
YIELD = {f"slip {x:.0e}": x for x in np.geomspace(2e-5, 2e-2, 10).tolist()}
SLIP = ("sign", *SOFT, *YIELD)
NON_NEGATIVE = ("sign", "soft", "v", "a", *YIELD)
COLUMNS = ("inside", "c", "mjcf", "terms", "best", "soft", "slip", "urdf", "sdf")


def arm_of(name: str) -> RealArm:
    """Return an arm with recordings for identification and validation."""
    arm = ARMS[name]()
    if name == "ur10e":  # its two longest motions
        arm = replace(arm, fitted=arm.whole[3:4], judged=arm.whole[4:5])
    if name == "kr300":  # with its hydraulic counterbalance
        drives = ColumnMap.load(COLUMN_MAPS / "kr300_csv.yaml").drives
        arm = replace(arm, drives=drives.ordered(arm.model.joint_names))
    return arm


class Mujoco:
    """An MJCF file."""

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(path))
        joints = [self.model.joint(name) for name in names]
        self.dofs = np.array([int(joint.dofadr[0]) for joint in joints])
        self.positions = np.array([int(joint.qposadr[0]) for joint in joints])
        self.friction = self.model.dof_frictionloss[self.dofs].copy()
        self.damping = self.model.dof_damping[self.dofs].copy()
        self.armature = self.model.dof_armature[self.dofs].copy()

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Torques of MuJoCo's inverse dynamics minus the file's actuator torques, shape (K, n)."""
        data, out = mujoco.MjData(self.model), np.empty_like(q)
        for k in range(len(q)):
            data.qpos[self.positions], data.qvel[self.dofs] = q[k], v[k]
            data.qacc[self.dofs] = a[k]
            mujoco.mj_inverse(self.model, data)
            mujoco.mj_fwdActuation(self.model, data)
            out[k] = (data.qfrc_inverse - data.qfrc_actuator)[self.dofs]
        return out

    def bodies(self, q: Array, v: Array, a: Array) -> Array:
        """The same torques without friction and armature: bodies, springs and biases."""
        bare = copy.copy(self)
        bare.model = copy.copy(self.model)
        for field in (bare.model.dof_frictionloss, bare.model.dof_damping, bare.model.dof_armature):
            field[:] = 0.0
        return bare.torques(q, v, a)

    def terms(self, q: Array, v: Array, a: Array) -> Array:
        """Torques of the bodies with the file's armature, damping and frictionloss."""
        own = self.friction * np.sign(v) + self.damping * v + self.armature * a
        return self.bodies(q, v, a) + own


def slipping(width: float) -> Torques:
    """Share of its friction that a spring before a Coulomb friction transmits, -1 to 1."""

    def torques(q: Array, v: Array, a: Array) -> Array:
        out = np.zeros_like(q)
        for k, step in enumerate(np.diff(q, axis=0) / width):
            out[k + 1] = np.clip(out[k] + step, -1.0, 1.0)
        return out

    return torques


def compiled(source: Path, n: int) -> Torques:
    """Return a function that calls the compiled C code for each sample."""
    library = source.with_suffix(".so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    code, prefix = ctypes.CDLL(str(library)), source.stem
    reset, call = (getattr(code, f"{prefix}_{name}") for name in ("reset", "torques"))

    def torques(q: Array, v: Array, a: Array) -> Array:
        out = np.empty_like(q)
        q, v, a, state = (np.ascontiguousarray(x) for x in (q, v, a, np.zeros(64 * n)))
        at = [x.ctypes.data for x in (q, v, a, out)]
        reset(ctypes.c_void_p(state.ctypes.data), ctypes.c_void_p(at[0]))
        for k in range(len(q)):
            row = [ctypes.c_void_p(x + 8 * n * k) for x in at]
            call(*row[:3], ctypes.c_void_p(state.ctypes.data), row[3])
        return out

    return torques


def urdf_torques(path: Path, names: tuple[str, ...], gravity: Array) -> Torques:
    """Return a function for the torques of a URDF, read by pinocchio, with the file's friction and
    damping.
    """
    tree = pin.buildModelFromUrdf(str(path))
    tree.gravity.linear = gravity
    locked = [j for j in range(1, tree.njoints) if tree.names[j] not in names]
    tree = pin.buildReducedModel(tree, locked, pin.neutral(tree))
    joints = {j.get("name"): j.find("dynamics") for j in ET.parse(path).getroot().findall("joint")}
    friction, damping = (
        np.array([float(joints[name].get(key, "0")) for name in names])
        for key in ("friction", "damping")
    )
    return _tree_torques(tree, names, friction, damping)


def sdf_torques(path: Path, names: tuple[str, ...], gravity: Array) -> Torques:
    """Return a function for the torques of an SDF with joint poses in the parent link and body
    poses in the joint.
    """
    tree, model = pin.Model(), ET.parse(path).getroot().find("model")
    tree.gravity.linear = gravity
    number = lambda e, path: float(e.findtext(path, "0"))  # noqa: E731
    inertials = {link.get("name"): link.find("inertial") for link in model.findall("link")}
    placed, terms = {}, {}
    for joint in model.findall("joint"):  # parents first
        parent = placed.get(joint.findtext("parent"), 0)
        child = joint.findtext("child")
        if joint.get("type") == "fixed":
            placed[child] = parent
            continue
        kind = "Prismatic" if joint.get("type") == "prismatic" else "Revolute"
        axis = np.array(joint.findtext("axis/xyz").split(), dtype=float)
        moving = getattr(pin, f"JointModel{kind}Unaligned")(axis)
        name = str(joint.get("name"))
        j = placed[child] = tree.addJoint(parent, moving, _pose(joint), name)
        own = inertials[child]
        about_com = np.array(
            [[number(own, "inertia/i" + "".join(sorted(r + c))) for c in "xyz"] for r in "xyz"]
        )
        body = pin.Inertia(number(own, "mass"), np.zeros(3), about_com)
        tree.inertias[j] = _pose(own).act(body)
        terms[name] = [number(joint, f"axis/dynamics/{key}") for key in ("friction", "damping")]
    friction, damping = np.array([terms[name] for name in names]).T
    return _tree_torques(tree, names, friction, damping)


def _pose(element: ET.Element) -> pin.SE3:
    """Return the `<pose>` of an element; quaternions are (x, y, z, w)."""
    pose = element.find("pose")
    if pose is None:
        return pin.SE3.Identity()
    x = np.array(pose.text.split(), dtype=float)
    if len(x) == 7:
        return pin.SE3(pin.Quaternion(x[3:]).normalized(), x[:3])
    return pin.SE3(pin.rpy.rpyToMatrix(x[3:]), x[:3])


def _tree_torques(
    tree: pin.Model, names: tuple[str, ...], friction: Array, damping: Array
) -> Torques:
    data, order = tree.createData(), [names.index(name) for name in tree.names[1:]]

    def torques(q: Array, v: Array, a: Array) -> Array:
        out = friction * np.sign(v) + damping * v
        for k in range(len(q)):
            out[k, order] += pin.rnea(tree, data, q[k, order], v[k, order], a[k, order])
        return out

    return torques


def errors_of(found: IdentifiedArm, files: Mapping[str, Path]) -> dict[str, float]:
    """Return relative errors on the validation recordings: of the identified model (`inside`), of
    every file, and of the best constants for the MJCF.
    """
    result, names = found.identification, found.identification.model.joint_names
    n, gravity = len(names), found.data.model.gravity
    mjcf = Mujoco(files["mjcf"], names)
    readers = {
        "c": compiled(files["c"], n),
        "mjcf": mjcf.torques,
        "terms": mjcf.terms,
        "urdf": urdf_torques(files["urdf"], names, gravity),
        "sdf": sdf_torques(files["sdf"], names, gravity),
    }
    regressors = {
        "bodies": mjcf.bodies,
        "sign": lambda q, v, a: np.sign(v),
        "soft": lambda q, v, a: np.tanh(v / result.friction.coulomb_velocity),
        "v": lambda q, v, a: v,
        "v |v|": lambda q, v, a: v * np.abs(v),
        "v^3": lambda q, v, a: v**3,
        "a": lambda q, v, a: a,
        "one": lambda q, v, a: np.ones_like(v),
        **{name: slipping(width) for name, width in YIELD.items()},
    }
    table = _tabled(found, readers | regressors)
    predicted = {key: table[key] for key in ("inside", *readers)}
    bounds = {"best": BEST, "soft": SOFT, "slip": SLIP}
    predicted |= {name: _best(table, terms) for name, terms in bounds.items()}
    norm = np.linalg.norm(table["measured"])
    return {k: float(np.linalg.norm(table["measured"] - x) / norm) for k, x in predicted.items()}


def _tabled(found: IdentifiedArm, made_of: Mapping[str, Torques]) -> dict[str, Array]:
    """Return efforts in motion of the validation recordings (K, n): measured, of the identified
    model, and of these torque functions.
    """
    result = found.identification
    rows: dict[str, list[Array]] = {key: [] for key in ("measured", "inside", *made_of)}

    def columns(q: Array, v: Array, a: Array) -> list[Array]:
        return [read(q, v, a) for read in made_of.values()]

    drives = result.friction.drives
    plain = DriveTrain(drives.joint_names, drives.gains)
    for run, own in zip(found.data.others, found.validation, strict=True):
        kept = own.motion & np.isfinite(own.predicted).all(axis=1)
        made = predicted_efforts(result.model, run, result.processing, plain, columns)
        for key, values in zip(rows, (own.measured, own.predicted, *made), strict=True):
            rows[key].append(values[kept])
    return {key: np.concatenate(values) for key, values in rows.items()}


def _best(table: Mapping[str, Array], terms: Sequence[str]) -> Array:
    """Return efforts (K, n) with the terms' constants fitted to each joint's measured efforts."""
    out = table["bodies"].copy()
    lower = [0.0 if term in NON_NEGATIVE else -np.inf for term in terms]
    for j in range(out.shape[1]):
        A = np.stack([table[term][:, j] for term in terms], axis=1)
        size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        rest = table["measured"][:, j] - out[:, j]
        out[:, j] += A / size @ lsq_linear(A / size, rest, (lower, np.inf)).x
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("arms", nargs="*", default=["ur10e", "panda", "ar5", "kr300"])
    options = parser.parse_args()
    print("arm", *COLUMNS, sep=" | ")
    for name in options.arms:
        arm = arm_of(name)
        data = ArmData.of(arm.model, arm.fitted, arm.drives, FitSettings(), others=arm.judged)
        found = identify_data(data, FitSettings())
        made = found.export(options.out / name, ("urdf", "mjcf", "sdf", "c"))
        errors = errors_of(found, {one.target.value: one.file for one in made})
        inside = errors["inside"]
        ratios = [f"{100 * errors[key]:.2f} % ({errors[key] / inside:.2f})" for key in COLUMNS[1:]]
        print(name, f"{100 * inside:.2f} %", *ratios, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
