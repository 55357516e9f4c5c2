# SPDX-License-Identifier: Apache-2.0
"""Files of one export format, their readers, and the properties that they lack other than friction
terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from sysid_core.errors import ModelError
from sysid_core.export.c_code import c_prefix, write_c
from sysid_core.export.geometry import MeshFolder, has_other_shapes
from sysid_core.export.joint_fields import chain_fields, joint_fields
from sysid_core.export.mjcf import MESH_FORMATS, mjcf_of, write_mjcf
from sysid_core.export.projection import Projection, Target
from sysid_core.export.readers import ChainReader, CReader, MjcfReader, c_compiler
from sysid_core.export.ros2_control import controllers_of, without
from sysid_core.export.sdf import SDF_MESH_FORMATS, SdfReader, sdf_names, sdf_of
from sysid_core.export.tree import link_elements, require_single_joints
from sysid_core.export.urdf import UrdfReader, urdf_of, with_meshes
from sysid_core.export.usd import UsdReader, actuators_of, prim_names, require_usd, usd_of
from sysid_core.files import write_text, write_yaml
from sysid_core.robot import Array, RobotModel
from sysid_core.robot.loops import DrivenRobot
from sysid_core.settings import Kind

_ENDINGS = {
    Target.URDF: "urdf",
    Target.MJCF: "xml",
    Target.SDF: "sdf",
    Target.USD: "usda",
    Target.C: "c",
    Target.ROS2_CONTROL: "c",
}
_MESHES = {Target.URDF: (), Target.MJCF: MESH_FORMATS, Target.SDF: SDF_MESH_FORMATS}
_NEAR_HOME = 0.02  # [rad or m], deviation: loops whose box isn't known close about home


class LossCode(Kind):
    """Kind of model term that a file format lacks."""

    GRAVITY = "gravity_direction"  # the format has none: the reader's world must be turned
    VELOCITY_LIMITS = "velocity_limits"
    EFFORT_LIMITS = "effort_limits"
    ACCELERATION_LIMITS = "acceleration_limits"  # no description has them
    LOCKED = "locked"  # joints that were locked for the identification are fixed in every file
    MIMIC = "mimic"  # a follower whose leader is no joint of the robot, or can't be written
    SHAPES = "shapes"  # for pictures and contacts
    NAMES = "names"  # that the format doesn't take: replaced
    MESH_MISSING = "mesh_missing"  # no such file
    MESH_FORMAT = "mesh_format"  # that the target doesn't read: its format, flat, too large


_LOST = {
    LossCode.GRAVITY: "direction of gravity (rotate the base in the world of the simulator):",
    LossCode.VELOCITY_LIMITS: "velocity limits of",
    LossCode.EFFORT_LIMITS: "effort limits of",
    LossCode.ACCELERATION_LIMITS: "acceleration limits (fill them in) of",
    LossCode.LOCKED: "motion of locked joints, which are fixed (rad or m):",
    LossCode.MIMIC: "coupling of mimic joints",
    LossCode.SHAPES: "visual and collision shapes of",
    LossCode.NAMES: "names that the format does not allow (replaced):",
    LossCode.MESH_MISSING: "meshes that were not found:",
    LossCode.MESH_FORMAT: "meshes that the format does not support:",
}


@dataclass(frozen=True)
class Loss:
    """Model term that a file format lacks, with its effect.

    Attributes:
        code: Kind of the missing term.
        names: Joints, files or numbers that are concerned.
    """

    code: LossCode
    names: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Sentence on the missing term."""
        return f"Lost: {_LOST[self.code]} {', '.join(self.names)}."

    def to_dict(self) -> dict[str, object]:
        """Return the loss as plain data for proof.json."""
        return {"code": self.code.value, "names": list(self.names)}


