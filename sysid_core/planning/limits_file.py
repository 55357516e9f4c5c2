# SPDX-License-Identifier: Apache-2.0
"""File with a robot's motion limits, for planner, executor, controller and simulator.

```yaml
schema: robot_sysid/limits/1
robot: ur5
joints:
  elbow_joint: {lower: -3.12, upper: 3.12, velocity: 2.8, acceleration: 5.0, effort: 120.0}
tcp: {frame: tool0, speed: 0.25}
ground_height: 0.0
```

`LimitsFile.read` also reads two other files that often contain the limits already: a bringup file (the
section `trajectory_executor`), and the `joint_limits.yaml` of MoveIt.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool, model_validator

from sysid_core.errors import ExcitationError, ModelError
from sysid_core.files import FileKind, FileSchema, Number, Positive, yaml_text
from sysid_core.planning.cell import Obstacle, Plane, Vector
from sysid_core.planning.geometry import HeldBox
from sysid_core.planning.limits import (
    DEFAULT_ACCELERATION,
    DEFAULT_TCP_SPEED,
    MotionLimits,
)
from sysid_core.planning.tool_frame import tool_frame
from sysid_core.robot import RobotModel

SCHEMA = "robot_sysid/limits/1"
_SRDF = FileKind("SRDF", "Give the SRDF file that MoveIt reads.", ModelError)
_NO_GROUND = -1000.0  # [m]; a ROS parameter can't be null: the executor's value for no ground
_FILE = FileKind(
    "limits file", "Correct it, or write a new one: `sysid limits init ROBOT`.", ExcitationError
)


class JointEntry(FileSchema):
    """Limits of one joint [rad or m, and seconds]; null for no limit."""

    lower: Number | None = None
    upper: Number | None = None
    velocity: Positive
    acceleration: Positive
    jerk: Positive | None = None
    effort: Positive | None = None  # [N m or N], what the motion may use of the drive


class TcpEntry(FileSchema):
    """Frame of the tool, and its speed limit [m/s]."""

    frame: str = Field(min_length=1)
    speed: Positive = DEFAULT_TCP_SPEED


class WorkspaceEntry(FileSchema):
    """Box in the base frame that must contain every moving shape [m]."""

    lower: Vector
    upper: Vector


class LimitsFile(FileSchema):
    """Contents of a limits file; unknown keys are refused, so that misspelt limits are detected."""

    schema_: Literal["robot_sysid/limits/1"] = Field(alias="schema")
    robot: str = ""
    urdf_hash: str = ""
    joints: dict[str, JointEntry] = Field(min_length=1)
    tcp: TcpEntry
    ground_height: Number | None = None
    workspace: WorkspaceEntry | None = None
    planes: tuple[Plane, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    self_collision: StrictBool = True
    allowed_contacts: tuple[tuple[str, str], ...] = ()
    held: HeldBox | None = None
    package_dirs: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # where the numbers come from, one sentence each

    def motion_limits(self, model: RobotModel) -> MotionLimits:
        """Return the limits of a robot, in the order of its joints, without locked joints.

        Raises:
            ExcitationError: A joint of the robot is missing in the file, or the file contains a
                joint that the robot lacks.
        """
        missing = [name for name in model.joint_names if name not in self.joints]
        unknown = set(self.joints) - set(model.joint_names) - set(model.locked)
        if missing or unknown:
            raise ExcitationError(
                f"The limits are those of the joints {sorted(self.joints)}; '{model.name}' lacks the"
                f" joints {sorted(unknown)} of them, and has the further joints {missing}.",
                remedy="Create the file for this robot: `sysid limits init ROBOT`.",
            )
        entries = [self.joints[name] for name in model.joint_names]
        limits = MotionLimits.from_model(
            model,
            acceleration=[e.acceleration for e in entries],
            tcp_frame=self.tcp.frame,
            tcp_speed=self.tcp.speed,
            workspace=(self.workspace.lower, self.workspace.upper) if self.workspace else None,
            ground_height=self.ground_height,
            self_collision=self.self_collision,
            allowed_contacts=self.allowed_contacts,
            planes=self.planes,
            obstacles=self.obstacles,
            held=self.held,
            package_dirs=self.package_dirs,
        )
        notes = [tool_frame(model, self.tcp.frame)[1]]
        if self.urdf_hash and model.urdf_hash and self.urdf_hash != model.urdf_hash:
            notes.append(
                f"The limits were made for another version of the URDF ({self.urdf_hash}, here"
                f" {model.urdf_hash}); joints and frame are the same."
            )
        unlimited = [n for n, e in zip(model.joint_names, entries, strict=True) if e.effort is None]
        if unlimited:
            notes.append(f"No effort limit for {unlimited}: torque is not checked there.")
        jerks = np.array([e.jerk or np.inf for e in entries])

        def bound(key: str, none: float) -> np.ndarray:
            values = [getattr(e, key) for e in entries]
            return np.array([none if x is None else x for x in values])

        return limits.replace(
            lower=bound("lower", -np.inf),
            upper=bound("upper", np.inf),
            velocity=bound("velocity", np.inf),
            effort=bound("effort", np.inf),
            jerk=jerks if np.isfinite(jerks).any() else None,
            notes=tuple(notes),
        )

    @staticmethod
    def read(path: str | Path, model: RobotModel) -> MotionLimits:
        """Read the limits file of a robot.

        Args:
            path: YAML file of `sysid limits init`, bringup file, or MoveIt's `joint_limits.yaml`.
            model: Robot model, whose order of joints is used; its locked joints are omitted.

        Raises:
            ExcitationError: The file is missing or invalid, or belongs to another robot.
        """
        raw = _sections(path)
        keys = set(raw) if isinstance(raw, Mapping) else set()
        content: LimitsFile | BringupFile | MoveItFile
        if "trajectory_executor" in keys:
            content = _FILE.validated(raw, BringupFile, path)
            if own := content.trajectory_executor.limits_file:
                return LimitsFile.read(Path(path).parent / own, model)
        elif "joint_limits" in keys:
            content = _FILE.validated(raw, MoveItFile, path)
        else:
            content = _FILE.validated(raw, LimitsFile, path)
        try:
            return content.motion_limits(model)
        except (ExcitationError, ModelError) as err:
            raise _FILE.refusal(path, err.message, err.remedy) from err

    @staticmethod
    def text(
        limits: MotionLimits, *, robot: str = "", urdf_hash: str = "", sources: tuple[str, ...] = ()
    ) -> str:
        """Return the text of a limits file for `LimitsFile.read`.

        Args:
            limits: Limits to be written.
            robot: Name of the robot.
            urdf_hash: Hash of the robot's description.
            sources: Sources of the values, one sentence each.
        """
        data = limits.as_dict()

        def number(x: float) -> float | None:
            return float(x) if np.isfinite(x) else None

        joints: dict[str, dict[str, Any]] = {
            name: {
                key: number(data[key][i])
                for key in ("lower", "upper", "velocity", "acceleration", "jerk", "effort")
                if data[key] is not None
            }
            for i, name in enumerate(limits.joint_names)
        }
        box = data["workspace"]
        content = {
            "schema": SCHEMA,
            "robot": robot,
            "urdf_hash": urdf_hash,
            "joints": joints,
            "tcp": {"frame": limits.tcp_frame, "speed": limits.tcp_speed},
            "ground_height": limits.ground_height,
            "workspace": {"lower": box[0], "upper": box[1]} if box else None,
            "planes": data["planes"],
            "obstacles": data["obstacles"],
            "self_collision": limits.self_collision,
            "allowed_contacts": data["allowed_contacts"],
            "held": data["held"],
            "package_dirs": list(limits.package_dirs),
            "sources": list(sources),
        }
        LimitsFile.model_validate(content)
        head = "# Motion limits, SI units and radians; null: no limit. Read by planner and executor alike.\n"
        return head + yaml_text(content, compact=True)

    @staticmethod
    def contacts_of_srdf(path: str | Path, links: Set[str]) -> tuple[tuple[str, str], ...]:
        """Return the link pairs of `<disable_collisions link1= link2= reason=>`, each once, in the
        order of the file.

        Args:
            path: SRDF file.
            links: Names of the robot's links; pairs with other links (a hand that isn't mounted) are
                ignored.

        Raises:
            ModelError: The file cannot be read, is not an SRDF, or belongs to another robot.
        """
        try:
            text = _SRDF.read_text(path)
            if "<!DOCTYPE" in text or "<!ENTITY" in text:
                raise ET.ParseError("it declares a document type or entities")
            root = ET.fromstring(text)
        except ET.ParseError as err:
            raise ModelError(
                f"'{path}' can't be read as SRDF: {err}.",
                remedy="Give the SRDF file that MoveIt reads.",
            ) from err
        pairs = [(e.get("link1", ""), e.get("link2", "")) for e in root.iter("disable_collisions")]
        if root.tag != "robot" or not pairs:
            raise ModelError(
                f"'{path}' holds no pairs of links that may touch.",
                remedy="Give an SRDF with <disable_collisions link1= link2=/>.",
            )
        own = dict.fromkeys(pair for pair in pairs if set(pair) <= links)
        if not own:
            raise ModelError(
                f"None of the {len(pairs)} pairs in '{path}' are this robot's links.",
                remedy="Give the SRDF of the robot whose URDF was given.",
            )
        return tuple(own)

    @staticmethod
    def driven_robot(
        model: RobotModel,
        limits: Path | None,
        *,
        lock: Sequence[str] = (),
        gravity: str = "",
        mount: str = "",
    ) -> RobotModel:
        """Return the robot as it is driven: with `joints`, `lock` and `mount` of a bringup file.

        Args:
            model: Robot as in its description.
            limits: File with the limits; joints and mounting are read if it is a bringup file.
            lock: Further joints to lock, `JOINT` or `JOINT=POSITION` [rad or m].
            gravity: Gravity X,Y,Z in the base frame [m/s^2]; it overrides the mounting in the file.
            mount: ROLL,PITCH,YAW of the base in the world [rad]; it overrides that in the file.

        Raises:
            ExcitationError: The file is invalid, or belongs to another robot.
            ModelError: A joint to lock does not exist.
        """
        raw = _sections(limits) if limits else None
        section = ExecutorSection()
        if limits and isinstance(raw, Mapping) and "trajectory_executor" in raw:
            section = _FILE.validated(raw, BringupFile, limits).trajectory_executor
            try:
                model.holding(joints=section.joints, lock=section.lock)
            except ModelError as err:
                raise _FILE.refusal(limits, err.message, err.remedy) from err
        model = model.holding(joints=section.joints, lock=(*section.lock, *lock))
        return model.mounted(gravity, mount or ("" if gravity else section.mount))


def _sections(path: str | Path) -> Any:
    """Content of a file; a ROS parameter file has the form of a bringup file."""
    raw = _FILE.read_yaml(path)
    if not isinstance(raw, Mapping):
        return raw
    sections = {key: x for key, x in raw.items() if isinstance(x, Mapping)}
    ros = {key: x["ros__parameters"] for key, x in sections.items() if "ros__parameters" in x}
    if not ros:
        return raw
    return {
        ("common" if k in ("/**", "**") else str(k).rsplit("/", 1)[-1]): x for k, x in ros.items()
    }


class ExecutorSection(FileSchema):
    """Limits among the parameters of `trajectory_executor` in a bringup file."""

    MORE_KEYS: ClassVar[bool] = True
    limits_file: str = ""
    tcp_frame: str = ""
    tcp_speed: Positive = DEFAULT_TCP_SPEED
    acceleration: Positive = DEFAULT_ACCELERATION
    velocity_share: Positive = 1.0
    effort_share: Positive = 1.0
    ground_height: Number | None = None
    workspace: tuple[Number, ...] = ()
    self_collision: StrictBool = True
    joints: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    mount: tuple[Number, ...] = ()

    def motion_limits(self, model: RobotModel) -> MotionLimits:
        """Return the motion limits of an executor that is started with this section.

        Raises:
            ExcitationError: A limit is malformed.
        """
        box = self.workspace
        if len(box) not in (0, 6):
            raise ExcitationError(
                f"`workspace` has {len(box)} numbers.",
                remedy="Give x y z of the lower and of the upper corner, or none.",
            )
        corners = ((box[0], box[1], box[2]), (box[3], box[4], box[5])) if box else None
        return MotionLimits.from_model(
            model,
            acceleration=self.acceleration,
            velocity_share=self.velocity_share,
            effort_share=self.effort_share,
            tcp_frame=self.tcp_frame or None,
            tcp_speed=self.tcp_speed,
            workspace=corners,
            ground_height=None if self.ground_height == _NO_GROUND else self.ground_height,
            self_collision=self.self_collision,
        )


class BringupFile(FileSchema):
    """Bringup file, of which only the parameters of the executor are read here."""

    MORE_KEYS: ClassVar[bool] = True
    trajectory_executor: ExecutorSection

    @model_validator(mode="before")
    @classmethod
    def _with_common(cls, raw: Any) -> Any:
        own = {**(raw.get("common") or {}), **(raw["trajectory_executor"] or {})}
        return {**raw, "trajectory_executor": own}

    def motion_limits(self, model: RobotModel) -> MotionLimits:
        """Return the motion limits of the executor in the file."""
        return self.trajectory_executor.motion_limits(model)


class MoveItJoint(FileSchema):
    """Entry of one joint in MoveIt's `joint_limits.yaml`."""

    MORE_KEYS: ClassVar[bool] = True
    has_velocity_limits: StrictBool = False
    max_velocity: Number | None = None
    has_acceleration_limits: StrictBool = False
    max_acceleration: Number | None = None
    has_jerk_limits: StrictBool = False
    max_jerk: Number | None = None


