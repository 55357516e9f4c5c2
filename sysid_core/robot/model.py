# SPDX-License-Identifier: Apache-2.0
"""Robot model of a URDF, based on pinocchio."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ModelError
from sysid_core.robot.held_joints import MimicJoint, exact_urdf, held_positions, mimic_joints
from sysid_core.robot.inertia import (
    INERTIA_ENTRIES,
    INERTIAL_NAMES,
    INERTIAL_UNITS,
    Array,
    is_physically_consistent,
    pin_inertia,
    skew,
)
from sysid_core.robot.urdf import (
    REFERENCE_GRAVITY,
    doubtful_units,
    sound_urdf,
    urdf_digest,
    urdf_text,
)
from sysid_core.settings import numbers

if TYPE_CHECKING:
    from sysid_core.robot.frames import StaticTransform

STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2], in the base frame


def _fix_frame(tree: pin.Model, name: str, parent: int, pose: pin.SE3) -> None:
    """Add a frame to pinocchio's model, fixed to another frame that is given by its index."""
    base = tree.frames[parent]
    placement = base.placement * pose
    tree.addFrame(pin.Frame(name, base.parentJoint, parent, placement, pin.FrameType.BODY), False)


def lock_joints(tree: pin.Model, positions: Mapping[str, float]) -> pin.Model:
    """Return the kinematic tree without the given joints, each fixed at its position [rad or m].

    Raises:
        ModelError: A joint with several degrees of freedom has a position other than zero.
    """
    tree = tree.copy()
    reference = pin.neutral(tree)
    for name, value in positions.items():
        joint = tree.joints[tree.getJointId(name)]
        if value == 0.0:
            continue
        if joint.nv != 1:
            raise ModelError(
                f"Joint '{name}' has {joint.nv} degrees of freedom.",
                remedy="Only joints with one degree of freedom are locked at a position.",
            )
        here = slice(joint.idx_q, joint.idx_q + joint.nq)
        reference[here] = value if joint.nq == 1 else [np.cos(value), np.sin(value)]
    # A link may be called as its joint is: pinocchio then doesn't know which to fix.
    twins = {f.name: f"{f.name}|link" for f in tree.frames if f.name in tuple(tree.names)}
    for i, frame in enumerate(tree.frames):
        if frame.type == pin.FrameType.BODY and frame.name in twins:
            tree.frames[i].name = twins[frame.name]
    reduced = pin.buildReducedModel(tree, [tree.getJointId(name) for name in positions], reference)
    own = {twin: name for name, twin in twins.items()}
    for i, frame in enumerate(reduced.frames):
        reduced.frames[i].name = own.get(frame.name, frame.name)
    return reduced


@dataclass(frozen=True)
class FrameMotion:
    """Motion of a frame F that is fixed to the robot, K samples; all vectors in the axes of F.

    Attributes:
        R_WF: Rotations from the axes of F to the world's, shape (K, 3, 3).
        omega: Angular velocity, shape (K, 3) [rad/s].
        alpha: Angular acceleration, shape (K, 3) [rad/s^2].
        a: Proper acceleration (acceleration minus gravity) of the origin, shape (K, 3) [m/s^2].
        gravity: Gravity in the frame, shape (K, 3) [m/s^2].
        p_WF: Positions of the origin in the world, shape (K, 3) [m]; None if they are unknown.
    """

    R_WF: Array
    omega: Array
    alpha: Array
    a: Array
    gravity: Array
    p_WF: Array | None = None


