# SPDX-License-Identifier: Apache-2.0
r"""Filtered rows of `u = G^T W theta` (Zhang et al. 2024, eq. 23) along one gapless span."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sysid_core.estimation.closed_chain.recordings import (
    ConstrainedProcessing,
    FilterOrder,
    smoothed,
)
from sysid_core.estimation.recorded import Span
from sysid_core.robot import Array
from sysid_core.robot.loops import (
    ClosedChain,
    ConstrainedMotion,
    JointDrive,
    constrained_torques,
    projected_drive_regressor,
    projected_regressor,
)

_BLOCK = 4000  # samples whose regressor is held at once
_STICTION_SHARE = 0.01  # of a filtered equation that may stem from samples at standstill


@dataclass(frozen=True, eq=False)
class FilteredSpan:
    """Filtered and decimated equations of a gapless span, K samples.

    Attributes:
        time: Even, shape (K,) [s].
        W: Regressor, shape (K, n_a, p).
        u: Torques less those that are known, shape (K, n_a) [N m].
        known: Torques that aren't estimated, shape (K, n_a) [N m].
        left_out: Equations spoilt by stiction, shape (K, n_a).
    """

    time: Array
    W: Array
    u: Array
    known: Array
    left_out: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SpanFilter:
    """What is made of a span's motion and torques.

    Attributes:
        chain: The mechanism.
        processing: Filters and decimation.
        drives: Joints whose friction and drive are estimated.
    """

    chain: ClosedChain
    processing: ConstrainedProcessing
    drives: tuple[str, ...]

    def kept(self, span: Span[ConstrainedMotion]) -> slice:
        """Samples that enter the fit."""
        return self.processing.kept(len(span.tau), span.rate_hz)

    def torque(self, span: Span[ConstrainedMotion]) -> Array:
        """Reported torques, filtered and decimated, shape (K, n_a)."""
        return self.processing.low_pass.apply(span.tau, span.rate_hz)[self.kept(span)]

    def equations(
        self, span: Span[ConstrainedMotion], inertials: bool, unmeasured: NDArray[np.bool_]
    ) -> FilteredSpan:
        """Filtered and decimated equations of a span.

        Args:
            span: Motion and torques.
            inertials: Whether the inertial parameters are among the columns.
            unmeasured: Actuated joints without equations, shape (n_a,).
        """
        p, rate, chain = self.processing, span.rate_hz, self.chain
        keep, torque = self.kept(span), self.torque(span)
        rest = _without_drives(chain, self.drives, inertials)
        if p.order is FilterOrder.PAPER:
            motion = smoothed(span.motion, rate, p).rows(keep)
            W, known = self._columns(motion, inertials), constrained_torques(rest, motion)
        else:
            known = p.low_pass.apply(constrained_torques(rest, span.motion), rate)[keep]
            W = self._matched_columns(span, inertials, keep)
        time = np.arange(len(span.tau))[keep] / rate
        left_out = np.asarray(self.slow(span) | unmeasured)
        return FilteredSpan(time, W, torque - known, known, left_out)

    def slow(self, span: Span[ConstrainedMotion]) -> NDArray[np.bool_]:
        """Equations that stiction spoils, shape (K, n_a)."""
        p, rate, keep = self.processing, span.rate_hz, self.kept(span)
        v_a = span.motion.v[:, self.chain.actuated_columns]
        if p.moving <= 0.0:
            return np.zeros((len(range(*keep.indices(len(v_a)))), v_a.shape[1]), dtype=bool)
        # Noise hides a short standstill from the raw velocity, the filter from the smooth one.
        slowest = np.minimum(np.abs(v_a), np.abs(p.low_pass.apply(v_a, rate)))
        share = p.low_pass.apply((slowest < p.moving).astype(float), rate)
        return np.asarray((np.abs(share) > _STICTION_SHARE)[keep])

    def _matched_columns(
        self, span: Span[ConstrainedMotion], inertials: bool, keep: slice
    ) -> Array:
        """Regressor at full rate, filtered and decimated; in blocks that overlap by the filter."""
        rate, K, low_pass = span.rate_hz, len(span.tau), self.processing.low_pass
        margin = int(np.ceil(4.0 * low_pass.settling_time() * rate))
        wanted = np.arange(*keep.indices(K))
        out = []
        for begin in range(0, K, _BLOCK):
            inside = wanted[(wanted >= begin) & (wanted < begin + _BLOCK)]
            if not len(inside):
                continue
            low, high = max(0, begin - margin), min(K, begin + _BLOCK + margin)
            W = self._columns(span.motion.rows(slice(low, high)), inertials)
            out.append(low_pass.apply(W, rate)[inside - low])
        return np.concatenate(out)

    def _columns(self, motion: ConstrainedMotion, inertials: bool) -> Array:
        regressor = projected_regressor if inertials else projected_drive_regressor
        return regressor(self.chain, motion, self.drives)


def _without_drives(chain: ClosedChain, drives: tuple[str, ...], inertials: bool) -> ClosedChain:
    """The chain with what is known only: estimated drives, and perhaps all masses, are zero."""
    known = chain.with_drives({joint: JointDrive() for joint in drives})
    return (
        known.with_model(chain.model.with_pi(np.zeros_like(chain.model.pi))) if inertials else known
    )