class MoveItFile(FileSchema):
    """File `joint_limits.yaml` of MoveIt."""

    MORE_KEYS: ClassVar[bool] = True
    joint_limits: dict[str, MoveItJoint] = Field(min_length=1)
    default_velocity_scaling_factor: Positive = 1.0
    default_acceleration_scaling_factor: Positive = 1.0

    def motion_limits(self, model: RobotModel) -> MotionLimits:
        """Return the limits of the URDF, or those of MoveIt if they are stricter.

        Only the keys `max_*` are used; the scaling factors are not used, because a motion request
        to MoveIt can override them.

        Raises:
            ExcitationError: No joint of the robot is in the file.
        """
        known = [name for name in model.joint_names if name in self.joint_limits]
        if not known:
            raise ExcitationError(
                f"The limits are of joints {sorted(self.joint_limits)}, none of '{model.name}'.",
                remedy="Give the joint_limits.yaml of this robot.",
            )

        def values(key: str, default: float) -> np.ndarray:
            entries = [self.joint_limits.get(name, MoveItJoint()) for name in model.joint_names]
            stated = [
                getattr(e, f"max_{key}") if getattr(e, f"has_{key}_limits") else None
                for e in entries
            ]
            return np.array([default if x is None else x for x in stated])

        jerk = values("jerk", np.inf)
        limits = MotionLimits.from_model(
            model,
            acceleration=values("acceleration", DEFAULT_ACCELERATION),
            jerk=jerk if np.isfinite(jerk).any() else None,
        )
        return limits.replace(velocity=np.minimum(limits.velocity, values("velocity", np.inf)))
