# SPDX-License-Identifier: Apache-2.0
"""Motion to be played by a robot, and its file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from sysid_core.arrays import own_arrays
from sysid_core.errors import ExcitationError
from sysid_core.files import Count, FileKind, FileSchema, Name, Number, written_whole, yaml_text
from sysid_core.robot import Array, RobotModel

if TYPE_CHECKING:
    from sysid_core.robot.loops import ClosedChain

GRID = 0.01  # [s]; finer trajectories are checked as they are
SCHEMA = "robot_sysid/trajectory/1"
_FILE = FileKind("trajectory", "Create it with `sysid plan`.", ExcitationError)


@dataclass(frozen=True)
class Segment:
    """Labelled time interval of a trajectory.

    Attributes:
        label: Name of the interval, such as `joint2 alone, posture 1`.
        start: Time from the beginning of the trajectory [s].
        end: Time from the beginning of the trajectory [s].
        joints: Names of the joints that move; empty: not stated.
    """

    __pydantic_config__ = FileSchema.ONLY_KNOWN_KEYS

    label: str
    start: Number
    end: Number
    joints: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Sampled joint motion, K samples of n joints; `at` interpolates between the samples.

    Attributes:
        robot: Name of the robot for which the motion was planned.
        urdf_hash: Hash of the URDF of that robot; the file is refused for other robots.
        joint_names: Names of the n joints, in the order of the columns of q, v and a.
        time: Increasing times of the samples from 0, shape (K,) [s].
        q: Joint positions, shape (K, n) [rad or m].
        v: Joint velocities, shape (K, n) [rad/s or m/s].
        a: Joint accelerations, shape (K, n) [rad/s^2 or m/s^2].
        segments: Labelled time intervals.
        limits: Limits that the motion respects, set by the limit check.
        seed: Seed of the random generator of the plan; None: unknown.
        notes: Remarks, one sentence each.
        series: Basis, centre and coefficients of the series that was sampled, if any.
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
    series: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        K, n = len(self.time), len(self.joint_names)
        if len(set(self.joint_names)) < n:
            raise ExcitationError(
                f"Trajectory names a joint twice: {', '.join(self.joint_names)}.",
                remedy="Give each joint once: one joint for each column of q, v and a.",
            )
        remedy = "Give q, v and a with a row for each instant and a finite column for each joint."
        shapes = {"time": (K,), "q": (K, n), "v": (K, n), "a": (K, n)}
        own_arrays(self, ExcitationError, remedy, "the trajectory", finite=True, **shapes)
        if K < 2 or np.any(np.diff(self.time) <= 0):
            raise ExcitationError(
                "Trajectory times must increase, and there must be two or more.",
                remedy="Give times in seconds from 0, one for each row.",
            )

    @classmethod
    def of(
        cls,
        model: RobotModel,
        time: Array,
        q: Array,
        v: Array,
        a: Array,
        joint_names: Sequence[str] = (),
        **more: Any,
    ) -> Trajectory:
        """Return the trajectory of a robot.

        Args:
            model: Robot.
            time: Times from 0, shape (K,) [s].
            q: Positions, shape (K, n) [rad or m].
            v: Velocities, shape (K, n) [rad/s or m/s].
            a: Accelerations, shape (K, n) [rad/s^2 or m/s^2].
            joint_names: Joints of the columns; empty: all joints in the order of the robot.
            more: Other attributes of the trajectory.
        """
        names = tuple(joint_names) or model.joint_names
        return cls(model.name, model.urdf_hash, names, time, q, v, a, **more)

    @property
    def duration(self) -> float:
        """Duration of the trajectory [s]."""
        return float(self.time[-1] - self.time[0])

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return the interpolated q, v and a at times of shape (...), constant beyond both ends;
        each of shape (..., n).
        """
        return hermite(self.time, self.q, self.v, self.a, t)

    def in_order(self, model: RobotModel) -> Trajectory:
        """Return the motion with its columns in the joint order of a robot."""
        columns = model.columns_from(self.joint_names)
        return dataclasses.replace(
            self,
            joint_names=model.joint_names,
            q=self.q[:, columns],
            v=self.v[:, columns],
            a=self.a[:, columns],
        )

    def as_played(self) -> Trajectory:
        """Return the motion with accelerations computed from its velocities; the accelerations of the
        file are not used.
        """
        if len(self.time) > 2:
            a = np.gradient(self.v, self.time, axis=0, edge_order=2)
        else:
            a = np.repeat(np.diff(self.v, axis=0) / (self.time[1] - self.time[0]), 2, axis=0)
        return dataclasses.replace(self, a=a)

    def of_all_joints(self, chain: ClosedChain) -> Trajectory:
        """Return the motion of all joints of a closed chain, passive ones included, from the motion
        of its driven joints.
        """
        motion = chain.motion(self.q, self.v, self.a)
        return dataclasses.replace(
            self, joint_names=chain.model.joint_names, q=motion.q, v=motion.v, a=motion.a
        )

    def belongs_to(self, model: RobotModel) -> None:
        """Raise an error if the trajectory was planned for another robot.

        Raises:
            ExcitationError: The hash of the URDF or the joints differ.
        """
        if self.urdf_hash and model.urdf_hash and self.urdf_hash != model.urdf_hash:
            raise ExcitationError(
                f"This trajectory was made for '{self.robot}' (URDF {self.urdf_hash}), not for"
                f" '{model.name}' (URDF {model.urdf_hash}).",
                remedy="Plan the motion again for this robot's description.",
            )
        unknown = set(self.joint_names) - set(model.joint_names)
        if unknown:
            raise ExcitationError(
                f"The robot '{model.name}' has no joints {sorted(unknown)}.",
                remedy=f"Its joints: {', '.join(model.joint_names)}.",
            )

    def without_held(self, model: RobotModel) -> Trajectory:
        """Return the motion without locked joints, such as those of a gripper, which the plan keeps
        at rest.

        Raises:
            ExcitationError: The motion moves a locked joint.
        """
        held = [name in model.locked for name in self.joint_names]
        if not any(held):
            return self
        moved = np.ptp(self.q, axis=0) > 1e-9
        names = np.array(self.joint_names)
        if any(held & moved):
            moving = names[held & moved].tolist()
            raise ExcitationError(
                f"The motion moves the joints {moving}, which are locked.",
                remedy=f"Plan the motion with {RobotModel.lock_options(moving)}.",
            )
        keep = ~np.array(held)
        return dataclasses.replace(
            self,
            joint_names=tuple(names[keep].tolist()),
            q=self.q[:, keep],
            v=self.v[:, keep],
            a=self.a[:, keep],
            series={},
        )

    def save(self, path: str | Path) -> None:
        """Write an NPZ file with the arrays, and the other data as YAML text."""
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
            **({"series": dict(self.series)} if self.series else {}),
        }
        with written_whole(path) as file:
            arrays = {key: getattr(self, key) for key in _ARRAYS}
            np.savez_compressed(file, head=np.array(yaml_text(head)), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read a trajectory written by `save`.

        Raises:
            ExcitationError: The file is missing, damaged or of another kind.
        """
        arrays = _FILE.read_npz(path, ("head", *_ARRAYS))
        raw = _FILE.parse_yaml(str(arrays.pop("head")), path)
        head = _FILE.validated(raw, _Head, path)
        for name, array in arrays.items():
            if array.dtype.kind != "f":
                raise _FILE.refusal(path, f"`{name}` holds {array.dtype}, not real numbers")
        values: dict[str, Any] = {k: getattr(head, k) for k in _Head.model_fields if k != "schema_"}
        try:
            return cls(**{**values, **arrays})
        except ExcitationError as err:
            raise _FILE.refusal(path, err.message, err.remedy) from err

    @staticmethod
    def minimum_jerk(s: ArrayLike) -> tuple[Array, Array, Array]:
        r"""Return the minimum-jerk profile `10 s^3 - 15 s^4 + 6 s^5` from 0 to 1, with its first two
        derivatives with respect to s.

        Args:
            s: Elapsed share of the duration, shape (...), clipped to 0..1 (where all derivatives
                vanish).

        Returns:
            Value, first and second derivative, each of shape (...).

        Examples:
            >>> value, rate, second = Trajectory.minimum_jerk([0.0, 0.5, 1.0])
            >>> value.tolist(), rate.tolist()
            ([0.0, 0.5, 1.0], [0.0, 1.875, 0.0])
        """
        x: Array = np.clip(np.asarray(s, dtype=float), 0.0, 1.0)
        return (
            x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
            30.0 * x**2 * (1.0 - x) ** 2,
            60.0 * x * (1.0 - x) * (1.0 - 2.0 * x),
        )


_ARRAYS = ("time", "q", "v", "a")


class _Head(FileSchema):
    schema_: Literal["robot_sysid/trajectory/1"] = Field(alias="schema")
    robot: str
    urdf_hash: str
    joint_names: tuple[Name, ...] = Field(min_length=1)
    segments: tuple[Segment, ...]
    limits: dict[str, Any]
    seed: Count | None
    notes: tuple[str, ...]
    series: dict[str, Any] = Field(default_factory=dict)


def hermite(time: Array, q: Array, v: Array, a: Array, t: ArrayLike) -> tuple[Array, Array, Array]:
    """Interpolate a motion at given times: q by cubic Hermite interpolation of q and v, v and a
    linearly.

    Between samples of at most `motion_check.LONGEST_STEP` this and the quintic of a
    joint_trajectory_controller differ by less than encoders resolve.

    Args:
        time: Increasing times of the samples, shape (K,) [s].
        q: Joint positions, shape (K, n) [rad or m].
        v: Joint velocities, shape (K, n) [rad/s or m/s].
        a: Joint accelerations, shape (K, n) [rad/s^2 or m/s^2].
        t: Times of the result, shape (...) [s], limited to those of the samples.

    Returns:
        Interpolated q, v and a, shape (..., n) each.
    """
    at: Array = np.minimum(np.maximum(np.asarray(t, dtype=float), time[0]), time[-1])
    k = np.minimum(np.maximum(time.searchsorted(at) - 1, 0), len(time) - 2)
    h = (time[k + 1] - time[k])[..., None]
    x = (at - time[k])[..., None] / h
    v_t = (1 - x) * v[k] + x * v[k + 1]
    a_t = (1 - x) * a[k] + x * a[k + 1]
    chord = q[k] + (q[k + 1] - q[k]) * x * x * (3 - 2 * x)
    q_t = chord + h * x * (1 - x) * ((1 - x) * v[k] - x * v[k + 1])
    return q_t, v_t, a_t


def dense_motion(
    trajectory: Trajectory, columns: NDArray[np.intp]
) -> tuple[Array, Array, Array, Array]:
    """Return the motion as the executor plays it (`Trajectory.at`), with samples at most `GRID`
    apart.
    """
    time = trajectory.time
    pieces = np.maximum(np.ceil(np.diff(time) / GRID - 1e-6), 1).astype(int)
    starts = np.repeat(np.arange(len(pieces)), pieces)
    offsets = np.arange(len(starts)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    share = offsets / pieces[starts]
    dense = np.append((1 - share) * time[starts] + share * time[starts + 1], time[-1])
    q, v, a = (x[:, columns] for x in trajectory.at(dense))
    return dense, q, v, a


# Of scores of about one (relative above): more than the rounding of log-determinants and costs may
# make between processors, far less than any motion's worth.
_ROUNDING = 1e-6


def first_best(scores: ArrayLike) -> int:
    """Return the index of the largest score; the first one if candidates differ only by rounding.

    Args:
        scores: Scores, shape (n,), at least one; NaN is the best only if all scores are NaN.
    """
    return int(best_first(scores)[0])


def best_first(scores: ArrayLike) -> Array:
    """Return the indices from the largest score to the smallest; nearly equal ones keep their
    order.

    Args:
        scores: Scores, shape (n,).
    """
    values = np.nan_to_num(
        np.asarray(scores, dtype=float), nan=-np.inf, posinf=np.inf, neginf=-np.inf
    )
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    with np.errstate(invalid="ignore"):  # of equal infinities
        apart = ranked[:-1] - ranked[1:] > _ROUNDING * np.maximum(1.0, np.abs(ranked[:-1]))
    group = np.concatenate([[0], np.cumsum(apart)])[: len(order)]
    return order[np.lexsort((order, group))]