def losses_of(model: RobotModel, target: Target, meshes: MeshFolder | None) -> tuple[Loss, ...]:
    """Return the model properties that a written file lacks.

    Args:
        model: Robot model.
        target: Format of the file.
        meshes: Folder of meshes in its state after the file was written.
    """
    found = {LossCode.LOCKED: [f"{joint} at {q:.6g}" for joint, q in model.locked.items()]}
    if target in (Target.URDF, Target.SDF, Target.USD) and not np.array_equal(
        model.gravity, RobotModel.STANDARD_GRAVITY
    ):
        found[LossCode.GRAVITY] = [" ".join(f"{x:.6g}" for x in model.gravity)]
    if target is Target.MJCF:
        found[LossCode.VELOCITY_LIMITS] = [
            name
            for name, limit in zip(model.joint_names, model.velocity_limits, strict=True)
            if 0.0 < limit < np.inf
        ]
    if target is Target.ROS2_CONTROL:
        found[LossCode.VELOCITY_LIMITS] = without(model, model.velocity_limits)
        found[LossCode.EFFORT_LIMITS] = without(model, model.effort_limits)
        found[LossCode.ACCELERATION_LIMITS] = list(model.joint_names)
    found[LossCode.MIMIC] = [
        f.joint
        for f in model.mimic_joints
        if target not in (Target.URDF, Target.MJCF) or f.leader not in model.joint_names
    ]
    if target in (Target.MJCF, Target.SDF):
        found[LossCode.SHAPES] = [n for n, e in link_elements(model).items() if has_other_shapes(e)]
    if target is Target.USD:
        found[LossCode.SHAPES] = list(model.body_names)
    if target in (Target.USD, Target.SDF):
        named = prim_names(model) if target is Target.USD else sdf_names(model)
        own = ((key.partition(" ")[2], name) for key, name in named.items())
        found[LossCode.NAMES] = [old for old, name in own if old not in ("", name)]
    if meshes is not None:
        found[LossCode.MESH_MISSING] = meshes.missing
        found[LossCode.MESH_FORMAT] = meshes.unread
    return tuple(Loss(code, tuple(names)) for code, names in found.items() if names)


class TreeReader(Protocol):
    """Model read from the file of a simulator, which computes the torques of the drives."""

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques along a motion without gaps, shapes (K, n) to (K, n) [N m]."""

    def smooth_torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques without dry friction."""

    @property
    def dry_friction(self) -> Array:
        """Coulomb friction of the joints, shape (n,) [N m]."""


Reader = TreeReader | CReader


@dataclass(frozen=True)
class Written:
    """Files written in one format.

    Attributes:
        files: Paths of the files; the first is loaded by other software and needs the others.
        losses: Properties that the files lack, other than friction terms.
    """

    files: tuple[Path, ...]
    losses: tuple[Loss, ...]


def require_target(target: Target, model: RobotModel) -> None:
    """Raise an error for an unsuitable target, before anything is fitted or written.

    Args:
        target: File format.
        model: Robot model.

    Raises:
        ModelError: The robot has loops or joints that the format does not support, or the library
            that reads the format is not installed.
    """
    if isinstance(model, DrivenRobot) and target is not Target.MJCF:
        raise ModelError(
            f"'{model.name}' has loops, which the export to {target.value} does not support.",
            remedy="Export it to mjcf.",
        )
    require_single_joints(model)
    if target is Target.USD:
        require_usd()
    if target in (Target.C, Target.ROS2_CONTROL):
        c_compiler()


def write_target(
    target: Target,
    robot: Projection,
    out: Path,
    *,
    places: Sequence[Path] = (),
    remarks: Mapping[str, str] | None = None,
    stays: Path | None = None,
) -> Written:
    """Write a robot in one file format.

    Args:
        target: File format.
        robot: Robot with the terms that the format supports.
        out: Folder of all exports, with a subfolder for the format.
        places: Folders that are searched for meshes.
        remarks: Comments on the values by link name, for formats with comments.
        stays: Final folder, to which `out` is moved afterwards; None: `out` is not moved.

    Raises:
        ModelError: The format cannot represent the robot, or a mesh cannot be read.
    """
    require_target(target, robot.model)
    chain = robot.model.chain if isinstance(robot.model, DrivenRobot) else None
    folder, name = out / target.value, c_prefix(robot.model.name)
    folder.mkdir(parents=True, exist_ok=True)
    meshes, more = None, []
    file = folder / f"{name}.{_ENDINGS[target]}"
    if target in _MESHES:
        meshes = MeshFolder(folder / "meshes", places, _MESHES[target])
    if target is Target.MJCF:
        fields = joint_fields(robot) if chain is None else chain_fields(chain) | joint_fields(robot)
        tree = robot.model if chain is None else chain.model
        write_mjcf(file, mjcf_of(tree, fields, meshes=meshes, chain=chain))
    elif target is Target.URDF and meshes is not None:
        write_text(file, with_meshes(urdf_of(robot, remarks), meshes.name_of_copy))
    elif target is Target.SDF:
        write_text(file, sdf_of(robot, meshes=meshes))
    elif target is Target.USD:
        write_text(file, usd_of(robot))
        more = [folder / f"{name}_actuators.yaml"]
        write_yaml(more[0], {"actuators": actuators_of(robot)})
    else:
        more = [write_c(folder, robot, name)[0]]
    if target is Target.ROS2_CONTROL:
        more.append(folder / f"{name}_controllers.yaml")
        write_text(more[-1], controllers_of(robot, name, (stays or out) / target.value))
    files = (file, *more, *(() if meshes is None else meshes.copies))
    return Written(files, losses_of(robot.model, target, meshes))


