# SPDX-License-Identifier: Apache-2.0
"""Mechanisms: a tree of joints, the loops that close it, and the driven joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sysid_core.arrays import own_arrays
from sysid_core.errors import ModelError
from sysid_core.robot.friction import USUAL_TERMS
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops.ends import Attachment, LoopEnds
from sysid_core.robot.model import RobotModel
from sysid_core.settings import Kind

M = TypeVar("M", bound="Mechanism")


@dataclass(frozen=True, eq=False)
class Coupling:
    """Linear coupling of joints: `sum_j k_j q_j = offset`.

    A parallelogram that keeps a link's orientation constant has coefficients 1; a joint that
    follows another, `q_j = m q_i + b`, has coefficients 1 and -m.

    Attributes:
        name: Name in messages.
        joints: Nonzero coefficients k_j by joint name.
        offset: Right-hand side of the equation [rad or m].
    """

    name: str
    joints: Mapping[str, float]
    offset: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", MappingProxyType(dict(self.joints)))
        if len(self.joints) < 2 or not all(self.joints.values()):
            raise ModelError(
                f"Coupling '{self.name}' doesn't tie two joints.",
                remedy="Give `joints: {a: 1.0, b: -2.0}`: two joints at least, none with a factor of 0.",
            )

    @property
    def size(self) -> int:
        """Number of scalar equations."""
        return 1


class LoopKind(Kind):
    """Kind of loop closure."""

    POINT = "point"
    ROD = "rod"
    WELD = "weld"


_SIZES = {LoopKind.POINT: 3, LoopKind.ROD: 1, LoopKind.WELD: 6}


@dataclass(frozen=True, eq=False)
class LoopEnd:
    """One end of a loop closure: a frame on a link.

    Attributes:
        link: Name of a link (or of any frame of the URDF).
        xyz: Origin of the end in the link's frame, shape (3,) [m].
        R: Rotation from the end's axes to the link's, shape (3, 3); used by welds only.
    """

    link: str
    xyz: Array = field(default_factory=lambda: np.zeros(3))
    R: Array = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        remedy = "Give xyz as [x, y, z] in metres, and R as a 3 x 3 rotation matrix."
        own_arrays(self, ModelError, remedy, f"a loop end on '{self.link}'", xyz=(3,), R=(3, 3))


@dataclass(frozen=True, eq=False)
class Loop:
    """Loop closure: two frames of links that are connected at a point, by a rod, or rigidly.

    Attributes:
        name: Name in messages.
        kind: Kind of closure. `point`: the two origins coincide (ball joint, 3 equations). `rod`:
            the two origins keep a constant distance (1 equation). `weld`: the two frames coincide
            (6 equations).
        a: First attachment of the loop closure.
        b: Second attachment of the loop closure.
        length: Length of the rod [m]; used by rods only.
    """

    name: str
    kind: LoopKind
    a: LoopEnd
    b: LoopEnd
    length: float = 0.0

    def __post_init__(self) -> None:
        kind = LoopKind.named(self.kind, f"The kind of loop '{self.name}'", ModelError)
        object.__setattr__(self, "kind", kind)
        if kind is LoopKind.ROD and not self.length > 0.0:
            raise ModelError(f"Rod '{self.name}' has no positive length.", remedy="Give `length`.")

    @property
    def size(self) -> int:
        """Number of scalar closure equations."""
        return _SIZES[self.kind]


@dataclass(frozen=True)
class JointDrive:
    """Friction and drive parameters of one joint, on the joint side of the gear (Zhang et al. 2024,
    eq. 7).

    Attributes:
        F_c: Coulomb friction [N m].
        F_v: Viscous friction [N m s/rad].
        I_a: Inertia of the drive, reflected to the joint side [kg m^2].
        beta: Constant offset of the torque [N m].
        gear_ratio: Turns of the motor per turn of the joint [-].
        torque_limit: Largest torque of the drive, on the joint side of the gear [N m].
    """

    NAMES: ClassVar[tuple[str, ...]] = tuple(
        symbol for term in USUAL_TERMS for symbol in term.symbols
    )

    F_c: float = 0.0
    F_v: float = 0.0
    I_a: float = 0.0
    beta: float = 0.0
    gear_ratio: float = 1.0
    torque_limit: float = float("inf")

    @property
    def values(self) -> tuple[float, float, float, float]:
        """Drive parameters `[F_c, F_v, I_a, beta]`."""
        return (self.F_c, self.F_v, self.I_a, self.beta)


@dataclass(frozen=True, eq=False)
class MotionBox:
    """Range of the actuated joints: a box in coordinates that may combine several joints.

    Example: the loops of two toe motors that drive one foot can be closed only in a diagonal band
    of their positions, so that their sum and difference are used as coordinates.

    Attributes:
        names: Names of the coordinates.
        center: Positions of the actuated joints at the centre of the box, shape (n_a,) [rad].
        directions: Change of the actuated joints (rows) per unit of each coordinate (columns),
            shape (n_a, n_a).
        half: Half the range of each coordinate, shape (n_a,) [rad].
    """

    names: tuple[str, ...]
    center: Array
    directions: Array
    half: Array

    def __post_init__(self) -> None:
        if not np.all(self.half > 0.0):
            narrow = [n for n, half in zip(self.names, self.half, strict=True) if not half > 0.0]
            raise ModelError(
                f"Coordinates {narrow} of the motion box have no range.",
                remedy="Give every coordinate of `excitation` a positive `half`.",
            )

    def positions(self, s: Array) -> Array:
        """Return the actuated positions at coordinates within -1..1, (..., n_a) to (..., n_a)."""
        return self.center + (s * self.half) @ self.directions.T


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Kinematic tree with its loops and driven joints; without loops it is an open chain.

    Joint arrays have all n joints in the order of `model.joint_names`, or the n_a actuated ones in
    the order of `actuated`.

    Attributes:
        model: Kinematic tree (loops cut open).
        loops: Loop closures.
        actuated: Names of the driven joints.
        drives: Nominal friction and drive parameters by joint name (missing: all zero).
        home: Posture of all joints from which assembly starts, shape (n,); its loops need not be
            closed.
        box: Range of the actuated joints; None: it is determined by a search.
        measured: Names of the passive joints that have an encoder.
        couplings: Linear couplings of joints, in addition to the loops.
    """

    model: RobotModel
    loops: tuple[Loop, ...] = ()
    actuated: tuple[str, ...] = ()
    drives: Mapping[str, JointDrive] = field(default_factory=dict)
    home: Array | None = None
    box: MotionBox | None = None
    measured: tuple[str, ...] = ()
    couplings: tuple[Coupling, ...] = ()

    def __post_init__(self) -> None:
        names = self.model.joint_names
        object.__setattr__(self, "actuated", tuple(self.actuated) or names)
        object.__setattr__(self, "loops", tuple(self.loops))
        object.__setattr__(self, "couplings", tuple(self.couplings))
        object.__setattr__(self, "drives", MappingProxyType(dict(self.drives)))
        called = [closure.name for closure in self.closures]
        if len(set(called)) < len(called):
            raise ModelError(f"Two loops have the same name: {called}.", remedy="Rename one.")
        for coupling in self.couplings:
            _check_joints(coupling.joints, names, f"coupled by '{coupling.name}'")
        _check_joints(self.actuated, names, "actuated")
        _check_joints(self.drives, names, "driven")
        object.__setattr__(self, "measured", tuple(self.measured))
        _check_joints(self.measured, self.passive, "measured", "Passive joints")
        if self.home is None:
            object.__setattr__(self, "home", np.zeros(len(names)))
        remedy = "Give one position for each joint of the tree."
        own_arrays(self, ModelError, remedy, "the closed chain", home=(len(names),))
        if self.n_equations < len(self.passive):
            raise ModelError(
                f"{len(self.passive)} joints are not actuated but the loops give only"
                f" {self.n_equations} equations: the mechanism isn't fully actuated.",
                remedy=f"Not actuated: {', '.join(self.passive)}. Mark one as actuated, or add"
                " the loop that holds it.",
                passive=self.passive,
            )

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.model.nv

    @property
    def actuated_home(self) -> Array:
        """Positions of the driven joints in the home posture, shape (n_a,)."""
        assert self.home is not None  # set in `__post_init__`
        return self.home[self.actuated_columns]

    @property
    def n_actuated(self) -> int:
        """Number of driven joints."""
        return len(self.actuated)

    @property
    def n_equations(self) -> int:
        """Number of scalar closure equations."""
        return sum(closure.size for closure in self.closures)

    @property
    def closures(self) -> tuple[Loop | Coupling, ...]:
        """Loops, then couplings, in the order of their equations."""
        return (*self.loops, *self.couplings)

    @cached_property
    def coupling_law(self) -> tuple[Array, Array]:
        """Coefficients and right-hand sides of the couplings, shapes (m, n) and (m,)."""
        K = np.array(
            [[c.joints.get(j, 0.0) for j in self.model.joint_names] for c in self.couplings]
        )
        return K.reshape(-1, self.n), np.array([c.offset for c in self.couplings])

    @cached_property
    def passive(self) -> tuple[str, ...]:
        """Names of the joints without a drive, in the order of the model."""
        return tuple(name for name in self.model.joint_names if name not in self.actuated)

    @cached_property
    def actuated_columns(self) -> NDArray[np.intp]:
        """Indices of the actuated joints among all, shape (n_a,)."""
        return np.array([self.model.joint_names.index(j) for j in self.actuated], dtype=np.intp)

    @cached_property
    def passive_columns(self) -> NDArray[np.intp]:
        """Indices of the passive joints among all, shape (n - n_a,)."""
        return np.array([self.model.joint_names.index(j) for j in self.passive], dtype=np.intp)

    @cached_property
    def ends(self) -> LoopEnds:
        """Kinematics of the ends of the loops: both ends of the first loop, then of the second,
        …
        """
        return LoopEnds(self.model, [end for ends in self.attachments for end in ends])

    @cached_property
    def attachments(self) -> tuple[tuple[Attachment, Attachment], ...]:
        """Both ends of every loop, each fixed to the moving body that carries it."""
        return tuple(
            (self._attach(loop, loop.a), self._attach(loop, loop.b)) for loop in self.loops
        )

    def drive(self, joint: str) -> JointDrive:
        """Return the nominal drive parameters of a joint."""
        return self.drives.get(joint, JointDrive())

    @property
    def torque_limits(self) -> Array:
        """Effort limits of the actuated joints, shape (n_a,) [N m]: those of the drives, or, if
        these are unknown, of the URDF.
        """
        effort = dict(zip(self.model.joint_names, self.model.effort_limits, strict=True))
        limits = []
        for joint in self.actuated:
            limit = self.drive(joint).torque_limit
            limits.append(limit if np.isfinite(limit) else (effort[joint] or np.inf))
        return np.array(limits, dtype=float)

    def with_model(self: M, model: RobotModel) -> M:
        """Return a copy with another set of inertial parameters."""
        return replace(self, model=model)

    def with_drives(self: M, drives: Mapping[str, JointDrive]) -> M:
        """Return a copy with other friction and drive parameters; joints that are not given keep
        their parameters.
        """
        return replace(self, drives={**self.drives, **drives})

    def _attach(self, loop: Loop, end: LoopEnd) -> Attachment:
        try:
            frame = self.model.pin_model.frames[self.model.frame_id(end.link)]
        except ModelError as err:
            raise ModelError(
                f"Loop '{loop.name}' ends on '{end.link}', which is not a link of '{self.name}'.",
                remedy=err.remedy,
                loop=loop.name,
            ) from err
        X = frame.placement
        return Attachment(
            joint=int(frame.parentJoint) - 1,
            R_BF=X.rotation @ end.R,
            p_BF=X.translation + X.rotation @ end.xyz,
        )


def _check_joints(
    given: Sequence[str] | Mapping[str, Any],
    known: tuple[str, ...],
    what: str,
    known_as: str = "Moving joints of the URDF",
) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ModelError(
            f"Joints {unknown}, named as {what}, are not among the {known_as.lower()}.",
            remedy=f"{known_as}: {', '.join(known)}.",
            unknown=unknown,
        )
    if len(set(given)) != len(given):
        raise ModelError(
            f"A joint is named twice as {what}: {list(given)}.", remedy="Name it once."
        )
