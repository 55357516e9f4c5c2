# SPDX-License-Identifier: Apache-2.0
r"""Subspaces of R^n as orthonormal bases, with a record of uncertain rank decisions.

All matrices are in natural units (see `scaling`), so that entries are of order one and a relative
tolerance is a plain number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from sysid_core.robot import Array

TOLERANCE = 1e-9  # of the natural scale: below, a singular value is zero
CLEAR_GAP = 1e3  # ratio of kept to dropped singular values below which a decision is doubtful
WEAK = 1e-2  # of the natural scale: below, a kept direction is noted; rounded angles reach 2e-3


@dataclass(frozen=True, eq=False)
class Decision:
    """Uncertain rank decision: without a clear gap, or based on very small values.

    Attributes:
        kept: Smallest singular value that counted.
        dropped: Largest one that didn't (0 when none was dropped).
        direction: The weakest direction kept, in the space of the matrix's columns.
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
        tolerance: Relative to the natural scale.
        doubts: Decisions since the last `take_doubts` that are near the edge or weak.
    """

    tolerance: float = TOLERANCE
    doubts: list[Decision] = field(default_factory=list)

    def _rank(self, s: Array, directions: Array) -> int:
        """Number of values that count; `directions` holds one column per value."""
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
        """Orthonormal basis of the columns of M, (n, k) to (n, r)."""
        if M.shape[1] == 0:
            return M
        U, s, _ = _svd(M)
        return U[:, : self._rank(s, U)]

    def invariant_span(self, seed: Array, operators: Sequence[Array] | Array) -> Array:
        r"""Smallest subspace that contains the seed and is invariant under every operator.

        The controllable subspace of the (switched) pairs `(A_k, seed)`; Ctrb in the paper.

        Args:
            seed: Columns that span the start, shape (n, k).
            operators: Each of shape (n, n).
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
        """Orthonormal basis of the nullspace of N, (k, n) to (n, d)."""
        n = N.shape[1]
        if len(N) < n:
            N = np.vstack([N, np.zeros((n - len(N), n))])
        if len(N) > 2 * n:
            N = np.asarray(np.linalg.qr(N, mode="r"))
        _, s, Vt = _svd(N)
        return Vt[self._rank(s, Vt.T) :].T


def _svd(M: Array) -> tuple[Array, Array, Array]:
    """Thin SVD. LAPACK at once: on matrices this small the wrappers cost more than the work."""
    U, s, Vt, info = scipy.linalg.lapack.dgesdd(M, full_matrices=0)
    if info != 0:
        return np.linalg.svd(M, full_matrices=False)
    return U, s, Vt


def reduced_nullspace(Z: Array, order: Array) -> tuple[Array, Array]:
    r"""Basis of a nullspace in reduced form: one dependent coordinate per column, late coordinates
    first.

    Coordinates late in the order of preference become dependent, so that the early ones stay
    as base parameters.

    Args:
        Z: Any orthonormal basis, shape (n, d).
        order: The coordinates in their order of preference, shape (n,).

    Returns:
        dependent: Their indices, shape (d,).
        E: Basis with `E[dependent] = 1` (identity), shape (n, d).
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
    """The first rows, in the given order, that leave the span of those before (Gram-Schmidt)."""
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
