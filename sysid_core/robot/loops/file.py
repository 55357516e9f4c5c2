# SPDX-License-Identifier: Apache-2.0
"""Loops, drives and actuated joints from a YAML file that accompanies the URDF, or from its mimic
joints `q_follower = multiplier * q_leader + offset`.
"""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pinocchio as pin
from pydantic import AliasChoices, Field, model_validator

from sysid_core.errors import ModelError
from sysid_core.files import (
    Angles3,
    FileKind,
    FileSchema,
    Name,
    NotNegative,
    Number,
    Positive,
    Vector3,
)
from sysid_core.robot.loops.chain import ClosedChain
from sysid_core.robot.loops.mechanism import (
    Coupling,
    JointDrive,
    Loop,
    LoopEnd,
    LoopKind,
    MotionBox,
)
from sysid_core.robot.model import STANDARD_GRAVITY, RobotModel
from sysid_core.robot.urdf import reference_robots, urdf_text

MIMIC = "mimic"
_FILE = FileKind(
    "file of kinematic loops",
    "It needs `actuated: [joints…]` and `loops: […]`; see docs/closed_chains.md.",
    ModelError,
)


def chain_of_mimic_joints(model: RobotModel) -> ClosedChain:
    """Return the mechanism with driven leaders, and followers coupled as the URDF states.

    Raises:
        ModelError: The URDF has no mimic joints, or a leader is not a moving joint.
    """
    followers = model.mimic_joints
    if not followers:
        raise ModelError(
            f"The URDF of '{model.name}' has no mimic joints.",
            remedy="Omit --loops, or give the file of kinematic loops (docs/closed_chains.md).",
        )
    return ClosedChain(
        model,
        actuated=tuple(
            name for name in model.joint_names if name not in {f.joint for f in followers}
        ),
        couplings=tuple(
            Coupling(f"{f.joint}_follows", {f.joint: 1.0, f.leader: -f.multiplier}, f.offset)
            for f in followers
        ),
    )


_Half = Annotated[float, Field(strict=True, gt=0.0, lt=100.0)]  # [rad or m] half a range


class DriveEntry(FileSchema):
    """Friction and drive parameters of a joint; further keys are ignored."""

    MORE_KEYS: ClassVar[bool] = True
    F_c: NotNegative = Field(0.0, validation_alias=AliasChoices("friction", "friction_urdf"))
    F_v: NotNegative = Field(0.0, validation_alias=AliasChoices("damping", "damping_urdf"))
    I_a: NotNegative = Field(0.0, validation_alias=AliasChoices("armature"))
    beta: Number = Field(0.0, validation_alias=AliasChoices("offset"))
    gear_ratio: Number = 1.0
    torque_limit: Positive = Field(
        float("inf"), validation_alias=AliasChoices("torque_limit", "torque_limit_joint_side")
    )


class EndEntry(FileSchema):
    """Entry of one end of a loop: a point or frame on a link."""

    MORE_KEYS: ClassVar[bool] = True
    link: Name = Field(validation_alias=AliasChoices("frame", "link"))
    xyz: Vector3 = Field(default_factory=lambda: [0.0] * 3)
    rpy: Angles3 = Field(default_factory=lambda: [0.0] * 3)

    def end(self) -> LoopEnd:
        """Return the loop end as a value."""
        return LoopEnd(self.link, np.array(self.xyz), pin.rpy.rpyToMatrix(*self.rpy))


class LoopEntry(FileSchema):
    """Entry of one loop closure."""

    MORE_KEYS: ClassVar[bool] = True
    name: Name
    type: LoopKind = LoopKind.POINT
    length: Positive | None = None
    a: EndEntry
    b: EndEntry

    @model_validator(mode="after")
    def _rods_have_a_length(self) -> LoopEntry:
        if self.type is LoopKind.ROD and self.length is None:
            raise ValueError("a rod needs a `length`")
        return self

    def loop(self) -> Loop:
        """Return the loop as a value."""
        return Loop(self.name, self.type, self.a.end(), self.b.end(), self.length or 0.0)


