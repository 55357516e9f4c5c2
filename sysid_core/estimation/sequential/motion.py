# SPDX-License-Identifier: Apache-2.0
"""Sequential identification from recordings in which one joint moves at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import ArmEquations, Identification, Processing
from sysid_core.estimation.sequential.identify import SequentialFit, SequentialLeastSquares
from sysid_core.planning import Segment, Trajectory
from sysid_core.robot import Array, FrictionModel, RobotModel
from sysid_core.signals import Recording

SPREAD = 0.25  # [s] a joint counts as moving that long around each instant in which it does
SHORTEST = 0.5  # [s] of a segment
SAME_POSTURE = 0.05  # [rad or m] between a planned posture and the recorded one
TRANSFER = "transfer"  # label of the ways between the swings
LOAD_ROUNDS = 3  # of load-dependent friction


@dataclass(frozen=True, eq=False)
class SequentialIdentification:
    """Result of a sequential identification.

    Attributes:
        identification: The robot, its parameters and predictions, in the form that every other
            method returns.
        fit: Steps, constants and propagation of the error.
        segments: Time intervals that were used, relative to the start of their recording.
    """

    identification: Identification
    fit: SequentialFit
    segments: tuple[Segment, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the steps and constants as plain data for result.json."""
        fit = self.fit
        found = {
            "steps": fit.step_rows(),
            "constants": dict(zip(fit.constants, fit.values.tolist(), strict=True)),
            "constants_sd": dict(zip(fit.constants, fit.standard_deviations.tolist(), strict=True)),
            "segments": len(self.segments),
        }
        return {"sequential": found}

    @classmethod
    def of(
        cls,
        model: RobotModel,
        recordings: Sequence[Recording],
        friction: FrictionModel,
        estimator: SequentialLeastSquares,
        processing: Processing | None = None,
        *,
        trajectory: Trajectory | None = None,
    ) -> SequentialIdentification:
        """Identify an arm from recordings in which one joint moves at a time.

        Segments of single-joint motion are detected in the data. With a plan, the segments with the
        planned joints and posture are used, including moves of two joints. With marks
        `<label>:start` and `<label>:end`, only segments between the marks are used. With neither
        plan nor marks, all segments with one moving joint are used.

        Args:
            model: Robot model.
            recordings: Recordings of the same robot.
            friction: Friction terms and drives.
            estimator: Configured estimator.
            processing: Sampling rates and cut-off frequencies.
            trajectory: Executed trajectory with its segments; None: unknown.

        Raises:
            EstimationError: No joint moves alone, or the motion does not excite the constants.
        """
        if trajectory is not None:
            trajectory.belongs_to(model)
        equations = ArmEquations.build(model, recordings, friction, processing or Processing())
        plan = _Plan(trajectory, model.joint_names, recordings)
        keep, segments, notes = _choose_segments(equations, plan)
        pi = equations.prior
        for _ in range(LOAD_ROUNDS if friction.needs_load else 1):
            regression = equations.regression(pi, keep, fast=estimator.fast)
            fit = estimator.fit_steps(regression)
            parameters = regression.full_parameters(fit.estimate, ())
            pi = parameters[: regression.n_inertial]
        estimate = replace(
            fit.estimate,
            robot=model.name,
            urdf_hash=model.urdf_hash,
            source=", ".join(dict.fromkeys(s.source for s in equations.spans)),
            notes=fit.estimate.notes + notes,
        )
        return cls(
            Identification(
                model,
                friction,
                equations.processing,
                estimate,
                parameters,
                regression.names,
                regression.prior_sd,
            ),
            replace(fit, estimate=estimate),
            segments,
        )


def motion_mask(time: ArrayLike, v: ArrayLike, threshold: float) -> NDArray[np.bool_]:
    """Return a mask of moving joints, turning points included; time (K,), v (K, n) to (K, n)."""
    time, fast = np.asarray(time, dtype=float), np.abs(np.asarray(v, dtype=float)) > threshold
    first = np.searchsorted(time, time - SPREAD)
    last = np.searchsorted(time, time + SPREAD, side="right")
    count = np.vstack([np.zeros((1, fast.shape[1]), int), np.cumsum(fast, axis=0)])
    return np.asarray(count[last] > count[first])