def reader_of(target: Target, file: Path, robot: Projection) -> Reader:
    """Return the reader of an exported file, which computes the torques of the robot in that file.

    Args:
        target: Format of the file.
        file: Path of the first of the written files.
        robot: Robot that defines the order of the joints, and gravity.

    Raises:
        ModelError: The file is damaged, or it is one of another format.
    """
    try:
        return _reader_of(target, file, robot)
    except (AttributeError, KeyError, OSError, RuntimeError, SyntaxError, ValueError) as err:
        raise ModelError(
            f"'{file.name}' cannot be read as {target.value}: {err}.", remedy="Export again."
        ) from err


def _reader_of(target: Target, file: Path, robot: Projection) -> Reader:
    names = robot.model.joint_names
    if file.suffix != f".{_ENDINGS[target]}":
        raise ValueError(f"the name does not end with .{_ENDINGS[target]}")
    if target is Target.URDF:
        text = file.read_text(encoding="utf-8")
        return UrdfReader(text, names, robot.model.gravity)
    if target is Target.SDF:
        text = file.read_text(encoding="utf-8")
        named = sdf_names(robot.model)
        names = tuple(named[f"joint {name}"] for name in names)
        return SdfReader(text, names, robot.model.gravity)
    if target is Target.MJCF:
        if isinstance(robot.model, DrivenRobot):
            return ChainReader(file, robot.model)
        return MjcfReader(file, names)
    if target is Target.USD:
        named = prim_names(robot.model)
        joints = [named[f"joint {name}"] for name in names]
        return UsdReader(str(file), joints, robot.model.gravity)
    return CReader(file, len(names), len(robot.friction.drives.axis_names))


def largest_differences(
    reader: Reader, robot: Projection, *, states: int, seed: int
) -> tuple[dict[str, float], float]:
    """Return the largest torque difference of each joint over random states, and the largest torque
    [N m]. The dry friction of simulators is compared separately, as a number, because simulators
    differ at standstill.

    Args:
        reader: Reader of the written file.
        robot: Robot that was written.
        states: Number of states.
        seed: Seed of the random states. Positions are within the limits (at most half a turn from
            zero), or for a closed chain within its box; velocities have a standard deviation of 2
            rad/s, and accelerations of 8 rad/s^2.
    """
    rng, model = np.random.default_rng(seed), robot.model
    if isinstance(model, DrivenRobot):
        q = _closed(model, rng, states)
    else:
        lower, upper = (np.clip(x, -np.pi, np.pi) for x in model.position_limits)
        upper = np.where(upper > lower, upper, lower + 1.0)
        q = rng.uniform(lower, upper, size=(states, model.nv))
    v, a = 2.0 * rng.normal(size=q.shape), 8.0 * rng.normal(size=q.shape)
    if isinstance(reader, CReader):
        ours = robot.torques(q, v, a)
        error = np.abs(reader.torques(q, v, a) - ours).max(axis=0)
    else:
        ours = robot.without_dry_friction().torques(q, v, a)
        error = np.abs(reader.smooth_torques(q, v, a) - ours).max(axis=0)
        error = np.maximum(error, np.abs(reader.dry_friction - robot.of("F_c")))
    return dict(zip(model.joint_names, error.tolist(), strict=True)), float(np.abs(ours).max())


def _closed(robot: DrivenRobot, rng: np.random.Generator, states: int) -> Array:
    """Positions of the driven joints at which the loops are closed, shape (states, n_a)."""
    box, shape = robot.chain.box, (states, robot.nv)
    if box is not None:
        return box.positions(rng.uniform(-1.0, 1.0, shape))
    return robot.home + _NEAR_HOME * rng.normal(size=shape)
