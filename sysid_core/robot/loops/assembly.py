# SPDX-License-Identifier: Apache-2.0
"""Motion of all joints from the actuated ones: Γ(q_a) by Newton's method, G with q̇ = G q̇_a, Ġ
q̇_a.

Zhang, Haugk, Vasudevan 2024, section II-C: with J split into actuated and passive columns,
`G_u = -J_u^{-1} J_a`, `G_a = 1`, `q̇ = G q̇_a`, `q̈ = G q̈_a + Ġ q̇_a`. More equations than passive
joints (a planar four-bar closed by a point in space) are solved by least squares.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops.constraints import jacobian_at, loop_drift, postures_of, residual_at
from sysid_core.robot.loops.mechanism import Mechanism

ASSEMBLY_TOLERANCE = 1e-12  # [m] (rad for the angles of a weld)
_STAGE = 0.25  # [rad], a step of the path from home to a posture
_MAX_NEWTON_STEP = 0.35  # [rad]
_COARSE = 20  # samples between the postures that a trajectory is warm-started from
_SINGULAR = 1e-9  # least singular value of J_u over the largest
_ITERATIONS = 40  # at most, of Newton: far from closed, steps are limited


@dataclass(frozen=True, eq=False)
class Assembly:
    """Postures after an attempt to close the loops.

    Attributes:
        q: Positions of all joints, shape (K, n) [rad or m]; for postures whose loops cannot be
            closed, those with the smallest closure error found.
        assembled: Mask of the postures with closed loops, shape (K,).
        residual: Largest closure error per loop, shape (K, n_closures) [m or rad].
    """

    q: Array
    assembled: NDArray[np.bool_]
    residual: Array


class ClosedMechanism(Mechanism):
    """Mechanism that finds the postures with closed loops, and the motion of all joints."""

    def loop_residual(self, q: ArrayLike) -> Array:
        """Return the closure residual c(q), zero if the loops are closed; (K, n) to (K, n_c) [m;
        rad for angles].

        Zhang, Haugk and Vasudevan (2024), eq. (4).
        """
        return residual_at(self, self.ends.poses(postures_of(self, q)))

    def loop_jacobian(self, q: ArrayLike) -> Array:
        """Return the Jacobian J = ∂c/∂q of the closure, exact if the loops are closed; (K, n) to
        (K, n_c, n).

        Zhang, Haugk and Vasudevan (2024), eq. (5).
        """
        return jacobian_at(self, self.ends.jacobians(postures_of(self, q)))

    def try_assemble(self, q_a: ArrayLike, start: ArrayLike | None = None) -> Assembly:
        """Solve for the posture that closes the loops at given actuated positions, as accurately as
        possible.

        Without an initial guess, the solution is followed from the home posture, so that the robot
        can reach it; with one, Newton's method starts there.

        Args:
            q_a: Positions of the actuated joints, shape (K, n_a) [rad or m].
            start: Initial guess of all joint positions, shape (K, n); None: each posture is reached
                on a path from the home posture.
        """
        q_a = _actuated(self, q_a)
        if start is not None:
            q = np.array(postures_of(self, start))
            q[:, self.actuated_columns] = q_a
            return _assembly(self, _newton(self, q))
        home = _home(self)
        q = _newton(self, _followed(self, home, q_a))
        found = _assembly(self, q)
        if not np.all(found.assembled):  # the straight path may leave the reachable postures
            lost = ~found.assembled
            direct = np.tile(home, (int(lost.sum()), 1))
            direct[:, self.actuated_columns] = q_a[lost]
            again = _assembly(self, _newton(self, direct))
            q[np.flatnonzero(lost)[again.assembled]] = again.q[again.assembled]
            found = _assembly(self, q)
        return found

    def assemble(self, q_a: ArrayLike, start: ArrayLike | None = None) -> Array:
        """Return the positions of all joints from those of the actuated joints: Γ of Zhang et al.
        2024, eq. 18, by Newton iterations; (K, n_a) to (K, n).

        Args:
            q_a: Positions of the actuated joints, shape (K, n_a) [rad or m].
            start: Initial guess of all joint positions, shape (K, n); None: each posture is reached
                on a path from the home posture.

        Raises:
            ModelError: A loop does not close; the message contains the loop and the posture.

        Examples:
            >>> from sysid_core.robot.loops import load_closed_chain
            >>> leg = load_closed_chain("own-leg")
            >>> q = leg.assemble(leg.actuated_home + 0.1)
            >>> q.shape, bool(np.abs(leg.loop_residual(q)).max() < 1e-12)
            ((1, 15), True)
        """
        found = self.try_assemble(q_a, start)
        _require_assembled(self, found)
        return found.q

    def assemble_along(self, q_a: ArrayLike) -> Array:
        """Return the positions of all joints along a recording or trajectory, (K, n_a) to (K, n);
        each sample starts from its neighbour.

        Raises:
            ModelError: A loop does not close in one of the samples.
        """
        q_a = _actuated(self, q_a)
        K = len(q_a)
        if K <= _COARSE or not self.passive:
            return self.assemble(q_a)
        knots = np.unique(np.append(np.arange(0, K, _COARSE), K - 1))
        coarse = self.assemble(q_a[knots])
        guess = np.column_stack(
            [np.interp(np.arange(K), knots, coarse[:, j]) for j in range(coarse.shape[1])]
        )
        return self.assemble(q_a, guess)

    def actuation_map(self, q: ArrayLike) -> Array:
        """Return the matrix G with q̇ = G q̇_a (eq. 19-21); closed postures (K, n) to (K, n,
        n_a).
        """
        return _map_from_jacobian(self, self.loop_jacobian(q))

    def closure_state(self, q: ArrayLike, v_a: ArrayLike, *, correct: bool = False) -> ClosureState:
        """Return the velocities, the matrix G and the velocity-dependent acceleration `Ġ q̇_a`
        (Zhang et al. 2024, eq. 22) of the closed loops at given postures; for the passive joints it
        contains `-J_u^{-1} J̇ q̇`.

        Args:
            q: Joint positions of closed postures, shape (K, n) [rad or m].
            v_a: Velocities of the actuated joints, shape (K, n_a) [rad/s or m/s].
            correct: True for one Newton step that removes the small closure error of a time step.
        """
        q = postures_of(self, q)
        v_a = np.atleast_2d(np.asarray(v_a, dtype=float))
        at = self.ends.jacobians(q)
        J = jacobian_at(self, at)
        G = _map_from_jacobian(self, J)
        v = np.einsum("kij,kj->ki", G, v_a)
        drift, residual = np.zeros_like(v), np.zeros(len(q))
        rows = self.passive_columns
        if len(rows):
            J_u = J[:, :, rows]
            right = [loop_drift(self, at, v)[:, :, None]]
            if correct:
                right.append(residual_at(self, at)[:, :, None])
            solved = solve_passive(J_u, np.concatenate(right, axis=2))
            drift[:, rows] = -solved[:, :, 0]
            if correct:
                residual = np.max(np.abs(right[1]), axis=(1, 2))
                q = q.copy()
                q[:, rows] -= solved[:, :, 1]
        return ClosureState(q, v, G, drift, residual)

    def passive_condition(self, q: ArrayLike) -> Array:
        """Return the condition number of J_u (passive-joint columns of the loop Jacobian), shape
        (K,); very large near a singularity, where the actuated joints no longer determine the
        passive ones.
        """
        if not self.passive:
            return np.ones(len(postures_of(self, q)))
        J_u = self.loop_jacobian(q)[:, :, self.passive_columns]
        s = np.linalg.svd(J_u, compute_uv=False)
        return s[:, 0] / np.maximum(s[:, -1], 1e-300)

    def require_determined(self, q: ArrayLike) -> None:
        """Raise an error if passive joints can move while the actuated joints are at rest.

        Args:
            q: Joint positions of closed postures, shape (K, n) [rad or m].

        Raises:
            ModelError: Assumption 1 fails at a posture; the message lists the joints.
        """
        if not self.passive:
            return
        _, s, V_T = np.linalg.svd(self.loop_jacobian(q)[:, :, self.passive_columns])
        lost = np.flatnonzero(s[:, -1] <= _SINGULAR * s[:, 0])
        if not len(lost):
            return
        motion = np.abs(V_T[lost[0], -1])
        free = [j for j, x in zip(self.passive, motion, strict=True) if x > 0.1 * motion.max()]
        raise ModelError(
            f"The loops of '{self.name}' do not determine the passive joints {free}: they can move"
            f" while the actuated ones are at rest ({len(lost)} of {len(s)} postures).",
            remedy="Check both ends of the loops, name a further joint as actuated, or keep away from"
            " dead centres.",
            free=free,
        )


def _actuated(chain: ClosedMechanism, q_a: ArrayLike) -> Array:
    q_a = np.atleast_2d(np.asarray(q_a, dtype=float))
    if q_a.ndim != 2 or q_a.shape[1] != chain.n_actuated:
        raise ModelError(
            f"Actuated positions have {q_a.shape[-1]} columns, expected {chain.n_actuated}:"
            f" {', '.join(chain.actuated)}.",
            remedy="Give one column for each actuated joint, in this order.",
        )
    if not np.all(np.isfinite(q_a)):
        raise ModelError(
            "Actuated positions hold NaN or infinite values.",
            remedy="Remove non-finite samples.",
        )
    return q_a


def _home(chain: ClosedMechanism) -> Array:
    assert chain.home is not None  # set by ClosedChain itself
    return _newton(chain, chain.home[None].copy())[0]


def _followed(chain: ClosedMechanism, home: Array, q_a: Array) -> Array:
    """Postures with nearly closed loops at actuated positions (K, n_a), found along straight paths
    from the home posture (n,).

    Euler-Newton continuation (Allgower and Georg 1990, ch. 2): each step follows the tangent of the
    loops, and corrects the closure error of the previous step.
    """
    q = np.tile(home, (len(q_a), 1))
    path = q_a - home[chain.actuated_columns]
    stages = int(np.ceil(np.max(np.abs(path), initial=0.0) / _STAGE))
    along = path / max(stages, 1)
    for _ in range(stages if chain.passive else 0):
        at = chain.ends.jacobians(q)
        J = jacobian_at(chain, at)
        ahead = residual_at(chain, at) + np.einsum(
            "kij,kj->ki", J[:, :, chain.actuated_columns], along
        )
        q[:, chain.passive_columns] += _newton_step(J[:, :, chain.passive_columns], ahead)
        q[:, chain.actuated_columns] += along
    q[:, chain.actuated_columns] = q_a
    return q


def _newton_step(J_u: Array, c: Array) -> Array:
    """Step of the passive joints, of limited length, that reduces the closure residual; (K, n_c,
    u), (K, n_c) to (K, u).
    """
    step = -solve_passive(J_u, c[:, :, None])[:, :, 0]
    largest = np.max(np.abs(step), axis=1, keepdims=True)
    return np.asarray(step * np.minimum(1.0, _MAX_NEWTON_STEP / np.maximum(largest, 1e-300)))


def _newton(chain: ClosedMechanism, q: Array) -> Array:
    """Newton's method on the passive joints of each posture, until the closure residual no longer
    decreases.
    """
    if not chain.passive or not len(q):
        return q
    q = q.copy()
    best, best_error = q.copy(), np.full(len(q), np.inf)
    active = np.arange(len(q))
    for _ in range(_ITERATIONS):
        at = chain.ends.jacobians(q[active])
        c = residual_at(chain, at)
        error = np.max(np.abs(c), axis=1, initial=0.0)
        better = error < best_error[active]
        best[active[better]] = q[active[better]]
        # Converged once below rounding, or when small and no longer improving.
        done = (error < 1e-15) | (~better & (best_error[active] < ASSEMBLY_TOLERANCE))
        best_error[active[better]] = error[better]
        if np.all(done):
            break
        active, c = active[~done], c[~done]
        J = jacobian_at(chain, at)[~done][:, :, chain.passive_columns]
        q[np.ix_(active, chain.passive_columns)] += _newton_step(J, c)
    return best


def _assembly(chain: ClosedMechanism, q: Array) -> Assembly:
    c = np.abs(chain.loop_residual(q))
    edges = np.cumsum([0] + [closure.size for closure in chain.closures])
    per_loop = np.stack(
        [c[:, i:j].max(axis=1) for i, j in itertools.pairwise(edges)] or [np.zeros(len(q))],
        axis=1,
    )
    return Assembly(q, np.all(per_loop <= ASSEMBLY_TOLERANCE, axis=1), per_loop)


def _require_assembled(chain: ClosedMechanism, found: Assembly) -> None:
    lost = np.flatnonzero(~found.assembled)
    if not len(lost):
        return
    k = int(lost[0])
    loop = chain.closures[int(np.argmax(found.residual[k]))]
    posture = {
        joint: float(found.q[k, i])
        for joint, i in zip(chain.actuated, chain.actuated_columns, strict=True)
    }
    where = ", ".join(f"{joint} = {value:.4f}" for joint, value in posture.items())
    raise ModelError(
        f"Loop '{loop.name}' of '{chain.name}' does not close at {where} [rad] (sample {k} of"
        f" {len(found.q)}, {len(lost)} such samples): a gap of {1e3 * found.residual[k].max():.3g}"
        " mm remains.",
        remedy="Keep the actuated joints within the range of the mechanism (see `sysid loops check`), or correct the points of the loop."
        "",
        loop=loop.name,
        posture=posture,
        samples=lost.tolist(),
    )


@dataclass(frozen=True, eq=False)
class ClosureState:
    """Loop closure of K states of motion: positions, velocities and Jacobians.

    Attributes:
        q: Positions of all joints, shape (K, n) [rad or m].
        v: Velocities of all joints, shape (K, n) [rad/s or m/s].
        G: Matrix G of `q̇ = G q̇_a`, shape (K, n, n_a).
        drift: Joint accelerations `Ġ q̇_a` at `q̈_a = 0`, shape (K, n).
        residual: Largest closure error before the correction, shape (K,).
    """

    q: Array
    v: Array
    G: Array
    drift: Array
    residual: Array


def _map_from_jacobian(chain: ClosedMechanism, J: Array) -> Array:
    G = np.zeros((len(J), chain.n, chain.n_actuated))
    G[:, chain.actuated_columns, np.arange(chain.n_actuated)] = 1.0
    if chain.passive:
        J_u, J_a = J[:, :, chain.passive_columns], J[:, :, chain.actuated_columns]
        G[:, chain.passive_columns] = -solve_passive(J_u, J_a)
    return G


def solve_passive(A: Array, B: Array) -> Array:
    """Return the solution `A^{-1} B`, (K, m, u) and (K, m, c) to (K, u, c); least squares if A is
    tall or singular.
    """
    if A.shape[1] == A.shape[2]:
        try:
            return np.linalg.solve(A, B)
        except np.linalg.LinAlgError:
            pass
    return np.linalg.pinv(A, rcond=1e-10) @ B
