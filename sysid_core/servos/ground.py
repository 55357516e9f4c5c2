# SPDX-License-Identifier: Apache-2.0
r"""Contact of an arm with a level, frictionless surface.

At each step, the normal force solves a complementarity problem: it is zero, or the force that keeps
the deepest point on the surface. The speed of each drive increases with this force, so that the
force is found by bisection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sysid_core.planning import RobotGeometry
from sysid_core.robot import RobotModel
from sysid_core.servos.bodies import Array, BodyTree, Loads, product, turn, unwritten
from sysid_core.servos.recording import ROUNDING, ServoRecording
from sysid_core.servos.rollout import (
    drive_forces,
    drive_speed,
    follow_commands,
    held_error,
    spring_share,
    sum_error,
    time_steps,
)

_DIGITS = 5  # of coordinates [m]: 10 µm, below what links are made to
_HALVINGS = 30  # of a bracket of the contact's force: 1e-9 of it is left


@dataclass(frozen=True, eq=False)
class Surface:
    """Outermost points of the moving bodies.

    Attributes:
        body: Index of the joint that moves each point, shape (P,).
        points: Points in the frame of that joint, shape (P, 3) [m].
    """

    body: NDArray[np.int64]
    points: Array

    @classmethod
    def of_robot(cls, robot: RobotModel) -> Surface:
        """Return the collision points of the robot; none if it has no collision shapes or meshes
        are missing.
        """
        body, points = [np.empty(0, dtype=np.int64)], [np.empty((0, 3))]
        geometry = RobotGeometry(robot, robot.body_names[-1], self_collision=False)
        for joint, cloud in geometry.support_points():
            body.append(np.full(cloud.shape[1], joint - 1))
            points.append(cloud.T)
        together = np.asarray(np.concatenate(points), dtype=float)
        return cls(np.concatenate(body), np.round(together, _DIGITS))


@dataclass(frozen=True, eq=False)
class Ground:
    """Horizontal surface, such as a table, and the points of the robot that can touch it.

    Attributes:
        height: Height of the surface above the base's origin, measured opposite to gravity [m].
        surface: Outermost points of the robot.
    """

    height: float
    surface: Surface


def clearance(tree: BodyTree, surface: Surface, q: ArrayLike) -> tuple[Array, Array]:
    """Return the height of the lowest point above the origin of the base, and its derivative with
    respect to each joint.

    Args:
        tree: Tree of the robot's bodies.
        surface: Outermost points of the bodies.
        q: Positions, shape (K, n) [rad].

    Returns:
        Heights, shape (K,) [m], and their derivatives, shape (K, n) [m/rad].
    """
    q = np.array(q, dtype=float)
    height, change = np.empty(len(q)), np.zeros(q.shape)
    R, p = np.zeros((q.shape[1], 3, 3)), np.zeros((q.shape[1], 3))
    for k, row in enumerate(q):
        height[k] = _lowest(
            row, *tree.frames, tree.up, surface.body, surface.points, R, p, change[k]
        )
    return height, change


def reach(tree: BodyTree, ground: Ground, q: Array) -> tuple[Array, Array]:
    """Return the range of each joint until contact with the surface, with the other joints fixed; in
    contact, joints that would change the height are held.

    Returns:
        Smallest and largest positions, shape (K, n) each [rad]; q lies always between them.
    """
    height, change = clearance(tree, ground.surface, q)
    way = np.maximum(height - ground.height, 0.0)[:, None] / np.maximum(np.abs(change), 1e-12)
    low = np.where(change > 0.0, q - way, -np.inf)
    high = np.where(change < 0.0, q + way, np.inf)
    held = (height <= ground.height)[:, None] & (change != 0.0)
    return np.where(held, q, low), np.where(held, q, high)


def arm_rollout(
    tree: BodyTree, ground: Ground, parameters: Array, stops: Array, t_target: Array, target: Array,
    t: Array, q0: Array, loads: Loads, step: float,
) -> Array:  # fmt: skip
    """Return the simulated positions of all joints above a surface, with gravity along a motion,
    shape (K, n) [rad].

    Args:
        tree: Tree of the robot's bodies.
        ground: Horizontal surface.
        parameters: Parameters of the drives in the order of `TERMS`, shape (n, len(TERMS)).
        stops: Positions of the mechanical stops, shape (n, 2) [rad].
        t_target: Times of the commands, shape (L,) [s].
        target: Commands, shape (L, n) [rad].
        t: Times of the positions, shape (K,) [s].
        q0: Positions at rest at `t[0]`, shape (n,) [rad].
        loads: Load torques along the motion.
        step: Longest time step [s].
    """
    q = np.empty((len(t), len(q0)))
    steps = unwritten(time_steps(t, step), np.int64)
    refs = np.empty((len(q0), 1 + int(steps.sum())))
    for p, column, ref in zip(parameters, target.T, refs, strict=True):
        commands = unwritten(t_target), unwritten(column)
        follow_commands(unwritten(t), steps, *commands, p[7], p[8], p[9], ref)
    columns = refs, loads.a, loads.b, loads.inertia, parameters, stops, q0
    along = (unwritten(x) for x in columns)
    _arm_rollout(
        unwritten(t), steps, *along, *tree.frames, tree.up,
        ground.surface.body, ground.surface.points, ground.height, q,
    )  # fmt: skip
    return q


# Heights above the lowest that was measured that are tried [m]: an arm of 0.4 m on encoders of 12 bit
# and joints with backlash meets a level table within a centimetre of one height.
_TRIED = np.arange(-0.002, 0.0121, 0.002)
_FAR = 0.02  # [m] above the lowest that was measured: beyond what is tried
_ANYWHERE = 0.5  # [m] below the base in which tables and floors stand, each height as likely
# An arm without a surface must not get one: the reach below it would be lost.
_ODDS = 20.0
_SURE = 500.0  # of a likelihood's logarithm: beyond it the numbers end


def find_ground(
    tree: BodyTree,
    surface: Surface,
    parameters: Array,
    recordings: Sequence[ServoRecording],
    blocks: Sequence[NDArray[np.int64]],
    step: float,
    stops: Array | None = None,
) -> Ground | None:
    """Return the horizontal surface (such as a table) whose contact explains why the arm stopped
    short of positions that its drives had enough torque to reach.

    The recordings are divided into blocks of time. Each block of each joint has an error variance
    of its own, and contributes to the log-likelihood half the logarithm of the ratio of its mean
    squared errors without and with the surface; the usual squared error of the joint far above the
    surface is added to both. A surface is accepted if it is more likely than no surface, with its
    height unknown.

    Args:
        tree: Tree of the robot's bodies.
        surface: Outermost points of the bodies.
        parameters: Parameters of the drives, identified without a surface, shape (n, len(TERMS)).
        recordings: Motions, with joints in the tree's order.
        blocks: Index of the time block of each sample, one array per motion.
        step: Longest time step of the simulation [s].
        stops: Positions of the mechanical stops, shape (n, 2) [rad]; None: no stops.

    Returns:
        Most likely surface; None if none is likely.
    """
    if not len(surface.body) or not recordings:
        return None
    ends = np.array([[-np.inf, np.inf]] * len(tree.joints)) if stops is None else stops
    measured = [clearance(tree, surface, r.q)[0] for r in recordings]
    least = min(float(h.min()) for h in measured)
    loads = [tree.loads(r.q).beside(tree.coupling(r.t, r.q), r.q) for r in recordings]
    near = [k for k, h in enumerate(measured) if h.min() < least + _TRIED[-1]]

    def roll(r: ServoRecording, load: Loads, height: float) -> Array:
        ground = Ground(height, surface)
        return arm_rollout(
            tree, ground, parameters, ends, r.t_target, r.target, r.t, r.q[0], load, step
        )

    def squares(height: float) -> Array:
        """Return the mean squared error of each block and joint, shape (blocks, n)."""
        total = np.zeros((int(blocks[-1][-1]) + 1, len(tree.joints)))
        for k in near:
            r, count = recordings[k], np.bincount(blocks[k])
            error = roll(r, loads[k], height) - r.q
            np.add.at(total, blocks[k], error**2 / count[blocks[k], None])
        return total

    # What the drives usually miss shows where nothing can be near.
    far, samples = np.zeros(len(tree.joints)), 0
    for r, load, height in zip(recordings, loads, measured, strict=True):
        q = roll(r, load, -np.inf)
        above = height > least + _FAR
        far += ((q - r.q)[above] ** 2).sum(axis=0)
        samples += int(above.sum())
    if not samples:
        return None
    usual = far / samples + ROUNDING**2
    free = squares(-np.inf)
    heights = least + _TRIED
    likelier = np.array([
        0.5 * np.log((free + usual) / (squares(float(height)) + usual)).sum() for height in heights
    ])  # fmt: skip
    evidence = np.exp(np.minimum(likelier, _SURE)).sum() * (_TRIED[1] - _TRIED[0]) / _ANYWHERE
    if evidence < _ODDS:
        return None
    return Ground(float(heights[np.argmax(likelier)]), surface)


@njit(cache=True)
def _lowest(
    q: Array, parent: Array, R0: Array, p0: Array, axis: Array, turns: Array, up: Array,
    body: Array, points: Array, R: Array, p: Array, change: Array,
) -> float:  # pragma: no cover - compiled  # fmt: skip
    """Height of the lowest point; its derivative with respect to each joint is written to `change`."""
    n = q.size
    Rq, local, shift = np.eye(3), np.eye(3), np.zeros(3)
    for j in range(n):
        local[:], shift[:] = R0[j], p0[j]
        if turns[j]:
            turn(axis[j], q[j], Rq)
            product(R0[j], Rq, local)
        else:
            for r in range(3):
                for c in range(3):
                    shift[r] += R0[j, r, c] * axis[j, c] * q[j]
        if parent[j] < 0:
            R[j], p[j] = local, shift
        else:
            product(R[parent[j]], local, R[j])
            p[j] = p[parent[j]]
            for r in range(3):
                for c in range(3):
                    p[j, r] += R[parent[j], r, c] * shift[c]
    lowest, which = np.inf, 0
    above, tilt = (
        np.zeros(n),
        np.zeros((n, 3)),
    )  # origins' heights, and the vertical in bodies' axes
    for j in range(n):
        for r in range(3):
            above[j] += up[r] * p[j, r]
            for c in range(3):
                tilt[j, c] += up[r] * R[j, r, c]
    for k in range(body.size):
        j = body[k]
        height = above[j]
        for c in range(3):
            height += tilt[j, c] * points[k, c]
        if height < lowest:
            lowest, which = height, k
    j = body[which]
    at, a, arm = p[j].copy(), np.zeros(3), np.zeros(3)
    for r in range(3):
        for c in range(3):
            at[r] += R[j, r, c] * points[which, c]
    change[:] = 0.0
    while j >= 0:
        for r in range(3):
            a[r] = R[j, r, 0] * axis[j, 0] + R[j, r, 1] * axis[j, 1] + R[j, r, 2] * axis[j, 2]
            arm[r] = at[r] - p[j, r]
        if turns[j]:
            x = up[0] * (a[1] * arm[2] - a[2] * arm[1])
            x += up[1] * (a[2] * arm[0] - a[0] * arm[2])
            change[j] = x + up[2] * (a[0] * arm[1] - a[1] * arm[0])
        else:
            change[j] = up[0] * a[0] + up[1] * a[1] + up[2] * a[2]
        j = parent[j]
    return lowest


@njit(cache=True, error_model="numpy")
def _arm_rollout(
    t: Array, steps: Array, ref: Array, A: Array, B: Array, M: Array, P: Array, stops: Array, q0: Array, parent: Array,
    R0: Array, p0: Array, axis: Array, turns: Array, up: Array, body: Array, points: Array, level: float, q: Array,
) -> None:  # pragma: no cover - compiled  # fmt: skip
    n = q0.size
    x, y, w, last = q0.copy(), q0.copy(), np.zeros(n), np.zeros(n)
    R, p, row = np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros(n)
    g0, g1, slope, m, x0 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    push, impulse, mobility, new = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    total = np.zeros(n)
    q[0] = q0
    force, at = 0.0, 0
    for i in range(1, t.size):
        dt = t[i] - t[i - 1]
        count = steps[i - 1]
        h = dt / count
        x0[:] = x
        height = _lowest(x0, parent, R0, p0, axis, turns, up, body, points, R, p, row) - level
        for j in range(n):
            if turns[j]:
                c, sn = np.cos(x0[j]), np.sin(x0[j])
                slope[j] = P[j, 0] * (B[i, j] * c - A[i, j] * sn)
            else:
                c, sn = 1.0, 0.0
                slope[j] = 0.0
            g0[j] = P[j, 0] * (A[i - 1, j] * c + B[i - 1, j] * sn)
            g1[j] = P[j, 0] * (A[i, j] * c + B[i, j] * sn)
            m[j] = P[j, 10] + abs(P[j, 0]) * M[i, j]
            if i == 1:
                total[j] = held_error(ref[j, 0] - P[j, 6] - x[j], g0[j], P[j])
        for k in range(count):
            at += 1
            gap = height
            for j in range(n):
                g = g0[j] + (k + 0.5) / count * (g1[j] - g0[j]) + slope[j] * (x[j] - x0[j])
                # Friction feels the contact of the step before.
                load = g - P[j, 0] * row[j] * force
                error = ref[j, at] - P[j, 6] - x[j]
                total[j] = sum_error(total[j], error, P[j], h)
                push[j], impulse[j], mobility[j] = drive_forces(
                    error + total[j],
                    w[j],
                    last[j],
                    P[j],
                    g,
                    load,
                    m[j],
                    h,
                    spring_share(m[j], P[j, 1], h),
                )
                new[j] = drive_speed(push[j], impulse[j], mobility[j])
                gap += row[j] * (x[j] + h * new[j] - x0[j])
            force = 0.0
            if gap < 0.0:
                stiffness = 0.0
                for j in range(n):
                    stiffness = max(stiffness, P[j, 0] * row[j] ** 2)
                force = _normal_force(
                    stiffness, -gap, height, x - x0, P, row, push, impulse, mobility, new, h
                )
            for j in range(n):
                new[j] = min(new[j], max(stops[j, 1] - x[j], 0.0) / h)
                new[j] = max(new[j], min(stops[j, 0] - x[j], 0.0) / h)
                last[j] = w[j] if new[j] != 0.0 else 0.0
                w[j] = new[j]
                x[j] += h * w[j]
                y[j] = min(max(y[j], x[j] - P[j, 12]), x[j] + P[j, 12])
        q[i] = y


@njit(cache=True, error_model="numpy")
def _normal_force(
    stiffness: float, depth: float, height: float, way: Array, P: Array, row: Array,
    push: Array, impulse: Array, mobility: Array, w: Array, h: float,
) -> float:  # pragma: no cover - compiled  # fmt: skip
    """Normal force [N] with which the deepest point stays on the surface; the resulting speeds of
    the drives are written to w.
    """
    if stiffness <= 0.0:
        return 0.0
    low, high = 0.0, depth / stiffness
    bracketed = False
    for _ in range(2 * _HALVINGS):
        force = 0.5 * (low + high) if bracketed else high
        left = height
        for j in range(row.size):
            pushed = push[j] + h * max(P[j, 0], 0.0) * row[j] * force
            w[j] = drive_speed(pushed, impulse[j], mobility[j])
            left += row[j] * (way[j] + h * w[j])
        if left >= 0.0:
            bracketed = True
            high = force
        else:
            low = force
            if not bracketed:
                high = 4.0 * force
    return high
