# SPDX-License-Identifier: Apache-2.0
"""Limits of a motion: those of the description, of the user, and accelerations and jerks published by vendors."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError, require_type
from sysid_core.planning.cell import Obstacle, Plane
from sysid_core.planning.geometry import HeldBox
from sysid_core.planning.tool_frame import tool_frame
from sysid_core.robot import Array, RobotModel

Numbers = tuple[float, ...]
DEFAULT_ACCELERATION = 5.0  # [rad/s^2 or m/s^2]; a URDF states none
DEFAULT_VELOCITY = 1.0  # [rad/s or m/s], where the URDF states none
DEFAULT_TCP_SPEED = 0.25  # [m/s], reduced speed of ISO 10218-1


@dataclass(frozen=True)
class VendorLimits:
    """Published limits of one type of arm.

    Attributes:
        joints: Names of the joints in the URDF of the vendor.
        source: Publication that states the values.
        acceleration: Acceleration limits, one per joint, or one for all [rad/s^2].
        jerk: Jerk limits, one per joint, or one for all [rad/s^3]; empty if none is published.
    """

    joints: tuple[str, ...]
    source: str
    acceleration: Numbers
    jerk: Numbers = ()

    @staticmethod
    def of(robot: str, joint_names: Sequence[str]) -> VendorLimits | None:
        """Return the published limits of a robot, or None.

        Args:
            robot: Name of the robot; joints such as `joint1` are those of an xArm only if this name
                contains "xarm".
            joint_names: Names of the robot's joints, possibly with those of grippers.
        """
        for entry in VENDORS:
            generic = entry.joints[0] == "joint1"
            if generic and "xarm" not in robot.lower().replace("_", ""):
                continue
            if any(name in entry.joints for name in joint_names):
                return entry
        return None

    def by_joint(self, values: Numbers, joint_names: Sequence[str], other: float) -> list[float]:
        """Return the published accelerations or jerks in the order of some joints.

        Args:
            values: Attribute `acceleration` or `jerk`.
            joint_names: Names of joints in the order of the result.
            other: Value for joints without a published one.
        """
        every = values * len(self.joints) if len(values) == 1 else values
        known = dict(zip(self.joints, every, strict=True))
        return [float(known.get(name, other)) for name in joint_names]


def _named(pattern: str, count: int) -> tuple[str, ...]:
    return tuple(pattern.format(i) for i in range(1, count + 1))


VENDORS = (
    VendorLimits(
        _named("panda_joint{}", 7),
        "Franka Control Interface documentation, limits of the Panda",
        (15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0),
        (7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0),
    ),
    VendorLimits(
        _named("fr3_joint{}", 7),
        "Franka Control Interface documentation, limits of the FR3",
        (10.0,),
        (5000.0,),
    ),
    VendorLimits(
        _named("joint{}", 7),
        "xArm user manual, 1145 deg/s² for every joint",
        (float(np.radians(1145.0)),),
    ),
)


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of a robot's motion; arrays follow `joint_names`.

    Attributes:
        joint_names: Names of the n joints of the robot.
        lower: Lower position limits, shape (n,) [rad or m].
        upper: Upper position limits, shape (n,) [rad or m].
        velocity: Velocity limits, shape (n,) [rad/s or m/s].
        acceleration: Acceleration limits, shape (n,) [rad/s^2 or m/s^2].
        effort: Torque or force limits, shape (n,) [N m or N]; infinite without a limit.
        jerk: Jerk limits, shape (n,) [rad/s^3 or m/s^3]; None: no limit.
        tcp_frame: Name of the link or frame whose speed is limited.
        tcp_speed: Speed limit of `tcp_frame` [m/s].
        workspace: Lower and upper corner of a box in the base frame [m] that contains all moving
            shapes; None: no limit.
        ground_height: Height in the base frame [m] below which no moving shape may go; None: no
            limit.
        self_collision: True to check contact between bodies of the robot.
        allowed_contacts: Pairs of links that may touch, as in an SRDF.
        planes: Walls and slopes that no moving shape may cross.
        obstacles: Fixed bodies that no moving shape may touch.
        held: Bounding box and mass of the held object; None: no object.
        package_dirs: Folders that are searched for meshes given as `package://`.
        notes: Assumptions about limits that the description does not state.

    Raises:
        ExcitationError: A limit is NaN or not positive, a lower position limit is above the upper one,
            or the TCP speed is not positive.

    Examples:
        >>> from sysid_core.robot import RobotModel
        >>> limits = MotionLimits.from_model(RobotModel.from_urdf("ur5"), tcp_speed=0.5)
        >>> limits.velocity.shape, limits.tcp_speed
        ((6,), 0.5)
    """

    joint_names: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    jerk: Array | None
    tcp_frame: str
    tcp_speed: float = DEFAULT_TCP_SPEED
    workspace: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None
    ground_height: float | None = None
    self_collision: bool = True
    allowed_contacts: tuple[tuple[str, str], ...] = ()
    planes: tuple[Plane, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    held: HeldBox | None = None
    package_dirs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.joint_names)
        for key in ("lower", "upper", "velocity", "acceleration", "effort", "jerk"):
            if getattr(self, key) is None:
                continue
            array = np.array(np.broadcast_to(np.asarray(getattr(self, key), dtype=float), (n,)))
            if np.any(np.isnan(array)):
                raise ExcitationError(
                    f"Motion limit '{key}' holds NaN.",
                    remedy="Give finite numbers, or infinity for no limit.",
                )
            if key not in ("lower", "upper") and np.any(array <= 0):
                raise ExcitationError(
                    f"Motion limit '{key}' must be positive for every joint, got {array.tolist()}.",
                    remedy="Correct the limits in the limits file or the URDF.",
                )
            array.setflags(write=False)
            object.__setattr__(self, key, array)
        if np.any(self.lower > self.upper):
            bad = [
                n
                for n, lo, up in zip(self.joint_names, self.lower, self.upper, strict=True)
                if lo > up
            ]
            raise ExcitationError(
                f"Position limits of {bad} do not permit any motion.",
                remedy="Correct the position limits in the limits file or the URDF: lower must be below upper by more than the margin.",
            )
        if not self.tcp_speed > 0:
            raise ExcitationError(
                f"The TCP speed limit must be positive, got {self.tcp_speed}.",
                remedy="Give metres per second above zero, such as 0.25.",
            )

    @classmethod
    def from_model(
        cls,
        model: RobotModel | str | Path,
        *,
        acceleration: ArrayLike = DEFAULT_ACCELERATION,
        jerk: ArrayLike | None = None,
        velocity_share: float = 1.0,
        effort_share: float = 1.0,
        position_margin: float = 0.02,
        tcp_frame: str | None = None,
        tcp_speed: float = DEFAULT_TCP_SPEED,
        workspace: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None,
        ground_height: float | None = None,
        self_collision: bool = True,
        allowed_contacts: Sequence[tuple[str, str]] = (),
        planes: Sequence[Plane] = (),
        obstacles: Sequence[Obstacle] = (),
        held: HeldBox | None = None,
        package_dirs: tuple[str, ...] = (),
    ) -> MotionLimits:
        """Return the motion limits of a robot from its description and its cell.

        Args:
            model: Robot model, path of a URDF, or name in example-robot-data.
            acceleration: Acceleration limits, one for all joints, or shape (n,) [rad/s^2 or m/s^2].
            jerk: Jerk limits, one for all joints, or shape (n,) [rad/s^3 or m/s^3]; None: no limit.
            velocity_share: Share of the URDF's velocity limits that may be used, 0 to 1.
            effort_share: Share of the URDF's effort limits that the rigid-body torque may use;
                the rest is for friction and the load.
            position_margin: Distance from the URDF's position limits, at most a quarter of the
                range [rad or m].
            tcp_frame: Frame with limited speed; None: the last link, see `tool_frame`.
            tcp_speed: Speed limit of `tcp_frame` [m/s].
            workspace, ground_height, self_collision, allowed_contacts, planes, obstacles, held,
                package_dirs: See the attributes of the class with the same names.

        Raises:
            ExcitationError: A limit is invalid, or the tool frame does not move.
        """
        if isinstance(model, str | Path):
            model = RobotModel.from_urdf(model)
        require_type(model, RobotModel, "model")
        limits, notes = _described_limits(
            model, position_margin, velocity_share, effort_share, acceleration
        )
        frame, sentence = tool_frame(model, tcp_frame)
        notes.append(sentence)
        return cls(
            joint_names=model.joint_names,
            **limits,
            acceleration=np.asarray(acceleration, dtype=float),
            jerk=None if jerk is None else np.asarray(jerk, dtype=float),
            tcp_frame=frame,
            tcp_speed=tcp_speed,
            workspace=workspace,
            ground_height=ground_height,
            self_collision=self_collision,
            allowed_contacts=tuple(allowed_contacts),
            planes=tuple(planes),
            obstacles=tuple(obstacles),
            held=held,
            package_dirs=package_dirs,
            notes=tuple(notes),
        )

    @classmethod
    def initial(cls, model: RobotModel, **changes: Any) -> tuple[MotionLimits, tuple[str, ...]]:
        """Return the motion limits from the URDF and from values published by the vendor, with their
        sources.

        Args:
            model: Robot model.
            changes: Keyword arguments of `from_model`.
        """
        sources = ["Positions (less a margin), velocities and efforts: the URDF."]
        vendor = VendorLimits.of(model.name, model.joint_names)
        if vendor and "acceleration" not in changes:
            names, published = model.joint_names, vendor.acceleration
            changes["acceleration"] = vendor.by_joint(published, names, DEFAULT_ACCELERATION)
            if vendor.jerk and changes.get("jerk") is None:
                changes["jerk"] = vendor.by_joint(vendor.jerk, names, max(vendor.jerk))
            sources.append(f"Accelerations{' and jerks' if vendor.jerk else ''}: {vendor.source}.")
        limits = cls.from_model(model, **changes)
        return limits, (*sources, *limits.notes)

    def replace(self, **changes: Any) -> MotionLimits:
        """Return a copy with some limits changed."""
        return dataclasses.replace(self, **changes)

    def stricter(self, other: MotionLimits) -> MotionLimits:
        """Return the stricter of these and other limits of the same joints, with the obstacles of
        both cells.

        Raises:
            ExcitationError: The limits belong to other joints, or together permit no motion.
        """
        if other.joint_names != self.joint_names:
            raise ExcitationError(
                f"Limits of {list(other.joint_names)} and of {list(self.joint_names)} differ.",
                remedy="Give the motion limits of this robot.",
            )
        jerks = [x.jerk for x in (self, other) if x.jerk is not None]
        grounds = [x.ground_height for x in (self, other) if x.ground_height is not None]
        workspace = self.workspace or other.workspace
        if self.workspace and other.workspace:
            (a, b), (c, d) = self.workspace, other.workspace
            low, high = np.maximum(a, c).tolist(), np.minimum(b, d).tolist()
            workspace = ((low[0], low[1], low[2]), (high[0], high[1], high[2]))
        allowed = set(other.allowed_contacts) if other.self_collision else None
        return self.replace(
            lower=np.maximum(self.lower, other.lower),
            upper=np.minimum(self.upper, other.upper),
            velocity=np.minimum(self.velocity, other.velocity),
            acceleration=np.minimum(self.acceleration, other.acceleration),
            effort=np.minimum(self.effort, other.effort),
            jerk=np.min(jerks, axis=0) if jerks else None,
            tcp_speed=min(self.tcp_speed, other.tcp_speed),
            workspace=workspace,
            ground_height=max(grounds) if grounds else None,
            self_collision=self.self_collision or other.self_collision,
            allowed_contacts=tuple(
                x for x in self.allowed_contacts if allowed is None or x in allowed
            )
            if self.self_collision
            else other.allowed_contacts,
            planes=(*self.planes, *(x for x in other.planes if x not in self.planes)),
            obstacles=(
                *self.obstacles,
                *(x for x in other.obstacles if x.name not in {o.name for o in self.obstacles}),
            ),
            held=self.held or other.held,
        )

    @classmethod
    def described(cls, model: RobotModel) -> MotionLimits:
        """Return the limits of the robot description alone; missing limits are infinite."""
        lower, upper = model.position_limits
        velocity, effort = (
            np.where(np.isfinite(x) & (x > 0), x, np.inf)
            for x in (model.velocity_limits, model.effort_limits)
        )
        return cls(
            joint_names=model.joint_names,
            lower=lower,
            upper=upper,
            velocity=velocity,
            acceleration=np.full(model.nv, np.inf),
            effort=effort,
            jerk=None,
            tcp_frame=tool_frame(model, None)[0],
            tcp_speed=np.inf,
            self_collision=False,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the limits as plain numbers and text, as they are stored with a trajectory."""
        return {item.name: _plain(getattr(self, item.name)) for item in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MotionLimits:
        """Return the motion limits from the plain data of `as_dict`.

        Raises:
            ExcitationError: The data are malformed.
        """
        try:
            cell = {
                "planes": tuple(Plane(**plane) for plane in data["planes"]),
                "obstacles": tuple(Obstacle(**obstacle) for obstacle in data["obstacles"]),
                "held": HeldBox(**data["held"]) if data["held"] else None,
                "allowed_contacts": tuple((a, b) for a, b in data["allowed_contacts"]),
                **{key: tuple(data[key]) for key in ("joint_names", "package_dirs", "notes")},
            }
            return cls(**{**data, **cell})
        except (KeyError, TypeError, ValueError) as err:
            raise ExcitationError(
                f"The limits in the motion's file are malformed: {err}.",
                remedy="Give a file of limits: `sysid limits init ROBOT`.",
            ) from err


def _plain(value: Any) -> Any:
    """Numbers, texts, lists and mappings that replace arrays, tuples and the parts of the cell."""
    if isinstance(value, Obstacle):
        return value.as_dict()
    if isinstance(value, Plane | HeldBox):
        return {key: _plain(one) for key, one in vars(value).items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(one) for one in value]
    return (
        float(value)
        if isinstance(value, int | np.floating) and not isinstance(value, bool)
        else value
    )


def _described_limits(
    model: RobotModel,
    position_margin: float,
    velocity_share: float,
    effort_share: float,
    acceleration: ArrayLike,
) -> tuple[dict[str, Array], list[str]]:
    """Limits of position, velocity and effort, (n,) each, and notes of what the URDF lacks."""
    lower, upper = model.position_limits
    margin = np.minimum(position_margin, (upper - lower) / 4)  # fingers have little room
    notes = []
    velocity = model.velocity_limits * velocity_share
    no_velocity = ~np.isfinite(velocity) | (velocity <= 0)
    if no_velocity.any():
        names = [n for n, bad in zip(model.joint_names, no_velocity, strict=True) if bad]
        notes.append(f"No velocity limit in the URDF for {names}: {DEFAULT_VELOCITY} is used.")
    effort = model.effort_limits * effort_share
    no_effort = ~np.isfinite(effort) | (effort <= 0)
    if no_effort.any():
        names = [n for n, bad in zip(model.joint_names, no_effort, strict=True) if bad]
        notes.append(f"No effort limit in the URDF for {names}: torque is not checked there.")
    if np.ndim(acceleration) == 0:
        notes.append(
            f"Acceleration limit {float(np.max(acceleration)):g} rad/s² (m/s²) for every joint:"
            " the URDF has none."
        )
    return {
        "lower": lower + margin,
        "upper": upper - margin,
        "velocity": np.where(no_velocity, DEFAULT_VELOCITY, velocity),
        "effort": np.where(no_effort, np.inf, effort),
    }, notes
