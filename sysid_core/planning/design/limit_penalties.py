# SPDX-License-Identifier: Apache-2.0
"""Violation of limits by a sampled motion, as a smooth function with gradients.

Position, velocity, acceleration and jerk may use the share of their limits for which the series
also respects them between the samples (`share_between_samples`). Torques, speeds and distances are
not such polynomials, and may use a fixed share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sysid_core.planning.design.tree_motion import BodySlopes, Tree, TreeMotion, cross
from sysid_core.planning.motion_check import MotionChecker
from sysid_core.planning.violations import LimitKind
from sysid_core.robot import Array

AIM = 0.96  # share of torque and TCP speed limits at which the penalty begins
PLANE_MARGIN = 0.01  # [m]
CONTACT_MARGIN = 0.015  # [m], between the bodies' hulls
DISTANCE_SCALE = 0.1  # [m], what counts as one limit


@dataclass(eq=False)
class Excess:
    """Sum of squared violations of the limits, and its gradients.

    Attributes:
        by_kind: Squared excess over the limits of each kind, summed over samples.
        by_sample: Penalty for violated limits at each sample, summed over the kinds of limit, (K,).
        q: Gradient with respect to the positions, shape (K, n).
        v: Gradient with respect to the velocities, shape (K, n).
        a: Gradient with respect to the accelerations, shape (K, n).
        jerk: Gradient with respect to the jerks, shape (K, n).
        pull: Gradient with respect to the joint-torque regressor, shape (K, n, 10 n); None if no
            torque exceeds its limit.
        bodies: Gradient with respect to the bodies' motion; None if zero.
    """

    by_kind: dict[LimitKind, float]
    by_sample: Array
    q: Array
    v: Array
    a: Array
    jerk: Array
    pull: Array | None = None
    bodies: BodySlopes | None = None
    total: float = field(init=False, default=0.0)

    def add(self, kind: LimitKind, squares: Array) -> None:
        """Add squares of one kind of violation, shape (K,) or (K, m)."""
        self.by_sample += squares if squares.ndim == 1 else squares.sum(axis=1)
        amount = float(np.sum(squares))
        self.by_kind[kind] = self.by_kind.get(kind, 0.0) + amount
        self.total += amount


class LimitPenalties:
    """Penalty functions for the limits of one robot.

    Args:
        checker: Checker of motions against the robot's limits.
        tree: Kinematics of the robot.
        share: Share of the joints' limits that samples may use, 0 to 1.

    Attributes:
        contact_weight: Weight of contacts relative to other limits. It is large while the penalties
            of the other limits are small, because a motion that has passed through a body would be
            pushed out on the wrong side.
    """

    def __init__(self, checker: MotionChecker, tree: Tree, share: float) -> None:
        self.checker, self.tree, self.share = checker, tree, share
        limits, model = checker.limits, checker.model
        bounded = np.isfinite(limits.upper) & np.isfinite(limits.lower)
        lower, upper = np.where(bounded, limits.lower, 0.0), np.where(bounded, limits.upper, 0.0)
        self._middle = (upper + lower) / 2
        self._half = np.where(bounded, (upper - lower) / 2, np.inf)
        self._pi = checker.loaded.pi.ravel()
        frame = model.pin_model.frames[model.frame_id(limits.tcp_frame)]
        self._tcp = (int(frame.parentJoint) - 1, np.array(frame.placement.translation))
        planes: list[tuple[LimitKind, Array, float]] = []
        if limits.ground_height is not None:
            planes.append((LimitKind.GROUND, np.array([0.0, 0.0, 1.0]), limits.ground_height))
        if limits.workspace is not None:
            for axis, low, high in zip(np.eye(3), *limits.workspace, strict=True):
                planes += [(LimitKind.WORKSPACE, axis, low), (LimitKind.WORKSPACE, -axis, -high)]
        planes += [(LimitKind.PLANE, np.array(p.normal), p.offset) for p in limits.planes]
        self._planes = planes
        self._supports: list[tuple[int, Array]] = []
        if planes and checker.geometry is not None:
            self._supports = checker.geometry.support_points()
        self._seen: Array | None = None  # postures at which each pair's distance was asked for
        self._free: Array | None = None  # how far each pair was from being near then
        self._levers = _pair_levers(checker, tree)
        self.contact_weight = 1.0

    def forget(self) -> None:
        """Recompute all distances, so that the result does not depend on earlier calls."""
        self._seen = None

    def excess(
        self,
        q: Array,
        v: Array,
        a: Array,
        jerk: Array,
        Y: Array,
        motion: TreeMotion,
        contact_weights: Array,
    ) -> Excess:
        """Return the violation of the limits by a motion.

        Args:
            q, v, a, jerk: Samples, (K, n) each.
            Y: Joint-torque regressor of the samples, (K, n, 10 n).
            motion: Motion of the bodies at the samples.
            contact_weights: Weight of the contact penalty at each sample, (K,); contact is not
                checked where it is 0.
        """
        out = Excess({}, np.zeros(len(q)), *np.zeros((4, *q.shape)))
        limits = self.checker.limits
        self._box(out, LimitKind.POSITION, q - self._middle, self._half, self.share, out.q)
        self._box(out, LimitKind.VELOCITY, v, limits.velocity, self.share, out.v)
        self._box(out, LimitKind.ACCELERATION, a, limits.acceleration, self.share, out.a)
        if limits.jerk is not None:
            self._box(out, LimitKind.JERK, jerk, limits.jerk, self.share, out.jerk)
        torque, by_torque = Y @ self._pi, np.zeros_like(q)
        self._box(out, LimitKind.EFFORT, torque, limits.effort, AIM, by_torque)
        if np.any(by_torque):
            out.pull = by_torque[:, :, None] * self._pi
        self._tcp_speed(out, motion)
        self._crossed_planes(out, motion)
        self._contacts(out, q, contact_weights)
        return out

    @staticmethod
    def _box(
        out: Excess, kind: LimitKind, value: Array, limit: Array, share: float, slope: Array
    ) -> None:
        used = value / limit
        over = np.clip(np.abs(used) - share, 0.0, None)
        out.add(kind, over**2)
        slope += 2.0 * over * np.sign(used) / limit

    @staticmethod
    def _bodies(out: Excess, motion: TreeMotion) -> BodySlopes:
        if out.bodies is None:
            out.bodies = BodySlopes(*np.zeros((4, *motion.V.shape)))
        return out.bodies

    def _tcp_speed(self, out: Excess, motion: TreeMotion) -> None:
        body, offset = self._tcp
        x = motion.point(body, offset)
        u = motion.point_velocity(body, x)
        speed, limit = np.linalg.norm(u, axis=1), self.checker.limits.tcp_speed
        over = np.clip(speed / limit - AIM, 0.0, None)
        out.add(LimitKind.TCP_SPEED, over**2)
        if np.any(over):
            by_u = (2.0 * over / limit / np.maximum(speed, 1e-12))[:, None] * u
            omega = motion.V[:, body, 3:]
            self._bodies(out, motion).add_point(body, x, 0.0 * x, by_u, omega)

    def _crossed_planes(self, out: Excess, motion: TreeMotion) -> None:
        for joint, points in self._supports:
            body = joint - 1
            for kind, normal, offset in self._planes:
                local = np.einsum("kji,j->ki", motion.R[:, body], normal)  # (K, 3)
                height = local @ points + (motion.p[:, body] @ normal)[:, None]  # (K, m)
                over = np.clip((offset + PLANE_MARGIN - height) / DISTANCE_SCALE, 0.0, None)
                out.add(kind, over**2)
                if not np.any(over):
                    continue
                weight = -2.0 * over / DISTANCE_SCALE  # slope by the height
                total = weight.sum(axis=1)[:, None]
                centre = np.einsum("kij,kj->ki", motion.R[:, body], weight @ points.T)
                carried = self._bodies(out, motion).carried
                carried[:, body, :3] += total * normal
                carried[:, body, 3:] += cross(centre + total * motion.p[:, body], normal)

    def _contacts(self, out: Excess, q: Array, weights: Array) -> None:
        """Add the penalties of small distances; distances are computed again only if joints have
        moved far enough.
        """
        geometry, n_pairs = self.checker.geometry, len(self._levers)
        if geometry is None or not n_pairs:
            return
        asked, n = np.flatnonzero(weights), q.shape[1]
        if self._seen is None or self._free is None or len(self._seen) != len(asked):
            self._seen = np.zeros((len(asked), n_pairs, n))
            self._free = np.full((len(asked), n_pairs), -np.inf)
        moved = np.einsum("kpn,pn->kp", np.abs(q[asked, None] - self._seen), self._levers)
        near, squares = moved >= self._free, np.zeros(len(q))
        for i in map(int, np.flatnonzero(near.any(axis=1))):
            k, pairs = asked[i], np.flatnonzero(near[i])
            distances, slopes = geometry.hulls.at(q[k], CONTACT_MARGIN, pairs.tolist())
            self._seen[i, pairs], self._free[i, pairs] = q[k], distances - CONTACT_MARGIN
            weight = self.contact_weight * weights[k]
            depth = np.clip(CONTACT_MARGIN - distances, 0.0, None) / DISTANCE_SCALE
            squares[k] = weight * np.sum(depth**2)
            out.q[k] += -2.0 * weight / DISTANCE_SCALE * depth @ slopes
        out.add(LimitKind.CONTACT, squares)


def _pair_levers(checker: MotionChecker, tree: Tree) -> Array:
    """Relative displacement of the bodies of each pair per joint motion, (n_pairs, n).

    An upper bound for links that end within 0.3 m of their last joint [m/rad or 1].
    """
    if checker.geometry is None:
        return np.zeros((0, tree.n))
    links = np.linalg.norm(tree.p, axis=1)
    turns = np.any(tree.axes[:, 3:] != 0.0, axis=1)
    levers = []
    for pair in checker.geometry.hulls.joints:
        row = np.zeros(tree.n)
        for body, other in (pair, pair[::-1]):
            j, lever = body - 1, 0.3
            # Joints that carry one body and not the other.
            while j >= 0 and not (other > 0 and tree.subtree[j, other - 1]):
                row[tree.order[j]] = lever if turns[j] else 1.0
                lever += float(links[j])
                j = tree.parents[j]
        levers.append(row)
    return np.array(levers).reshape(-1, tree.n)
