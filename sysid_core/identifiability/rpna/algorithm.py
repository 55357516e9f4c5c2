# SPDX-License-Identifier: Apache-2.0
"""Recursive parameter nullspace algorithm, RPNA (Wensing, Niemeyer, Slotine 2023, algorithms 1 to
3).

Outward over the bodies it carries two subspaces: V, the span of the velocities that a body can
have, and K, the span of the coefficients with which its parameters can appear in the energy. An
inertia transfer into the parent, `delta pi_p = -B delta pi_i`, can't be detected if and only if
`N_i delta pi_i = 0`; these transfers make up the whole nullspace.

Subspaces are orthonormal bases, with every rank decision on record; all matrices are in natural units
(see `scaling`), so that entries are of order one and a relative tolerance is a plain number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from sysid_core.identifiability.rpna.coupled_chain import CoupledChain
from sysid_core.identifiability.rpna.stages import Stage, StageLayout
from sysid_core.robot import Array

TOLERANCE = 1e-9  # of the natural scale: below, a singular value is zero
CLEAR_GAP = 1e3  # ratio of kept to dropped singular values below which a decision is doubtful
WEAK = 1e-2  # of the natural scale: below, a kept direction is noted; rounded angles reach 2e-3
# Rows of the paper's tables: m, hx, hy, hz, Ixx, Iyy, Izz, Iyz, Ixz, Ixy, as indices into pi.
TABLE_ORDER = np.array([0, 1, 2, 3, 4, 6, 9, 8, 7, 5])


@dataclass(frozen=True, eq=False)
class Decision:
    """Uncertain rank decision: without a clear gap, or based on very small values.

    Attributes:
        kept: Smallest singular value counted as nonzero [-].
        dropped: Largest singular value counted as zero [-]; 0 if there is none.
        direction: Weakest direction that was kept, in the column space of the matrix.
    """

    kept: float
    dropped: float
    direction: Array

    @property
    def is_near_the_edge(self) -> bool:
        """True if kept and discarded values differ by a factor below `CLEAR_GAP`."""
        return self.kept < CLEAR_GAP * self.dropped


@dataclass
class SubspaceAlgebra:
    """Spans, invariant spans and nullspaces with one tolerance; uncertain decisions are recorded.

    Attributes:
        tolerance: Smallest nonzero singular value, relative to the natural scale.
        doubts: Uncertain rank decisions since the last call of `take_doubts`.
    """

    tolerance: float = TOLERANCE
    doubts: list[Decision] = field(default_factory=list)

    def _rank(self, s: Array, directions: Array) -> int:
        """Number of singular values counted as nonzero; `directions` has one column for each."""
        rank = int(np.count_nonzero(s > self.tolerance))
        if rank:
            kept = float(s[rank - 1])
            dropped = float(s[rank]) if rank < len(s) else 0.0
            if kept < WEAK or kept < CLEAR_GAP * dropped:
                self.doubts.append(Decision(kept, dropped, directions[:, rank - 1].copy()))
        return rank

    def take_doubts(self) -> list[Decision]:
        """Return the uncertain decisions so far, and delete the record."""
        doubts, self.doubts = self.doubts, []
        return doubts

    def span(self, M: Array) -> Array:
        """Return the orthonormal basis of the columns of M, (n, k) to (n, r)."""
        if M.shape[1] == 0:
            return M
        U, s, _ = _svd(M)
        return U[:, : self._rank(s, U)]

    def invariant_span(self, seed: Array, operators: Sequence[Array] | Array) -> Array:
        r"""Return the smallest subspace that contains the seed and is invariant under every
        operator.

        This is the controllable subspace of the (switched) pairs `(A_k, seed)`, called Ctrb in the
        paper.

        Args:
            seed: Columns that span the initial subspace, shape (n, k).
            operators: Matrices, each of shape (n, n).
        """
        n = len(seed)
        Q = new = self.span(seed)
        while new.shape[1] > 0 and Q.shape[1] < n:
            W = np.concatenate([A @ new for A in operators], axis=1)
            # Twice is enough: the second pass removes what rounding left of the first.
            W = W - Q @ (Q.T @ W)
            W = W - Q @ (Q.T @ W)
            new = self.span(W)
            Q = np.concatenate([Q, new], axis=1)
        return Q

    def nullspace(self, N: Array) -> Array:
        """Return the orthonormal basis of the nullspace of N, (k, n) to (n, d)."""
        n = N.shape[1]
        if len(N) < n:
            N = np.vstack([N, np.zeros((n - len(N), n))])
        if len(N) > 2 * n:
            N = np.asarray(np.linalg.qr(N, mode="r"))
        _, s, Vt = _svd(N)
        return Vt[self._rank(s, Vt.T) :].T


def _svd(M: Array) -> tuple[Array, Array, Array]:
    """Thin singular value decomposition by a direct call of LAPACK, because on matrices this small
    numpy's checks take longer than the computation.
    """
    U, s, Vt, info = scipy.linalg.lapack.dgesdd(M, full_matrices=0)
    if info != 0:
        return np.linalg.svd(M, full_matrices=False)
    return U, s, Vt


def reduced_nullspace(Z: Array, order: Array) -> tuple[Array, Array]:
    r"""Return the basis of a nullspace in reduced form: one dependent coordinate per column, late
    coordinates first.

    Coordinates that are late in the order of preference become dependent, so that early coordinates
    stay as base parameters.

    Args:
        Z: Orthonormal basis of the nullspace, shape (n, d).
        order: Indices of the coordinates in order of preference, shape (n,).

    Returns:
        dependent: Indices of the dependent coordinates, shape (d,).
        E: Basis whose rows `E[dependent]` are the identity, shape (n, d).
    """
    d = Z.shape[1]
    dependent: list[int] = []
    # Rows that hardly differ from those already taken are passed over as long as others do.
    for tolerance in (1e-4, 1e-7, 1e-10, 0.0):
        dependent = _independent_rows(Z, order[::-1].tolist(), tolerance)
        if len(dependent) == d:
            break
    E = Z.copy()
    if d:
        *_, columns, singular = scipy.linalg.lapack.dgesv(Z[dependent].T, Z.T)
        E = columns.T if singular == 0 else Z @ np.linalg.pinv(Z[dependent])
        E[np.abs(E) < 1e-11] = 0.0
        E[dependent] = np.eye(d)
    return np.array(dependent, dtype=np.intp), E


def _independent_rows(Z: Array, order: Sequence[int], tolerance: float) -> list[int]:
    """First rows, in the given order, that are linearly independent of the rows before them
    (Gram-Schmidt).
    """
    d = Z.shape[1]
    squares = np.einsum("ij,ij->i", Z, Z).tolist()
    Q = np.zeros((d, d))
    taken: list[int] = []
    for j in order:
        k = len(taken)
        if k == d:
            break
        rest, square = Z[j], squares[j]
        # Once more wherever much was taken away: what is left would be rounding.
        for _ in range(2 if k else 0):
            if square <= tolerance**2:
                break
            before = square
            rest = rest - (Q[:k] @ rest) @ Q[:k]
            square = float(rest @ rest)
            if square > 0.5 * before:
                break
        if square > tolerance**2:
            Q[k] = rest / math.sqrt(square)
            taken.append(j)
    return taken


@dataclass(frozen=True, eq=False, slots=True)
class StageResult:
    """Result of the recursion for one stage, in natural units; P parameters.

    Attributes:
        dim_v: Dimension of the velocity span of each body.
        dim_k: Dimension of the parameter span of each body.
        Z: Orthonormal basis of the undetectable transfers into the parent, shape (P, d).
        dependent: Indices of the parameters that the transfers remove, late ones first, shape (d,).
        E: Basis of the transfers with one dependent parameter per column, `E[dependent]` is the
            identity, shape (P, d).
        moved: Change of the parent's parameters by the transfers, `B Z`, shape (10, d).
        visible: Mask of the parameters that appear in the dynamics, shape (P,).
        doubts: Uncertain rank decisions, with the kind of each.
    """

    dim_v: tuple[int, ...]
    dim_k: tuple[int, ...]
    Z: Array
    dependent: Array
    E: Array
    moved: Array
    visible: Array
    doubts: tuple[tuple[str, Decision], ...]


def recursive_parameter_nullspace(
    layout: StageLayout, *, static: bool = False, algebra: SubspaceAlgebra | None = None
) -> list[StageResult]:
    """Run the recursive parameter nullspace algorithm on a robot.

    Wensing, Niemeyer and Slotine (2023), algorithms 1 to 3, eqs. (46) and (47). V is the velocity
    span of eqs. (24) and (25), and K the parameter span of eq. (38).

    Args:
        layout: Stages of the robot (see `build_layout`).
        static: True if only postures at rest are measured (remark 8).
        algebra: Subspace operations; None: those with a tolerance of 1e-9 of the natural scale.

    Returns:
        Results of the stages, in the order of the recursion.
    """
    algebra = algebra or SubspaceAlgebra()
    V: dict[int, Array] = {-1: layout.gravity}
    K: dict[int, Array] = {-1: np.zeros((10, 0))}
    known: dict[bytes, StageResult] = {}
    results = []
    for stage in layout.stages:
        V_p, K_p = V[stage.parent], K[stage.parent]
        free = V_p.shape[1] == 6 and K_p.shape[1] == 10
        if free and stage.key is not None and not static:
            # The conditions depend on the free modes alone: algorithm 3.
            V[stage.bodies[0]], K[stage.bodies[0]] = V_p, K_p
            result = known.get(stage.key)
            if result is None:
                result, _, _ = _one_stage(stage, V_p, K_p, static, algebra)
                known[stage.key] = result
            else:
                result = StageResult(
                    result.dim_v,
                    result.dim_k,
                    result.Z,
                    result.dependent,
                    result.E,
                    stage.steps[0].B @ result.Z,
                    result.visible,
                    (),
                )
        else:
            result, V_s, K_s = _one_stage(stage, V_p, K_p, static, algebra)
            for k, body in enumerate(stage.bodies):
                V[body], K[body] = V_s[k], K_s[k]
        results.append(result)
    return results


def _one_stage(
    stage: Stage, V_p: Array, K_p: Array, static: bool, algebra: SubspaceAlgebra
) -> tuple[StageResult, list[Array], list[Array]]:
    """One outward step of the recursion: spans V and K of a stage, and its undetectable transfers.

    Wensing, Niemeyer and Slotine (2023), lemmas 1 and 2, eqs. (48) to (51).
    """
    doubts: list[tuple[str, Decision]] = []

    def noted(kind: str, value: Array) -> Array:
        doubts.extend((kind, decision) for decision in algebra.take_doubts())
        return value

    if stage.chain is not None:
        return _chain_stage(stage, stage.chain, V_p, K_p, static, algebra)
    conditions: list[Array] = []
    B_total = np.eye(10)
    for step in stage.steps:
        conditions = [N @ step.B for N in conditions]
        B_total = B_total @ step.B if len(stage.steps) > 1 else step.B
        # Across the link and the joint: V_i- and K_i-, eqs. (48), (49).
        V_minus = noted("velocity", algebra.invariant_span(step.X @ V_p, step.crosses))
        K_minus = noted(
            "parameter",
            algebra.invariant_span(step.B.T @ K_p, [np.swapaxes(A, 0, 1) for A in step.rates]),
        )
        # Add the joint itself: V_i, K_i, and the momentum and mapping rows of N_i, eqs. (50), (51).
        V_plus = V_minus if static else noted("velocity", _extended(algebra, V_minus, step.modes))
        momentum = [V_plus.T @ T for T in step.momenta]
        K_plus = noted("parameter", _extended(algebra, K_minus, np.vstack(momentum).T))
        conditions += momentum + [K_minus.T @ A for A in step.rates]
        V_p, K_p = V_plus, K_plus
    Z = noted("transfer", algebra.nullspace(np.vstack(conditions)))

    if len(stage.bodies) == 1 and not stage.rotors:
        V_s, K_s = [V_p], [K_p]
    else:  # keep the part of each body for its children
        V_s = [noted("velocity", algebra.span(part)) for part in _parts(stage, V_p, 6)]
        K_s = [noted("parameter", algebra.span(part)) for part in _parts(stage, K_p, 10)]
    return _result(stage, Z, B_total, K_p, V_s, K_s, tuple(doubts)), V_s, K_s


def _chain_stage(
    stage: Stage,
    chain: CoupledChain,
    V_p: Array,
    K_p: Array,
    static: bool,
    algebra: SubspaceAlgebra,
) -> tuple[StageResult, list[Array], list[Array]]:
    velocities, spans, conditions, B = chain.conditions(V_p, K_p, static)
    V_s = [algebra.span(columns) for columns in velocities]
    K = algebra.span(spans)
    K_s = [algebra.span(part) for part in _parts(stage, K, 10)]
    Z = algebra.nullspace(conditions)
    doubts = tuple(("coupled", decision) for decision in algebra.take_doubts())
    return _result(stage, Z, B, K, V_s, K_s, doubts), V_s, K_s


def _parts(stage: Stage, stacked: Array, size: int) -> list[Array]:
    return [stacked[size * k : size * (k + 1)] for k in range(len(stage.bodies))]


def _result(
    stage: Stage,
    Z: Array,
    B: Array,
    K: Array,
    V_s: list[Array],
    K_s: list[Array],
    doubts: tuple[tuple[str, Decision], ...],
) -> StageResult:
    n_bodies, n_rotors = len(stage.bodies), len(stage.rotors)
    order = TABLE_ORDER
    if n_bodies > 1 or n_rotors:
        order = np.concatenate(
            [10 * k + TABLE_ORDER for k in range(n_bodies)] + [10 * n_bodies + np.arange(n_rotors)]
        )
    dependent, E = reduced_nullspace(Z, order)
    return StageResult(
        dim_v=tuple(basis.shape[1] for basis in V_s),
        dim_k=tuple(basis.shape[1] for basis in K_s),
        Z=Z,
        dependent=dependent,
        E=E,
        moved=B @ Z,
        visible=np.linalg.norm(K, axis=1) > 1e-8,
        doubts=doubts,
    )


def _extended(algebra: SubspaceAlgebra, Q: Array, M: Array) -> Array:
    """Span of an orthonormal basis and additional columns."""
    n = len(Q)
    if Q.shape[1] == n or M.shape[1] == 0:
        return Q
    W = M - Q @ (Q.T @ M)
    W = W - Q @ (Q.T @ W)
    return np.concatenate([Q, algebra.span(W)], axis=1)
