# SPDX-License-Identifier: Apache-2.0
"""Safety check of motions; all decisions on safety are made in this module."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ExcitationError, require_type
from sysid_core.planning.geometry import RobotGeometry
from sysid_core.planning.limits import MotionLimits
from sysid_core.planning.trajectory import Trajectory, dense_motion
from sysid_core.planning.violations import Findings, LimitKind, MotionCheck, Violation
from sysid_core.robot import Array, RobotModel

LONGEST_STEP = 0.05  # [s] between two samples: a robot must not do much that the file doesn't say
GEOMETRY_STEP = 0.01  # [rad or m] of joint motion between two postures checked for contact


def _posture_rows(q: Array) -> Array:
    """Indices of samples between which joints move by about `GEOMETRY_STEP`, including the first
    and the last.
    """
    rows = [0]
    for k in range(1, len(q)):
        if np.max(np.abs(q[k] - q[rows[-1]])) >= GEOMETRY_STEP:
            rows.append(k)
    if rows[-1] != len(q) - 1:
        rows.append(len(q) - 1)
    return np.array(rows)


class MotionChecker:
    """Checker of the motions of one robot against its limits; the collision geometry is built once.

    Args:
        model: Robot model.
        limits: Motion limits, including the mass of a held object, if any.

    Attributes:
        loaded: Robot with the held mass, whose torques are limited.

    Raises:
        ExcitationError: The limits belong to other joints.
    """

    def __init__(self, model: RobotModel, limits: MotionLimits) -> None:
        if limits.joint_names != model.joint_names:
            raise ExcitationError(
                f"The limits are for joints {list(limits.joint_names)}, the robot has"
                f" {list(model.joint_names)}.",
                remedy="Make the limits for this robot: Limits.from_model(robot).",
            )
        self.model, self.limits = model, limits
        held = limits.held
        self.loaded = held.attached_to(model, limits.tcp_frame) if held is not None else model
        self.geometry: RobotGeometry | None = None
        if (
            limits.self_collision
            or limits.workspace
            or limits.ground_height is not None
            or limits.planes
            or limits.obstacles
        ):
            self.geometry = RobotGeometry(
                model,
                limits.tcp_frame,
                limits.held,
                limits.package_dirs,
                limits.obstacles,
                limits.self_collision,
                limits.allowed_contacts,
            )

    def __reduce__(self) -> tuple[type[MotionChecker], tuple[RobotModel, MotionLimits]]:
        """Support pickling without the geometry: other processes build it again."""
        return MotionChecker, (self.model, self.limits)

    def check(
        self,
        trajectory: Trajectory,
        *,
        stop_early: bool = False,
        progress: Callable[[float], None] | None = None,
    ) -> MotionCheck:
        """Check a trajectory on a dense grid.

        Args:
            trajectory: Trajectory of this robot.
            stop_early: True to end the check at the first violation (for planners).
            progress: Function that is called with the completed share, 0 to 1.

        Raises:
            ExcitationError: The trajectory was made for another robot.
        """
        trajectory.belongs_to(self.model)
        columns = self.model.columns_from(trajectory.joint_names)
        given, trajectory = trajectory, trajectory.as_played()
        findings = Findings()
        notes = self.limits.notes + tuple(self.geometry.notes if self.geometry else ())
        self._check_joints(trajectory, columns, findings)
        # A controller that plays quintics reaches the accelerations that the file states.
        findings.compare(
            LimitKind.ACCELERATION,
            self.model.joint_names,
            given.time,
            given.a[:, columns],
            self.limits.acceleration,
        )
        longest = float(np.diff(trajectory.time).max())
        if longest > LONGEST_STEP + 1e-9:
            k = int(np.argmax(np.diff(trajectory.time)))
            at = float(trajectory.time[k])
            findings.add(Violation(LimitKind.STEP, "the samples' times", at, longest, LONGEST_STEP))
            return findings.result(len(trajectory.time), 0, notes)  # nothing to fill it with
        time, q, v, a = dense_motion(trajectory, columns)
        if stop_early and findings.worst:
            return findings.result(len(time), 0, notes)
        for accelerations in (a, dense_motion(given, columns)[3]):
            torque = self.loaded.inverse_dynamics(q, v, accelerations)
            findings.compare(
                LimitKind.EFFORT, self.model.joint_names, time, torque, self.limits.effort
            )
        speed = self.tcp_speed(q, v)[:, None]
        tcp_limit = np.array([self.limits.tcp_speed])
        findings.compare(LimitKind.TCP_SPEED, (self.limits.tcp_frame,), time, speed, tcp_limit)
        if stop_early and findings.worst:
            return findings.result(len(time), 0, notes)
        postures = self._check_postures(time, q, findings, stop_early, progress)
        unchecked = self.geometry.unchecked if self.geometry else ("any link",)
        result = findings.result(len(time), postures, notes)
        return dataclasses.replace(result, unchecked=unchecked)

    def export(self, trajectory: Trajectory, path: str | Path) -> Trajectory:
        """Check a trajectory, and write it with its limits only if it respects them.

        Returns:
            Trajectory as written.

        Raises:
            ExcitationError: A limit is violated; no file is written.
        """
        self.check(trajectory).raise_if_unsafe()
        checked = dataclasses.replace(trajectory, limits=self.limits.as_dict())
        checked.save(path)
        return checked

    def _check_joints(
        self, trajectory: Trajectory, columns: NDArray[np.intp], findings: Findings
    ) -> None:
        limits, names, time = self.limits, self.model.joint_names, trajectory.time
        q, v, a = (x[:, columns] for x in (trajectory.q, trajectory.v, trajectory.a))
        for j, name in enumerate(names):
            lower, upper = float(limits.lower[j]), float(limits.upper[j])
            findings.between(LimitKind.POSITION, name, time, q[:, j], q[:, j], lower, upper)
        findings.compare(LimitKind.VELOCITY, names, time, v, limits.velocity)
        findings.compare(LimitKind.ACCELERATION, names, time, a, limits.acceleration)
        # The slopes between samples count too: v and a must be what q does.
        dt = np.diff(time)[:, None]
        findings.compare(
            LimitKind.VELOCITY, names, time[:-1], np.diff(q, axis=0) / dt, limits.velocity
        )
        slope = np.diff(v, axis=0) / dt
        findings.compare(LimitKind.ACCELERATION, names, time[:-1], slope, limits.acceleration)
        if limits.jerk is not None:
            findings.compare(LimitKind.JERK, names, time[:-1], np.diff(a, axis=0) / dt, limits.jerk)
        mismatch = np.abs(np.diff(q, axis=0) - 0.5 * dt * (v[:-1] + v[1:]))
        # Error of the trapezoid rule, several times over.
        tolerance = 1e-6 + 0.5 * dt**2 * (np.abs(a[:-1]) + np.abs(a[1:]))
        for j in map(int, np.flatnonzero(np.any(mismatch > tolerance, axis=0))):
            k = int(np.argmax((mismatch / tolerance)[:, j]))
            values = (float(time[k]), float(mismatch[k, j]), float(tolerance[k, j]))
            findings.add(Violation(LimitKind.CONSISTENCY, names[j], *values))
        for k in (0, -1):
            for j in map(int, np.flatnonzero(np.abs(v[k]) > 1e-3 * limits.velocity)):
                findings.add(
                    Violation(LimitKind.REST, names[j], float(time[k]), float(v[k, j]), 0.0)
                )

    def tcp_speed(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the speed of the origin of the TCP frame, (K, n) and (K, n) to (K,) [m/s]."""
        model = self.model.pin_model
        data = model.createData()
        frame = self.model.frame_id(self.limits.tcp_frame)
        q_pin, v = self.model.configuration(q), np.asarray(v, dtype=float)
        out = np.empty(len(q_pin))
        for k in range(len(q_pin)):
            pin.forwardKinematics(model, data, q_pin[k], v[k])
            out[k] = np.linalg.norm(pin.getFrameVelocity(model, data, frame).linear)
        return out

    def _check_postures(
        self,
        time: Array,
        q: Array,
        findings: Findings,
        stop_early: bool,
        progress: Callable[[float], None] | None,
    ) -> int:
        if self.geometry is None:
            return 0
        limits, rows = self.limits, _posture_rows(q)
        normals = np.vstack([np.eye(3), -np.eye(3), *(plane.normal for plane in limits.planes)])
        lowest = np.empty((len(rows), len(normals)))
        has_planes = (
            limits.ground_height is not None or limits.workspace is not None or limits.planes != ()
        )
        for i, k in enumerate(rows):
            for first, second in self.contacts(q[k]):
                where = f"{first} and {second}"
                if ("contact", where) not in findings.worst:
                    findings.add(Violation(LimitKind.CONTACT, where, float(time[k]), 0.0, 0.0))
            if stop_early and findings.worst:
                return i + 1
            if has_planes:
                lowest[i] = self.geometry.lowest(q[k], normals)
            if progress is not None and i % 50 == 0:
                progress(i / len(rows))
        t = time[rows]
        if limits.ground_height is not None:
            z = lowest[:, 2]
            findings.between(
                LimitKind.GROUND, "lowest point", t, z, z, limits.ground_height, np.inf
            )
        if limits.workspace is not None:
            for i, (name, low, high) in enumerate(zip("xyz", *limits.workspace, strict=True)):
                findings.between(
                    LimitKind.WORKSPACE, name, t, lowest[:, i], -lowest[:, 3 + i], low, high
                )
        for plane, depth in zip(limits.planes, lowest[:, 6:].T, strict=True):
            findings.between(LimitKind.PLANE, plane.name, t, depth, depth, plane.offset, np.inf)
        return len(rows)

    def contacts(self, q: ArrayLike) -> list[tuple[str, str]]:
        """Return the names of bodies in contact in one posture, shape (n,); empty if contact is not
        checked.
        """
        if self.geometry is None:
            return []
        return self.geometry.contacts(q)


def check_motion(model: RobotModel, trajectory: Trajectory, limits: MotionLimits) -> MotionCheck:
    """Check a trajectory against the limits; each violation is reported with its time.

    Args:
        model: Robot model.
        trajectory: Trajectory of this robot.
        limits: Limits that the trajectory must respect.

    Returns:
        Result with `is_safe`, `violations` (each at its worst instant), and `usage`, the share of
        each kind of limit that the motion uses.

    Raises:
        ExcitationError: The trajectory or the limits belong to another robot.
        SysIdError: An argument has the wrong type.

    Examples:
        >>> from sysid_core.planning.transfer import straight_move
        >>> robot = RobotModel.from_urdf("ur5")
        >>> limits = MotionLimits.from_model(robot, self_collision=False)
        >>> move = straight_move(np.zeros(6), np.full(6, 0.1), 5.0, 100.0)
        >>> trajectory = Trajectory(robot.name, robot.urdf_hash, robot.joint_names, *move)
        >>> check_motion(robot, trajectory, limits).is_safe
        True
    """
    require_type(model, RobotModel, "model")
    require_type(trajectory, Trajectory, "trajectory")
    require_type(limits, MotionLimits, "limits")
    return MotionChecker(model, limits).check(trajectory)
