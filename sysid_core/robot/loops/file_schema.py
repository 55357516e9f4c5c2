# SPDX-License-Identifier: Apache-2.0
"""Schema of the YAML file of a closed chain."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import pinocchio as pin
from pydantic import AliasChoices, Field, model_validator

from sysid_core.errors import ModelError
from sysid_core.files import Angles3, FileSchema, Name, NotNegative, Number, Positive, Vector3
from sysid_core.robot.loops.chain import Loop, LoopEnd, LoopKind, MotionBox
from sysid_core.robot.loops.coupling import Coupling
from sysid_core.robot.model import STANDARD_GRAVITY

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
        """Loop end as a value."""
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
        """Loop as a value."""
        return Loop(self.name, self.type, self.a.end(), self.b.end(), self.length or 0.0)


class CouplingEntry(FileSchema):
    """Entry of a linear coupling of joints: `sum of factor times position = offset`."""

    name: Name
    joints: dict[Name, Number]
    offset: Number = 0.0

    def coupling(self) -> Coupling:
        """Coupling as a value."""
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
        """Range of the actuated joints; None if the file does not give one.

        Raises:
            ModelError: Its coordinates aren't those of the actuated joints.
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