class CouplingEntry(FileSchema):
    """Entry of a linear coupling of joints: `sum of factor times position = offset`."""

    name: Name
    joints: dict[Name, Number]
    offset: Number = 0.0

    def coupling(self) -> Coupling:
        """Return the coupling as a value."""
        return Coupling(self.name, self.joints, self.offset)


class CoordinateEntry(FileSchema):
    """Entry of one coordinate of the motion box with half its range [rad or m]."""

    name: str = ""
    joints: dict[Name, Number]
    half: _Half


class BoxEntry(FileSchema):
    """Entry of a box: centre and half range of every actuated joint [rad or m]."""

    mid: list[Number]
    half: list[_Half]


class LoopsFile(FileSchema):
    """Contents of the YAML file of a closed chain."""

    MORE_KEYS: ClassVar[bool] = True
    urdf: str = ""
    gravity: Vector3 = Field(default_factory=lambda: list(STANDARD_GRAVITY))
    actuated: tuple[Name, ...] = Field(min_length=1)
    passive: tuple[Name, ...] = ()
    measured: tuple[Name, ...] = ()
    home: dict[Name, Number] = Field(default_factory=dict)
    joints: dict[Name, DriveEntry | None] = Field(default_factory=dict)
    loops: list[LoopEntry] = Field(default_factory=list)
    couplings: list[CouplingEntry] = Field(default_factory=list)
    excitation: list[CoordinateEntry] | BoxEntry = Field(default_factory=list)
    excitation_center: dict[Name, Number] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _sound(self) -> LoopsFile:
        both = sorted(set(self.actuated) & set(self.passive))
        if both:
            raise ValueError(f"joints {both} are named as actuated and as passive")
        return self

    def motion_box(self) -> MotionBox | None:
        """Return the range of the actuated joints; None if the file does not give one.

        Raises:
            ModelError: The coordinates of the box in the file do not determine the actuated joints.
        """
        n, box = len(self.actuated), self.excitation
        if isinstance(box, BoxEntry):
            if len(box.mid) != n or len(box.half) != n:
                raise ModelError(
                    f"`excitation` needs {n} entries in `mid` and `half`.",
                    remedy="Give one number for each actuated joint, in their order.",
                )
            return MotionBox(self.actuated, np.array(box.mid), np.eye(n), np.array(box.half))
        for joint in (*self.excitation_center, *(j for entry in box for j in entry.joints)):
            if joint not in self.actuated:
                raise ModelError(
                    f"`excitation` names '{joint}', which is not actuated.",
                    remedy="Name joints of `actuated` only.",
                )
        if not box:
            return None
        directions = np.array([[e.joints.get(j, 0.0) for e in box] for j in self.actuated])
        if len(box) != n or np.linalg.matrix_rank(directions) < n:
            raise ModelError(
                f"`excitation` must list {n} coordinates that move all actuated joints.",
                remedy="Each has a `name`, `joints: {joint: share}` and `half`.",
            )
        return MotionBox(
            names=tuple(entry.name or str(i) for i, entry in enumerate(box)),
            center=np.array([self.excitation_center.get(j, 0.0) for j in self.actuated]),
            directions=directions,
            half=np.array([entry.half for entry in box]),
        )

    @staticmethod
    def urdf_of(loops: str | Path) -> Path:
        """Return the path of the URDF that is named in a file of kinematic loops.

        Args:
            loops: Path of the YAML file, or name of a reference robot with loops.

        Raises:
            ModelError: The file is invalid, or names no URDF.
        """
        path, file = _read(loops)
        if not file.urdf:
            raise _FILE.refusal(
                path, "`urdf` is missing", "Name the URDF in the file, or give it as an option."
            )
        return path.parent / file.urdf

    @staticmethod
    def references() -> dict[str, Path]:
        """Return the file of kinematic loops of each reference robot that has one, by the names of the robots."""
        files = {name: path.with_suffix(".yaml") for name, path in reference_robots().items()}
        return {name: path for name, path in files.items() if path.is_file()}