@dataclass(frozen=True, eq=False)
class RobotModel:
    """Tree of rigid bodies, built by `from_urdf`. Joint arrays are in the order of `joint_names`;
    links on fixed joints belong to the moving body that carries them.

    Attributes:
        name: Name of the robot.
        pin_model: Pinocchio model. Do not modify a RobotModel; `with_pi` returns a robot with other
            parameters.
        urdf_hash: SHA-256 of the canonical XML of the URDF (first 16 hex digits), or "" without a
            URDF.
        urdf_xml: Text of the URDF.
        locked: Locked joints of the URDF with their positions [rad or m].

    References:
        Featherstone 2008 (spatial inertias, the tree and its algorithms).

    Examples:
        >>> robot = RobotModel.from_urdf("ur5")
        >>> robot.nv, robot.pi.shape
        (6, (6, 10))
    """

    STANDARD_GRAVITY: ClassVar[tuple[float, float, float]] = STANDARD_GRAVITY
    INERTIAL_NAMES: ClassVar[tuple[str, ...]] = INERTIAL_NAMES
    INERTIAL_UNITS: ClassVar[tuple[str, ...]] = INERTIAL_UNITS
    INERTIA_ENTRIES: ClassVar[Mapping[str, tuple[int, int]]] = INERTIA_ENTRIES

    name: str
    pin_model: pin.Model
    urdf_hash: str = ""
    urdf_xml: str = ""
    locked: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_urdf(
        cls,
        source: str | Path,
        *,
        floating_base: bool = False,
        gravity: ArrayLike | None = None,
    ) -> RobotModel:
        """Build the model from a URDF file, a URDF text, or the name of a reference robot or of a
        robot in `example-robot-data`. Meshes are not read.

        Args:
            source: Path, XML text, or name such as "puma560" or "xarm7".
            floating_base: True for a root link that moves freely (adds a 6-DoF joint).
            gravity: Gravity in the base frame, shape (3,) [m/s^2]; None: that of the reference
                robot, or the standard gravity.

        Raises:
            ModelError: The description is not a valid URDF.
        """
        text = urdf_text(source)
        sound_urdf(text)
        try:
            if floating_base:
                model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
            else:
                model = pin.buildModelFromXML(text)
        except Exception as err:
            raise ModelError(
                f"The URDF can't be parsed: {str(err).rstrip('.')}.",
                remedy="Check the URDF with `check_urdf`.",
            ) from err
        if model.njoints < 2:
            raise ModelError(
                f"The URDF '{model.name}' has no moving joint.",
                remedy="Give a URDF that describes the whole robot.",
            )
        if gravity is None:
            gravity = REFERENCE_GRAVITY.get(str(source), STANDARD_GRAVITY)
        model.gravity.linear = np.asarray(gravity, dtype=float)
        # Drive inertia is a parameter of the estimator (I_a), never hidden in the dynamics.
        model.armature = np.zeros(model.nv)
        digest = urdf_digest(text)
        return cls(name=model.name, pin_model=model, urdf_hash=digest, urdf_xml=text)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, parents before children (pinocchio's order)."""
        return tuple(self.pin_model.names)[1:]

    @property
    def tree(self) -> RobotModel:
        """Kinematic tree without loop closures: this robot itself (a `DrivenRobot` has loops)."""
        return self

    def on_tree(self, tree: RobotModel) -> RobotModel:
        """Return a copy with another kinematic tree that has the same joints."""
        return tree

    @property
    def home(self) -> Array:
        """Joint positions of the home posture: zero, shape (nv,)."""
        return np.zeros(self.nv)

    @property
    def n_bodies(self) -> int:
        """Number of moving bodies (one per joint; links attached by fixed joints are merged)."""
        return self.pin_model.njoints - 1

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return int(self.pin_model.nv)

    @property
    def degrees_of_freedom(self) -> tuple[int, ...]:
        """Degrees of freedom of each joint: 1, except for floating, planar and ball joints."""
        return tuple(int(joint.nv) for joint in list(self.pin_model.joints)[1:])

    @property
    def compound_joints(self) -> list[str]:
        """Names of the joints with several degrees of freedom."""
        sizes = zip(self.joint_names, self.degrees_of_freedom, strict=True)
        return [name for name, size in sizes if size != 1]

    @property
    def prismatic_joints(self) -> tuple[str, ...]:
        """Names of the prismatic joints."""
        kinds = (joint.shortname() for joint in list(self.pin_model.joints)[1:])
        return tuple(
            name
            for name, kind in zip(self.joint_names, kinds, strict=True)
            if kind.startswith("JointModelP") and kind != "JointModelPlanar"
        )

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Name of the link that each joint moves, in joint order."""
        first: dict[int, str] = {}
        for frame in self.pin_model.frames:
            if frame.type == pin.FrameType.BODY:
                first.setdefault(int(frame.parentJoint), frame.name)
        return tuple(
            first.get(j, self.pin_model.names[j]) for j in range(1, self.pin_model.njoints)
        )

    @property
    def root_link(self) -> str:
        """Name of the link that does not move (or floats)."""
        for frame in self.pin_model.frames:
            if frame.type == pin.FrameType.BODY:
                return str(frame.name)
        return "world"

    @property
    def gravity(self) -> Array:
        """Gravity in the base frame, shape (3,) [m/s^2]."""
        return np.array(self.pin_model.gravity.linear)

    @property
    def pi(self) -> Array:
        """Inertial parameters of the URDF, shape (n_bodies, 10)."""
        return np.array([inertia.toDynamicParameters() for inertia in self.pin_model.inertias][1:])

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the 10 parameters of every body, such as `link3.mx`, in the order of the
        regressor.
        """
        return tuple(f"{body}.{name}" for body in self.body_names for name in INERTIAL_NAMES)

    @cached_property
    def inertial_scale(self) -> Array:
        r"""Natural scale of every inertial parameter, `[m, m L, m L^2]` with mass m and length L of
        the body, in the order of the parameters, shape (10 n_bodies,).

        The mass m is that of the URDF, but at least a tenth of the mean mass. The length L is the
        largest of three lengths, but at least 3 cm: the distance to the centre of mass, the
        distance to the next joint, and the radius of gyration.
        """
        pi = self.pi
        mass = np.maximum(pi[:, 0], 0.1 * max(float(np.mean(pi[:, 0])), 1e-3))
        reach = np.linalg.norm(pi[:, 1:4], axis=1) / mass
        gyration = np.sqrt(np.maximum(pi[:, 4] + pi[:, 6] + pi[:, 9], 0.0) / (2.0 * mass))
        span = np.zeros(self.n_bodies)
        tree: pin.Model = self.pin_model
        for joint in range(1, tree.njoints):
            parent = tree.parents[joint]
            if parent > 0:
                offset = float(np.linalg.norm(tree.jointPlacements[joint].translation))
                span[parent - 1] = max(span[parent - 1], offset)
        length = np.maximum.reduce([reach, gyration, span, np.full(self.n_bodies, 0.03)])
        # Distal bodies that move none further: half the arm's mean size at least.
        length = np.maximum(length, 0.25 * float(np.mean(length)))
        scale = np.empty((self.n_bodies, 10))
        scale[:, 0] = mass
        scale[:, 1:4] = (mass * length)[:, None]
        scale[:, 4:] = (mass * length**2)[:, None]
        return scale.ravel()

    @property
    def held_text(self) -> str:
        """Text with the locked joints and their positions; "" if there are none."""
        if not self.locked:
            return ""
        parts = (f"{name} at {position:.4g}" for name, position in self.locked.items())
        return f"Joints held, neither measured nor driven: {', '.join(parts)} (rad or m)."

    @property
    def position_limits(self) -> tuple[Array, Array]:
        """Lower and upper joint position limits, each (nv,); infinite if there are none.

        Limits that are both zero, which exporters write for unknown values, count as no limits.
        """
        lower, upper = np.full(self.nv, -np.inf), np.full(self.nv, np.inf)
        for joint in self.pin_model.joints:
            if joint.nq == joint.nv and joint.nv > 0:
                lower[joint.idx_v : joint.idx_v + joint.nv] = self.pin_model.lowerPositionLimit[
                    joint.idx_q : joint.idx_q + joint.nq
                ]
                upper[joint.idx_v : joint.idx_v + joint.nv] = self.pin_model.upperPositionLimit[
                    joint.idx_q : joint.idx_q + joint.nq
                ]
        unknown = (lower == 0.0) & (upper == 0.0)
        return np.where(unknown, -np.inf, lower), np.where(unknown, np.inf, upper)

    @property
    def velocity_limits(self) -> Array:
        """Joint velocity limits, shape (nv,) [rad/s or m/s]."""
        return np.array(self.pin_model.velocityLimit)

    @property
    def effort_limits(self) -> Array:
        """Joint effort limits, shape (nv,) [N m or N]."""
        return np.array(self.pin_model.effortLimit)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about implausible values of the description, which are used nevertheless."""
        consistent = is_physically_consistent(self.pi)
        units = doubtful_units(self.urdf_xml) if self.urdf_xml else ()
        return units + tuple(
            f"The inertia of link '{name}' in the URDF is not physically consistent"
            f" ({'zero' if not np.any(pi) else 'triangle inequality or sign violated'}): used as"
            " is."
            for name, pi, ok in zip(self.body_names, self.pi, consistent, strict=True)
            if not ok
        )

    def columns_from(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Return the index of each joint of the model among the columns `names` of a message or
        table.

        Args:
            names: Joint names in the order of the data; they may include joints of other robots.

        Returns:
            Index array `k`, shape (nv,), with `data[:, k]` in the order of `joint_names`.

        Raises:
            ModelError: A joint of the robot is missing, or occurs twice.
        """
        position = {name: i for i, name in enumerate(names)}
        twice = [name for name in self.joint_names if list(names).count(name) > 1]
        if twice:
            raise ModelError(
                f"Joints {twice} occur more than once among the data's {list(names)}.",
                remedy="Keep one column of each joint.",
                twice=twice,
            )
        missing = [name for name in self.joint_names if name not in position]
        if missing:
            raise ModelError(
                f"Joints {missing} of '{self.name}' are not among the data's {list(names)}.",
                remedy="Rename them in the column map or use the URDF that belongs to the recording.",
                missing=missing,
            )
        return np.array([position[name] for name in self.joint_names], dtype=np.intp)

    def frame_id(self, frame: str) -> int:
        """Return the index of a link or frame in pinocchio. If a joint has the same name, the link
        is used.

        Raises:
            ModelError: There is no such frame.
        """
        for kind in (pin.FrameType.BODY, pin.FrameType.FIXED_JOINT, pin.FrameType.JOINT):
            if self.pin_model.existFrame(frame, kind):
                return int(self.pin_model.getFrameId(frame, kind))
        raise ModelError(
            f"The robot '{self.name}' has no frame '{frame}'.",
            remedy=f"Choose one of: {', '.join(f.name for f in self.pin_model.frames)}.",
            frame=frame,
        )

    def configuration(self, q: ArrayLike) -> Array:
        """Return the configuration vector of pinocchio from joint positions.

        The two differ only for continuous joints, which pinocchio stores as (cos, sin).

        Args:
            q: Joint positions, shape (..., nv), or configuration vector, shape (..., nq).

        Returns:
            Configuration vector, shape (..., nq).

        Raises:
            ModelError: The number of positions is neither nv nor nq.
        """
        q = np.asarray(q, dtype=float)
        if q.shape[-1] == self.pin_model.nq:
            return q
        if q.shape[-1] != self.nv:
            raise ModelError(
                f"Joint positions have {q.shape[-1]} columns, the robot has {self.nv} joints.",
                remedy="Map the columns to the joints by name with `columns_from`.",
            )
        out = np.empty((*q.shape[:-1], self.pin_model.nq))
        for joint in self.pin_model.joints:
            iq, iv = joint.idx_q, joint.idx_v
            if joint.nv == 0:
                continue
            if joint.nq == joint.nv:
                out[..., iq : iq + joint.nq] = q[..., iv : iv + joint.nv]
            elif joint.nv == 1:
                out[..., iq], out[..., iq + 1] = np.cos(q[..., iv]), np.sin(q[..., iv])
            else:
                raise ModelError(
                    f"A joint with {joint.nv} degrees of freedom needs a full configuration.",
                    remedy="Give q as an array with nq columns (pinocchio's configuration vector).",
                )
        return out

    def random_states(self, n_samples: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Return random positions (K, nq), velocities and accelerations (K, nv) for rank tests;
        joint limits are ignored.
        """
        neutral = pin.neutral(self.pin_model)
        turns = (rng.uniform(-np.pi, np.pi, self.nv) for _ in range(n_samples))
        q = np.array([pin.integrate(self.pin_model, neutral, turn) for turn in turns])
        return q, *self.random_rates(n_samples, rng)

    def random_rates(self, n_samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return random velocities and accelerations of the joints, shape (K, nv) each."""
        v, a = rng.normal(size=(2, n_samples, self.nv)) * np.array([2.0, 5.0])[:, None, None]
        return v, a

    def with_pi(self, pi: ArrayLike) -> RobotModel:
        """Return a copy with other inertial parameters, shape (n_bodies, 10) or (10 n_bodies,).

        Raises:
            ModelError: The array has a wrong shape, or contains values that are not finite.
        """
        pi = np.asarray(pi, dtype=float)
        if pi.shape not in ((self.n_bodies, 10), (10 * self.n_bodies,)):
            raise ModelError(
                f"Inertial parameters of shape {pi.shape} were given for '{self.name}'.",
                remedy=f"Give an array of shape ({self.n_bodies}, 10): ten parameters of every body.",
            )
        if not np.all(np.isfinite(pi)):
            raise ModelError(
                f"Inertial parameters of '{self.name}' aren't finite.",
                remedy="Check in the notes of the estimate whether the fit succeeded.",
            )
        model = self.pin_model.copy()
        for i, row in enumerate(pi.reshape(-1, 10)):
            model.inertias[i + 1] = pin_inertia(row)
        return replace(self, pin_model=model)

    def with_locked(self, joints: Sequence[str] | Mapping[str, float]) -> RobotModel:
        """Return a copy with some joints locked: the body that a locked joint carries is merged
        with its parent body.

        Args:
            joints: Names of joints to lock at position zero, or a mapping to their positions [rad
                or m].

        Raises:
            ModelError: A name is not a joint, a joint with several degrees of freedom has a
                position other than zero, or all joints would be locked.
        """
        unknown = [name for name in joints if name not in self.joint_names]
        if unknown or (joints and set(joints) == set(self.joint_names)):
            raise ModelError(
                f"Can't lock {unknown}: not joints of '{self.name}'."
                if unknown
                else f"All joints of '{self.name}' would be locked.",
                remedy=f"Joints: {', '.join(self.joint_names)}.",
            )
        if not joints:
            return self
        positions = joints if isinstance(joints, Mapping) else dict.fromkeys(joints, 0.0)
        reduced = lock_joints(self.pin_model, positions)
        return replace(self, pin_model=reduced, locked={**self.locked, **positions})

    def holding(
        self,
        *,
        joints: Sequence[str] = (),
        lock: Sequence[str] = (),
        measured: Sequence[str] | None = None,
        positions: Mapping[str, float] | None = None,
    ) -> RobotModel:
        """Return the robot in which only the requested or measured joints can move.

        Args:
            joints: Names or patterns (`fr3_joint*`) of the joints that move; empty: the measured
                joints.
            lock: Further joints to lock, `JOINT` or `JOINT=POSITION` [rad or m].
            measured: Joints in the driver's joint states; None: unknown, no joint is locked for this
                reason.
            positions: Measured joint positions by name, at which joints are locked [rad or m].

        Returns:
            Robot with joints `locked` at the position in `lock`, otherwise in `positions`, otherwise
            zero (or the nearest position inside the joint's limits).

        Raises:
            ModelError: A name or pattern matches no joint, or all joints would be locked.
        """
        return self.with_locked(held_positions(self, joints, lock, measured, positions))

    @staticmethod
    def lock_options(joints: Iterable[str]) -> str:
        """Return the command-line options that lock the given joints, quoted for a shell."""
        return " ".join(f"--lock {shlex.quote(joint)}" for joint in joints)

    @property
    def mimic_joints(self) -> tuple[MimicJoint, ...]:
        """Joint couplings that correspond to the mimic joints declared in the URDF.

        Raises:
            ModelError: Joints mimic each other in a circle.
        """
        return mimic_joints(self.urdf_xml, self.joint_names)

    def with_exact_angles(self) -> tuple[RobotModel, tuple[str, ...]]:
        """Return a copy in which rounded angles of joint origins are replaced by exact ones
        (such as 1.5708 by pi/2).

        Returns:
            The robot, and the names of the joints (including fixed ones) whose angles changed. If no
            angle changed, or if the joint tree of the model is not that of the URDF, the model itself
            is returned without names.
        """
        if not self.urdf_xml:
            return self, ()
        exact_xml, changed = exact_urdf(self.urdf_xml)
        if not changed:
            return self, ()
        tree = self.tree
        floating = self.pin_model.joints[1].shortname() == "JointModelFreeFlyer"
        exact = _built(exact_xml, floating, tuple(self.gravity.tolist()))
        exact = exact.with_locked({n: q for n, q in self.locked.items() if n in exact.joint_names})
        same = exact.joint_names == tree.joint_names
        return (self.on_tree(exact), changed) if same else (self, ())

    def with_gravity(self, gravity: ArrayLike) -> RobotModel:
        """Return a copy with another direction of gravity in the base frame.

        Args:
            gravity: Gravity vector in the base frame, shape (3,) [m/s^2].

        Raises:
            ModelError: The vector is not three finite numbers, or its length is implausible.
        """
        gravity = np.asarray(gravity, dtype=float)
        if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
            raise ModelError(
                f"Gravity is three numbers in the base frame, not {gravity.tolist()}.",
                remedy="Write x,y,z in m/s^2: 0,0,-9.81 for a robot on the floor.",
            )
        size = float(np.linalg.norm(gravity))
        if size > 0.0 and not 1.0 <= size <= 30.0:
            raise ModelError(
                f"Gravity of {size:.3g} m/s^2 is impossible.",
                remedy="Write x,y,z in m/s^2: 0,0,-9.81 for a robot on the floor.",
            )
        tree = self.pin_model.copy()
        tree.gravity.linear = gravity
        return replace(self, pin_model=tree)

    def mounted(
        self,
        gravity: str = "",
        mount: str | Sequence[float] = "",
        otherwise: ArrayLike | None = None,
    ) -> RobotModel:
        """Return a copy with the gravity of the options; without options, with that of the file;
        without either, with that of the description.

        Args:
            gravity: Gravity `X,Y,Z` in the base frame [m/s^2]; "": not given.
            mount: Orientation `ROLL,PITCH,YAW` of the base in the world [rad]; empty: not given.
            otherwise: Gravity if neither is given, shape (3,) [m/s^2]; None: that of this robot.

        Raises:
            ModelError: Both options are given, or one of them is not three numbers.
        """
        if gravity and mount:
            raise ModelError("Both --gravity and --mount are given.", remedy="Give one of them.")
        if gravity:
            return self.with_gravity(numbers(gravity, (3,), "--gravity", ModelError))
        if len(mount):
            rpy = numbers(mount, (3,), "--mount", ModelError) if isinstance(mount, str) else mount
            return self.with_gravity(RobotModel.gravity_of_mount(rpy))
        return self if otherwise is None else self.with_gravity(otherwise)

    def with_frame(self, name: str, parent: str, pose: ArrayLike = (0.0,) * 6) -> RobotModel:
        """Return a copy with an additional frame, fixed to a link.

        Args:
            name: Name of the new frame.
            parent: Link or frame to which the new frame is fixed.
            pose: x y z roll pitch yaw of the new frame in the parent, as in the `<origin>` of a
                URDF, shape (6,) [m, rad].

        Raises:
            ModelError: The parent does not exist, the pose is not six finite numbers, or the name
                is already in use.
        """
        pose = np.asarray(pose, dtype=float)
        if pose.shape != (6,) or not np.all(np.isfinite(pose)):
            raise ModelError(
                f"The pose of frame '{name}' is {pose.tolist()}, expected six finite numbers.",
                remedy="Give x y z roll pitch yaw in the parent link (m, rad).",
            )
        if self.pin_model.existFrame(name):
            raise ModelError(
                f"The robot '{self.name}' has a frame '{name}' already.",
                remedy="Omit the mounting, or give the sensor frame another name.",
            )
        tree = self.pin_model.copy()
        local = pin.SE3(pin.rpy.rpyToMatrix(*pose[3:]), pose[:3])
        _fix_frame(tree, name, self.frame_id(parent), local)
        return replace(self, pin_model=tree)

    def with_static_transforms(self, transforms: Iterable[StaticTransform]) -> RobotModel:
        """Return a copy with all static frames that are connected to one of its links; existing
        frames are unchanged.

        Args:
            transforms: Transforms in any order; if a child has several, the last one is used.
        """
        tree = self.pin_model.copy()
        waiting = {t.child: t for t in transforms if not tree.existFrame(t.child)}
        found: list[StaticTransform] = [t for t in waiting.values() if tree.existFrame(t.parent)]
        if not found:
            return self
        while found:
            for transform in found:
                at = tree.getFrameId(transform.parent)
                _fix_frame(tree, transform.child, at, transform.pose)
                del waiting[transform.child]
            found = [t for t in waiting.values() if tree.existFrame(t.parent)]
        return replace(self, pin_model=tree)

    def fixed_pose(self, frame_a: str, frame_b: str) -> Array:
        """Return the pose X_AB of frame B in frame A; both frames must be fixed to the same link;
        shape (4, 4).

        Raises:
            ModelError: A joint lies between them.
        """
        a, b = (self.pin_model.frames[self.frame_id(name)] for name in (frame_a, frame_b))
        if a.parentJoint != b.parentJoint:
            raise ModelError(
                f"'{frame_a}' and '{frame_b}' are not fixed to each other.",
                remedy="Name two frames that are fixed to the last link: the flange, and the sensor on it.",
            )
        return np.asarray(a.placement.actInv(b.placement).homogeneous)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the joint torques of the rigid bodies by recursive Newton-Euler, shapes (K, nv) to
        (K, nv).
        """
        q_pin = self.configuration(q)
        data = self.pin_model.createData()
        v, a = np.asarray(v, dtype=float), np.asarray(a, dtype=float)
        return np.array(
            [pin.rnea(self.pin_model, data, *sample) for sample in zip(q_pin, v, a, strict=True)]
        ).reshape(len(q_pin), self.nv)

    def torque_regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        r"""Return the regressor Y of the rigid-body torques: `rnea(q, v, a) = Y @ pi`.

        Wensing, Niemeyer and Slotine (2023), eq. (2).

        Args:
            q: Joint positions, shape (K, nv) or (K, nq) [rad or m].
            v: Joint velocities, shape (K, nv) [rad/s or m/s].
            a: Joint accelerations, shape (K, nv) [rad/s^2 or m/s^2].

        Returns:
            Regressor Y, shape (K, nv, 10 n_bodies).

        Examples:
            >>> fingers = ["panda_finger_joint1", "panda_finger_joint2"]
            >>> model = RobotModel.from_urdf("panda").with_locked(fingers)
            >>> q, v, a = np.random.default_rng(0).normal(size=(3, 4, model.nv))
            >>> Y = model.torque_regressor(q, v, a)
            >>> Y.shape, bool(np.allclose(Y @ model.pi.ravel(), model.inverse_dynamics(q, v, a)))
            ((4, 7, 70), True)
        """
        q_pin = self.configuration(q)
        v, a = np.asarray(v, dtype=float), np.asarray(a, dtype=float)
        data = self.pin_model.createData()
        Y = np.empty((len(q_pin), self.nv, 10 * self.n_bodies))
        for k in range(len(q_pin)):
            Y[k] = pin.computeJointTorqueRegressor(self.pin_model, data, q_pin[k], v[k], a[k])
        return Y

    def passive_torques(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array | float:
        """Return the torques from friction of joints without a drive: 0.0 for motion of shape (K,
        nv), since all joints are driven.
        """
        return 0.0

    def frame_motion(self, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> FrameMotion:
        """Return the motion of a frame along a trajectory; q, v, a of shape (K, nv)."""
        frame_id = self.frame_id(frame)
        data = self.pin_model.createData()
        q_pin = self.configuration(q)
        v, a = np.asarray(v, dtype=float), np.asarray(a, dtype=float)
        K = len(q_pin)
        R_WF = np.empty((K, 3, 3))
        omega, alpha, accel, p_WF = (np.empty((K, 3)) for _ in range(4))
        for k in range(K):
            pin.forwardKinematics(self.pin_model, data, q_pin[k], v[k], a[k])
            pin.updateFramePlacement(self.pin_model, data, frame_id)
            R_WF[k], p_WF[k] = data.oMf[frame_id].rotation, data.oMf[frame_id].translation
            omega[k] = pin.getFrameVelocity(self.pin_model, data, frame_id).angular
            motion = pin.getFrameClassicalAcceleration(self.pin_model, data, frame_id)
            alpha[k], accel[k] = motion.angular, motion.linear
        gravity = np.einsum("kji,j->ki", R_WF, self.gravity)
        return FrameMotion(R_WF, omega, alpha, accel - gravity, gravity, p_WF)

    def frame_motion_sensitivity(
        self, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike
    ) -> Array:
        r"""Return the derivatives of `frame_motion` with respect to q, v and a of each of the n
        joints.

        Args:
            frame: Name of the frame F.
            q: Joint positions, shape (K, n) [rad or m].
            v: Joint velocities, shape (K, n) [rad/s or m/s].
            a: Joint accelerations, shape (K, n) [rad/s^2 or m/s^2].

        Returns:
            Derivatives of (proper acceleration, omega, alpha) in the axes of F, shape (K, 9, n, 3):
            sample, component, joint, and variable (position, velocity or acceleration of the
            joint).
        """
        frame_id = self.frame_id(frame)
        data = self.pin_model.createData()
        q_pin = self.configuration(q)
        v, a = np.asarray(v, dtype=float), np.asarray(a, dtype=float)
        K, n = len(q_pin), self.nv
        v_dq, a_dq, a_dv, a_da = np.empty((4, K, 6, n))
        angular, linear, gravity = np.empty((3, K, 3))
        for k in range(K):
            pin.computeForwardKinematicsDerivatives(self.pin_model, data, q_pin[k], v[k], a[k])
            placement = pin.updateFramePlacement(self.pin_model, data, frame_id)
            twist = pin.getFrameVelocity(self.pin_model, data, frame_id)
            v_dq[k], a_dq[k], a_dv[k], a_da[k] = pin.getFrameAccelerationDerivatives(
                self.pin_model, data, frame_id, pin.ReferenceFrame.LOCAL
            )
            angular[k], linear[k] = twist.angular, twist.linear
            gravity[k] = placement.rotation.T @ self.gravity
        W, V, G = skew(angular), skew(linear), skew(gravity)
        out = np.zeros((K, 9, n, 3))
        # Proper acceleration: spatial acceleration + omega x v - R^T g.
        out[:, :3, :, 0] = a_dq[:, :3] + W @ v_dq[:, :3] - V @ v_dq[:, 3:] - G @ a_da[:, 3:]
        out[:, :3, :, 1] = a_dv[:, :3] + W @ a_da[:, :3] - V @ a_da[:, 3:]
        out[:, :3, :, 2] = a_da[:, :3]
        out[:, 3:6, :, 0], out[:, 3:6, :, 1] = v_dq[:, 3:], a_da[:, 3:]
        out[:, 6:, :, 0], out[:, 6:, :, 1], out[:, 6:, :, 2] = a_dq[:, 3:], a_dv[:, 3:], a_da[:, 3:]
        return out

    @staticmethod
    def gravity_of_mount(rpy: ArrayLike) -> Array:
        r"""Return the gravity in the frame of a base that is rotated relative to the world, `g_B =
        R_WB^T g_W`.

        Args:
            rpy: Roll, pitch and yaw of the base in the world (z up), shape (3,) [rad].

        Returns:
            Gravity vector in the base frame, shape (3,) [m/s^2].

        Raises:
            ModelError: The angles are not three finite numbers.
        """
        rpy = np.asarray(rpy, dtype=float)
        if rpy.shape != (3,) or not np.all(np.isfinite(rpy)):
            raise ModelError(
                f"A mount is three angles, roll, pitch and yaw [rad], not {rpy.tolist()}.",
                remedy="Examples: 3.14159,0,0 for a base on the ceiling; 0,1.5708,0 for a base on a wall.",
            )
        return np.asarray(pin.rpy.rpyToMatrix(*rpy).T @ np.array(STANDARD_GRAVITY))


@lru_cache(maxsize=8)
def _built(urdf_xml: str, floating_base: bool, gravity: tuple[float, ...]) -> RobotModel:
    return RobotModel.from_urdf(urdf_xml, floating_base=floating_base, gravity=gravity)
