# SPDX-License-Identifier: Apache-2.0
"""Filtered regressors of long recordings, block by block: memory stays bounded, however long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sysid_core.estimation.arm.recordings import Span, filled
from sysid_core.robot import Array, FrictionModel, RobotModel, joint_torque_regressor
from sysid_core.signals.filters import ZeroPhaseFilter

BLOCK = 16_384  # samples whose regressor is held at once
HISTORY = 2_000  # samples before a block from which hysteresis of friction takes its state
_SETTLING = 16.0  # over the cut-off [s]: after that nothing of a filter's start is left


@dataclass(frozen=True, eq=False)
class RegressorBlocks:
    """Rows `[Y Phi]` of several spans, filtered and decimated, computed as often as asked.

    Attributes:
        model: The robot.
        friction: Terms that resist.
        spans: Motions, without gaps.
        rigid: Rigid-body regressor of each span, (K_i, n, 10 N), where it is held.
        rows: Samples of each span that are used.
        pi: Inertial parameters that load-dependent friction is taken from, shape (10 N,).
        cutoff_hz: Cut-off of the filter; None: raw.
        unmeasured: Joints without equations, shape (n,).
    """

    model: RobotModel
    friction: FrictionModel
    spans: tuple[Span, ...]
    rigid: tuple[Array, ...] | None
    rows: tuple[NDArray[np.intp], ...]
    pi: Array
    cutoff_hz: float | None
    unmeasured: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int, int]:
        """K, n and p."""
        p = 10 * self.model.n_bodies + len(self.friction.names)
        return sum(map(len, self.rows)), self.model.nv, p

    def __iter__(self) -> Iterator[Array]:
        """Blocks of shape (k, n, p)."""
        for i, rows in enumerate(self.rows):
            for block in self._blocks(i):
                chosen = rows[(rows >= block.start) & (rows < block.stop)]
                if len(chosen):
                    yield self._filtered(i, block, chosen)

    def predict(self, parameters: Array) -> Array:
        """`Y @ parameters` of all rows, shape (K, n): filtered as torques, not column by column."""
        split, out = 10 * self.model.n_bodies, []
        for i, rows in enumerate(self.rows):
            tau = np.empty((len(self.spans[i].tau), self.model.nv))
            for block in self._blocks(i):
                Y, Phi, first = self.raw(i, block)
                own = slice(block.start - first, block.stop - first)
                tau[block] = Y[own] @ parameters[:split] + Phi[own] @ parameters[split:]
            tau[:, self.unmeasured] = 0.0
            if self.cutoff_hz is not None:
                tau = ZeroPhaseFilter(self.cutoff_hz).apply(tau, self.spans[i].rate_hz)
            out.append(tau[rows])
        return np.concatenate(out)

    def friction_squares(self) -> Array:
        """Mean square of every friction column, unfiltered, over the rows in use, shape (n, p_f)."""
        total = np.zeros((self.model.nv, len(self.friction.names)))
        for i, rows in enumerate(self.rows):
            for block in self._blocks(i):
                chosen = rows[(rows >= block.start) & (rows < block.stop)]
                Phi, first = self._friction(i, block)
                total += np.sum(Phi[chosen - first] ** 2, axis=0)
        return total / max(sum(map(len, self.rows)), 1)

    def raw(self, i: int, block: slice) -> tuple[Array, Array, int]:
        """Unfiltered Y and Phi from some samples before a block to its end, and the first sample."""
        low = max(0, block.start - HISTORY)
        Y = self._rigid(i, slice(low, block.stop))
        motion = self.spans[i].motion
        q, v, a = (filled(x)[low : block.stop] for x in (motion.q, motion.v, motion.a))
        return Y, self.friction.regressor(q, v, a, Y @ self.pi), low

    def _blocks(self, i: int) -> list[slice]:
        K = len(self.spans[i].tau)
        return [slice(first, min(first + BLOCK, K)) for first in range(0, K, BLOCK)]

    def _rigid(self, i: int, rows: slice) -> Array:
        if self.rigid is not None:
            return self.rigid[i][rows]
        motion = self.spans[i].motion
        return joint_torque_regressor(
            self.model, motion.q[rows], filled(motion.v)[rows], filled(motion.a)[rows]
        )

    def _friction(self, i: int, block: slice) -> tuple[Array, int]:
        if self.friction.needs_load:
            _, Phi, first = self.raw(i, block)
            return Phi, first
        low, motion = max(0, block.start - HISTORY), self.spans[i].motion
        q, v, a = (filled(x)[low : block.stop] for x in (motion.q, motion.v, motion.a))
        return self.friction.regressor(q, v, a), low

    def _filtered(self, i: int, block: slice, chosen: NDArray[np.intp]) -> Array:
        """Rows of a block; only columns that aren't zero are filtered, joint by joint."""
        rate, K = self.spans[i].rate_hz, len(self.spans[i].tau)
        margin = 0 if self.cutoff_hz is None else int(np.ceil(_SETTLING / self.cutoff_hz * rate))
        wide = slice(max(0, block.start - margin), min(K, block.stop + margin))
        Y, Phi, first = self.raw(i, wide)
        out = np.zeros((len(chosen), *self.shape[1:]))
        n_rigid = Y.shape[2]
        for j in np.flatnonzero(~self.unmeasured):
            for part, offset in ((Y, 0), (Phi, n_rigid)):
                values = part[wide.start - first :, j]
                used = np.flatnonzero(np.any(values != 0.0, axis=0))
                columns = values[:, used]
                if self.cutoff_hz is not None and len(used):
                    columns = ZeroPhaseFilter(self.cutoff_hz).apply(columns, rate)
                out[:, j, offset + used] = columns[chosen - wide.start]
        return out


def evenly_spread(lengths: Sequence[int], total: int, piece: int = 2_000) -> list[list[slice]]:
    """Pieces of several spans, evenly spread over them, of about `total` samples together.

    Args:
        lengths: Samples of each span.
        total: How many are wanted.
        piece: Samples of each piece.

    Returns:
        Slices of each span; whole spans where there are no more samples than wanted.
    """
    if sum(lengths) <= total:
        return [[slice(0, K)] for K in lengths]
    stride = max(piece, int(piece * sum(lengths) / total))
    return [
        [slice(a, min(a + piece, K)) for a in range(0, K, stride) if min(a + piece, K) - a >= 200]
        for K in lengths
    ]