def load_closed_chain(loops: str | Path, urdf: str | Path | None = None) -> ClosedChain:
    """Load a mechanism from its YAML file and URDF.

    The YAML lists `actuated` joints and `loops`; `passive`, `measured` (passive joints with an
    encoder), `joints` (drive data), `urdf`, `gravity`, `home` and `excitation` are optional. If
    `passive` is given, moving joints of the URDF that are neither in `actuated` nor in `passive`
    are locked at zero, so that one leg of a whole robot can be used.

    Args:
        loops: Path of the YAML file, name of a reference robot with loops ("own-leg"), or "mimic"
            for the mimic joints of the URDF.
        urdf: URDF (file, text or name, also "own-leg"); None: the file given in the YAML.

    Raises:
        ModelError: The file is invalid, or contains joints or links that the robot does not have.
    """
    if str(loops) == MIMIC:
        if urdf is None:
            raise ModelError(
                "--loops mimic needs the URDF that defines the mimic joints.",
                remedy="Give the URDF (--robot).",
            )
        return chain_of_mimic_joints(RobotModel.from_urdf(urdf))
    path, file = _read(loops)
    if urdf is None:
        source: str | Path = LoopsFile.urdf_of(loops)
    else:
        loops_beside = LoopsFile.references().get(str(urdf))
        source = loops_beside.with_suffix(".urdf") if loops_beside else urdf
    model = _load_model(urdf_text(source), file)
    try:
        return _closed_chain(file, model)
    except ModelError as err:
        raise _FILE.refusal(path, err.message, err.remedy) from err


def _read(loops: str | Path) -> tuple[Path, LoopsFile]:
    path = LoopsFile.references().get(str(loops), Path(loops))
    if not path.exists():
        examples = ", ".join(LoopsFile.references())
        raise _FILE.refusal(path, "there is none", f"{_FILE.remedy} Or give one of: {examples}.")
    return path, _FILE.read_schema(path, LoopsFile)


def closed_chain_from_mapping(raw: Mapping[str, Any], model: RobotModel) -> ClosedChain:
    """Build a closed chain from the content of a file of kinematic loops and a robot.

    Raises:
        ModelError: An entry is missing, or contains a joint or link that the robot does not have.
    """
    return _closed_chain(_FILE.validated(raw, LoopsFile, "given"), model)


def _closed_chain(file: LoopsFile, model: RobotModel) -> ClosedChain:
    names = {
        "actuated": file.actuated,
        "passive": file.passive,
        "joints": file.joints,
        "home": file.home,
    }
    for key, joints in names.items():
        for joint in joints:
            if joint not in model.joint_names:
                close = FileSchema.nearest(joint, model.joint_names)
                raise ModelError(
                    f"`{key}` names '{joint}', which is not a moving joint of '{model.name}'.",
                    remedy=f"Write `{close}`?"
                    if close
                    else f"Moving joints of the URDF: {', '.join(model.joint_names)}.",
                    unknown=[joint],
                )
    chain = ClosedChain(
        model=model,
        loops=tuple(loop.loop() for loop in file.loops),
        actuated=file.actuated,
        drives={
            joint: JointDrive(**dict(entry or DriveEntry())) for joint, entry in file.joints.items()
        },
        home=np.array([file.home.get(joint, 0.0) for joint in model.joint_names]),
        box=file.motion_box(),
        measured=file.measured,
        couplings=tuple(entry.coupling() for entry in file.couplings),
    )
    _ = chain.attachments  # names a link that isn't there now rather than later
    return chain


def _load_model(text: str, file: LoopsFile) -> RobotModel:
    whole = RobotModel.from_urdf(text, gravity=file.gravity)
    listed = {*file.actuated, *file.passive}
    others = set(whole.joint_names) - listed if file.passive else set()
    if not others or not listed <= set(whole.joint_names):
        return whole
    part = RobotModel.from_urdf(_with_fixed_joints(text, others), gravity=file.gravity)
    return dataclasses.replace(part, urdf_hash=whole.urdf_hash, urdf_xml=whole.urdf_xml)


def _with_fixed_joints(text: str, joints: set[str]) -> str:
    root = ET.fromstring(text)
    for joint in root.iter("joint"):
        if joint.get("name") in joints:
            joint.set("type", "fixed")
    return ET.tostring(root, encoding="unicode")