def motion_segments(
    time: ArrayLike, v: ArrayLike, names: Sequence[str], threshold: float = 0.01
) -> tuple[Segment, ...]:
    """Return the time intervals, found in the data, during which the set of moving joints is
    constant.

    Args:
        time: Times, shape (K,) [s].
        v: Joint velocities, shape (K, n) [rad/s or m/s].
        names: Names of the joints.
        threshold: Speed above which a joint counts as moving [rad/s or m/s].
    """
    time = np.asarray(time, dtype=float)
    moving = motion_mask(time, v, threshold)
    changes = np.flatnonzero(np.any(moving[1:] != moving[:-1], axis=1)) + 1
    out = []
    for a, b in pairwise([0, *changes.tolist(), len(time)]):
        joints = tuple(n for n, m in zip(names, moving[a], strict=True) if m)
        if joints and time[b - 1] - time[a] >= SHORTEST:
            label = f"{joints[0]} alone" if len(joints) == 1 else " with ".join(joints)
            out.append(Segment(label, float(time[a]), float(time[b - 1]), joints))
    return tuple(out)


def _choose_segments(
    equations: ArmEquations, plan: _Plan
) -> tuple[list[NDArray[np.bool_]], tuple[Segment, ...], tuple[str, ...]]:
    """Samples of every span that are used, with their segments, and notes on the omitted ones."""
    names, threshold = equations.model.joint_names, equations.processing.moving
    keep: list[NDArray[np.bool_]] = []
    used: list[Segment] = []
    left_out: dict[tuple[str, ...], float] = {}
    for span in equations.spans:
        time, q, v = span.motion.time, span.motion.q, span.motion.v
        chosen = np.zeros(len(time), dtype=bool)
        for segment in motion_segments(time, v if v is not None else 0.0 * q, names, threshold):
            inside = (time >= segment.start) & (time <= segment.end)
            stamps = span.motion.stamps_ns[inside]
            found = plan.recognise(segment, q[inside].mean(axis=0), int(stamps[0]), int(stamps[-1]))
            if found is None:
                length = left_out.get(segment.joints, 0.0)
                left_out[segment.joints] = length + segment.end - segment.start
            else:
                used.append(found)
                chosen |= inside
        keep.append(chosen)
    if not used:
        raise EstimationError(
            "No recording contains a motion of a single joint.",
            remedy="Execute a motion of `sysid plan sequential`, or use a method for all joints at once."
            "",
            found=tuple(left_out),
        )
    notes = []
    if left_out:
        joints = max(left_out, key=lambda key: left_out[key])
        notes.append(
            f"{sum(left_out.values()):.1f} s of motion were excluded: transfers and unplanned"
            " motions of joints (longest:"
            f" {', '.join(joints)})."
        )
    missing = plan.not_found(used)
    if missing:
        notes.append(f"Planned, but not found in the data: {', '.join(missing)}.")
    return keep, tuple(used), tuple(notes)


class _Plan:
    """Commanded motion: the single-joint moves of a trajectory, or marks in the recordings."""

    def __init__(
        self,
        trajectory: Trajectory | None,
        names: Sequence[str],
        recordings: Sequence[Recording],
    ) -> None:
        self.names = tuple(names)
        self.swings: list[tuple[Segment, Array]] = []
        if trajectory is not None:
            columns = [trajectory.joint_names.index(name) for name in names]
            self.swings = [
                (segment, trajectory.at(segment.start)[0][columns])
                for segment in trajectory.segments
                if segment.joints and segment.label != TRANSFER
            ]
        self.marked = [window for r in recordings for window in _marked_windows(r)]

    def recognise(
        self, found: Segment, posture: Array, start_ns: int, end_ns: int
    ) -> Segment | None:
        """Segment with its planned label, or None if it is not to be used."""
        if self.swings:
            still = np.array([name not in found.joints for name in self.names])
            for planned, q in self.swings:
                same = set(planned.joints) == set(found.joints)
                if same and np.all(np.abs(posture - q)[still] < SAME_POSTURE):
                    return replace(found, label=planned.label)
            return None
        if self.marked:
            middle = (start_ns + end_ns) // 2
            labels = [label for label, start, end in self.marked if start <= middle <= end]
            return replace(found, label=labels[-1]) if labels else None
        return found if len(found.joints) == 1 else None

    def not_found(self, used: Sequence[Segment]) -> list[str]:
        """Labels of planned moves that are missing in the data."""
        labels = {segment.label for segment in used}
        planned = [s.label for s, _ in self.swings] or [label for label, _, _ in self.marked]
        return [label for label in planned if label not in labels]


def _marked_windows(recording: Recording) -> list[tuple[str, int, int]]:
    """Label, start and end [ns] of the swings that a recording's marks enclose."""
    out = []
    for mark in recording.marks:
        label, _, edge = mark.label.rpartition(":")
        if edge != "start" or not label or label == TRANSFER:
            continue
        ends = [m.stamp_ns for m in recording.marks if m.label == f"{label}:end"]
        after = [stamp for stamp in ends if stamp >= mark.stamp_ns]
        if after:
            out.append((label, mark.stamp_ns, min(after)))
    return out
