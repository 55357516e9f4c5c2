"""A motion to be played by a robot, and the file that it is kept in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sysid_core.errors import ExcitationError
from sysid_core.robot import Array, RobotModel

SCHEMA = "robot_sysid/trajectory/1"


@dataclass(frozen=True)
class Segment:
    """A labelled stretch of a trajectory, such as `joint2 alone, posture 1`."""

    label: str
    start: float  # [s]
    end: float  # [s]
    joints: tuple[str, ...] = ()  # those that move


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Joint motion sampled in time; K samples of n joints. Dense enough to interpolate linearly.

    Attributes:
        robot: Name of the robot that it was made for.
        urdf_hash: Of that robot's URDF; another robot refuses the file.
        joint_names: Columns of q, v and a.
        time: Shape (K,) [s], from 0, increasing.
        q: Shape (K, n) [rad or m].
        v: Shape (K, n).
        a: Shape (K, n).
        segments: Labelled stretches.
        limits: What it was checked against, as written by the limit check.
        seed: Of the random generator that made it, or None.
        notes: Remarks, one sentence each.
    """

    robot: str
    urdf_hash: str
    joint_names: tuple[str, ...]
    time: Array
    q: Array
    v: Array
    a: Array
    segments: tuple[Segment, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        K, n = len(self.time), len(self.joint_names)
        for key, shape in (("time", (K,)), ("q", (K, n)), ("v", (K, n)), ("a", (K, n))):
            array = np.array(getattr(self, key), dtype=float)
            if array.shape != shape:
                raise ExcitationError(
                    f"Trajectory '{key}' has shape {array.shape}, expected {shape}."
                )
            if not np.all(np.isfinite(array)):
                raise ExcitationError(f"Trajectory '{key}' holds NaN or infinite values.")
            array.setflags(write=False)
            object.__setattr__(self, key, array)
        if K < 2 or np.any(np.diff(self.time) <= 0):
            raise ExcitationError("Trajectory times must increase, and there must be two or more.")

    @property
    def duration(self) -> float:
        """Length [s]."""
        return float(self.time[-1] - self.time[0])

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """q, v and a at a time (held at the ends), each of shape (n,)."""
        t = float(np.clip(t, self.time[0], self.time[-1]))
        i = int(np.clip(np.searchsorted(self.time, t) - 1, 0, len(self.time) - 2))
        s = (t - self.time[i]) / (self.time[i + 1] - self.time[i])
        return tuple((1 - s) * x[i] + s * x[i + 1] for x in (self.q, self.v, self.a))

    def belongs_to(self, model: RobotModel) -> None:
        """Refuse another robot.

        Raises:
            ExcitationError: The URDF's hash or the joints differ.
        """
        if self.urdf_hash and model.urdf_hash and self.urdf_hash != model.urdf_hash:
            raise ExcitationError(
                f"This trajectory was made for '{self.robot}' (URDF {self.urdf_hash}), not for"
                f" '{model.name}' (URDF {model.urdf_hash}).",
                remedy="Plan it again for this robot's description.",
            )
        unknown = set(self.joint_names) - set(model.joint_names)
        if unknown:
            raise ExcitationError(f"The robot '{model.name}' has no joints {sorted(unknown)}.")

    def save(self, path: str | Path) -> None:
        """Write as NPZ: arrays, and the rest as one YAML text."""
        head = {
            "schema": SCHEMA,
            "robot": self.robot,
            "urdf_hash": self.urdf_hash,
            "joint_names": list(self.joint_names),
            "segments": [
                {"label": s.label, "start": s.start, "end": s.end, "joints": list(s.joints)}
                for s in self.segments
            ],
            "limits": dict(self.limits),
            "seed": self.seed,
            "notes": list(self.notes),
        }
        with Path(path).open("wb") as file:
            np.savez_compressed(
                file,
                head=np.array(yaml.safe_dump(head, sort_keys=False)),
                time=self.time,
                q=self.q,
                v=self.v,
                a=self.a,
            )

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read what `save` wrote.

        Raises:
            ExcitationError: It is missing, damaged or another kind of file.
        """
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                head = yaml.safe_load(str(file["head"]))
                arrays = {key: file[key] for key in ("time", "q", "v", "a")}
        except (OSError, ValueError, KeyError, yaml.YAMLError) as err:
            raise ExcitationError(
                f"Can't read the trajectory '{path}': {err}.", remedy="Make it with `sysid plan`."
            ) from err
        if head.get("schema") != SCHEMA:
            raise ExcitationError(f"'{path}' is not a trajectory of schema {SCHEMA}.")
        return cls(
            robot=head["robot"],
            urdf_hash=head["urdf_hash"],
            joint_names=tuple(head["joint_names"]),
            segments=tuple(
                Segment(s["label"], s["start"], s["end"], tuple(s["joints"]))
                for s in head["segments"]
            ),
            limits=head["limits"],
            seed=head["seed"],
            notes=tuple(head["notes"]),
            **arrays,
        )
