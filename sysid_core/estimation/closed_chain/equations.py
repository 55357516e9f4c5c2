# SPDX-License-Identifier: Apache-2.0
r"""From recordings of a closed chain to its measurement equations, `u = G^T W theta`.

Zhang, Haugk, Vasudevan 2024, eq. 23, stacked over the samples as in eq. 27-29.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.closed_chain.recordings import (
    ConstrainedProcessing,
    ConstrainedSpan,
    FilterOrder,
    earlier_efforts,
    kept,
    read_spans,
    smoothed,
)
from sysid_core.estimation.closed_chain.torque_delay import DelayedPart, delay_step
from sysid_core.estimation.fit import (
    Regression,
    friction_scale,
    refuse_unmeasured,
    unmeasured_joints,
)
from sysid_core.excitation.closed_chain import structural_rows
from sysid_core.robot import Array, inertial_scale
from sysid_core.robot.loops import (
    DRIVE_NAMES,
    ClosedChain,
    ConstrainedMotion,
    JointDrive,
    constrained_parameter_names,
    constrained_parameter_units,
    constrained_torques,
    projected_drive_regressor,
    projected_regressor,
)
from sysid_core.signals import Recording
from sysid_core.signals.filters import ZeroPhaseFilter

_BLOCK = 4000  # samples whose regressor is held at once
_STICTION_SHARE = 0.01  # of a filtered equation that may stem from samples at standstill


@dataclass(frozen=True, eq=False)
class ConstrainedEquations:
    """Recordings of a closed chain, ready to be turned into measurement equations.

    Zhang, Haugk and Vasudevan (2024), eqs. (28), (29).

    Attributes:
        chain: With the parameters that stay fixed, and the prior of those that don't.
        spans: Consistent motions with their torques, without gaps.
        processing: Filters and decimation.
        drives: Joints whose friction and drive are estimated.
        delay: How late the torques were reported, taken out already [s].
        delay_sd: Its standard deviation (NaN where it wasn't estimated) [s].
        source: The recordings.
    """

    chain: ClosedChain
    spans: tuple[ConstrainedSpan, ...]
    processing: ConstrainedProcessing
    drives: tuple[str, ...]
    delay: float = 0.0
    delay_sd: float = float("nan")
    source: str = ""

    @classmethod
    def build(
        cls,
        chain: ClosedChain,
        recordings: Sequence[Recording],
        processing: ConstrainedProcessing | None = None,
        *,
        drives: tuple[str, ...] | None = None,
        measured: Sequence[str] | None = None,
    ) -> ConstrainedEquations:
        """Read recordings; dependent joints follow from the loops.

        Args:
            chain: The mechanism.
            recordings: Runs of it, all fitted together.
            processing: Filters and decimation.
            drives: Joints whose friction and drive are estimated; default: the actuated ones.
            measured: Passive joints whose encoders are used beside the actuated ones; default:
                the chain's.

        Raises:
            SignalError: Joints or efforts are missing, or efforts aren't torques.
            ModelError: The loops don't assemble at the recorded positions.
        """
        processing = processing or ConstrainedProcessing()
        if not recordings:
            raise EstimationError(
                "There is no recording to identify from.", remedy="Give a recording."
            )
        seen = chain.measured if measured is None else tuple(measured)
        spans = read_spans(chain, recordings, processing, seen)
        return cls(
            chain=chain,
            spans=spans,
            processing=processing,
            drives=tuple(drives) if drives is not None else chain.actuated,
            source=", ".join(dict.fromkeys(r.source for r in recordings if r.source)),
        )

    def without_delay(self, *, inertials: bool = False, rounds: int = 8) -> ConstrainedEquations:
        """Estimate the torques' delay and take it out (see `constrained_delay`).

        Args:
            inertials: Whether the inertial parameters are fitted beside it.
            rounds: At most; each takes out what first order left.
        """
        parts = []
        for span in self.spans:
            W, u, left_out = self._filtered(span, inertials)
            time = np.arange(len(span.effort))[self._kept(span)] / span.rate_hz
            parts.append(DelayedPart(time, W, self._torque(span) - u, left_out))
        equations, total = self, 0.0
        for _ in range(rounds):
            change, sd = delay_step(parts, [self._torque(s) for s in equations.spans])
            total += change
            equations = replace(self.delayed_by(total), delay_sd=sd)  # interpolated once
            if abs(change) < max(0.1 * sd, 1e-6):
                break
        return equations

    def delayed_by(self, delay: float) -> ConstrainedEquations:
        """The same with a known (further) delay of the torques taken out [s]."""
        moved = tuple(earlier_efforts(span, delay) for span in self.spans)
        return replace(self, spans=moved, delay=self.delay + delay)

    def regression(self, *, inertials: bool) -> Regression:
        """Filtered, trimmed and decimated equations.

        Args:
            inertials: Whether the inertial parameters are among the columns; otherwise the
                chain's own are taken out of the torques.
        """
        chain, p = self.chain, self.processing
        blocks, torques, used, starts, count = [], [], [], [], 0
        for span in self.spans:
            W, u, left_out = self._filtered(span, inertials)
            W[left_out], u[left_out] = 0.0, 0.0
            blocks.append(W)
            torques.append(u)
            used.append(~left_out)
            starts.append(count)
            count += len(u)
        W, u = np.concatenate(blocks), np.concatenate(torques)
        if np.mean(list(self.slow_share().values())) > 0.95:
            raise EstimationError(
                f"No joint of '{chain.name}' moves faster than {p.moving} rad/s.",
                remedy="Move the robot, or lower the dead band.",
            )
        refuse_unmeasured(self.unmeasured())
        names = constrained_parameter_names(chain, self.drives)
        units = constrained_parameter_units(chain, self.drives)
        split = 10 * chain.model.n_bodies
        first = 0 if inertials else split
        friction = W[:, :, split - first :]
        massless = tuple(
            body
            for body, pi in zip(chain.model.body_names, chain.model.pi, strict=True)
            if not np.any(pi)
        )
        n_drive = 4 * len(self.drives)
        non_negative = np.tile([True, True, True, False], len(self.drives))
        return Regression(
            Y=W,
            tau=u,
            names=names[first:],
            units=units[first:],
            joints=chain.actuated,
            bodies=chain.model.body_names if inertials else (),
            prior=np.concatenate(
                [chain.model.pi.ravel() if inertials else np.empty(0), np.zeros(n_drive)]
            ),
            prior_sd=np.concatenate(
                [
                    inertial_scale(chain.model) if inertials else np.empty(0),
                    friction_scale(friction, u),
                ]
            ),
            non_negative=np.concatenate([np.zeros(split - first, dtype=bool), non_negative]),
            structure=structural_rows(chain, self.drives, inertials=inertials),
            starts=tuple(starts),
            massless=massless if inertials else (),
            used=np.concatenate(used),
        )

    def unmeasured(self) -> NDArray[np.bool_]:
        """Actuated joints whose efforts are zero throughout, shape (n_a,)."""
        return unmeasured_joints([s.effort for s in self.spans])

    def slow_share(self) -> dict[str, float]:
        """Share of each actuated joint's equations that were dropped as too slow."""
        slow = np.concatenate([self._slow(s) for s in self.spans])
        return dict(zip(self.chain.actuated, slow.mean(axis=0).tolist(), strict=True))

    def residual(self, chain: ClosedChain) -> tuple[Array, Array]:
        """Torques that a model leaves unexplained, filtered as in a fit; nothing is left out.

        Args:
            chain: The same mechanism with the parameters on trial.

        Returns:
            Measured torques (K, n_a), and measured minus predicted ones (K, n_a) [N m].
        """
        measured, left = [], []
        for span in self.spans:
            low_pass = ZeroPhaseFilter(self.processing.cutoff_hz)
            keep = kept(len(span.effort), span.rate_hz, self.processing)
            error = span.effort - constrained_torques(chain, span.motion)
            measured.append(low_pass.apply(span.effort, span.rate_hz)[keep])
            left.append(low_pass.apply(error, span.rate_hz)[keep])
        return np.concatenate(measured), np.concatenate(left)

    def actuated_velocity(self) -> Array:
        """Filtered velocities of the actuated joints at the samples of `residual`, (K, n_a)."""
        columns = self.chain.actuated_columns
        return np.concatenate(
            [
                ZeroPhaseFilter(self.processing.cutoff_hz).apply(s.motion.v[:, columns], s.rate_hz)[
                    kept(len(s.effort), s.rate_hz, self.processing)
                ]
                for s in self.spans
            ]
        )

    def _slow(self, span: ConstrainedSpan) -> Array:
        p, rate = self.processing, span.rate_hz
        keep = kept(len(span.effort), rate, p)
        v_a = span.motion.v[:, self.chain.actuated_columns]
        if p.moving <= 0.0:
            return np.zeros((len(range(*keep.indices(len(v_a)))), v_a.shape[1]), dtype=bool)
        low_pass = ZeroPhaseFilter(p.cutoff_hz)
        # Noise hides a short standstill from the raw velocity, the filter from the smooth one.
        slowest = np.minimum(np.abs(v_a), np.abs(low_pass.apply(v_a, rate)))
        share = low_pass.apply((slowest < p.moving).astype(float), rate)
        return (np.abs(share) > _STICTION_SHARE)[keep]

    def _filtered(self, span: ConstrainedSpan, inertials: bool) -> tuple[Array, Array, Array]:
        p, rate, chain = self.processing, span.rate_hz, self.chain
        keep, u = self._kept(span), self._torque(span)
        left_out = self._slow(span) | self.unmeasured()
        known = _without_drives(chain, self.drives, inertials)
        if p.kind is FilterOrder.PAPER:
            motion = smoothed(span.motion, rate, p).rows(keep)
            W = _columns(chain, motion, self.drives, inertials)
            return W, u - constrained_torques(known, motion), left_out
        low_pass = ZeroPhaseFilter(p.cutoff_hz)
        u = u - low_pass.apply(constrained_torques(known, span.motion), rate)[keep]
        return self._matched_columns(span, inertials, low_pass, keep), u, left_out

    def _kept(self, span: ConstrainedSpan) -> slice:
        return kept(len(span.effort), span.rate_hz, self.processing)

    def _torque(self, span: ConstrainedSpan) -> Array:
        """Reported torques, filtered and decimated."""
        p = self.processing
        low_pass = ZeroPhaseFilter(
            p.torque_cutoff_hz if p.kind is FilterOrder.PAPER else p.cutoff_hz
        )
        return low_pass.apply(span.effort, span.rate_hz)[self._kept(span)]

    def _matched_columns(
        self, span: ConstrainedSpan, inertials: bool, low_pass: ZeroPhaseFilter, keep: slice
    ) -> Array:
        """Regressor at full rate, filtered and decimated; in blocks that overlap by the filter."""
        rate, K = span.rate_hz, len(span.effort)
        margin = int(np.ceil(4.0 * low_pass.settling_time() * rate))
        wanted = np.arange(*keep.indices(K))
        out = []
        for begin in range(0, K, _BLOCK):
            inside = wanted[(wanted >= begin) & (wanted < begin + _BLOCK)]
            if not len(inside):
                continue
            low, high = max(0, begin - margin), min(K, begin + _BLOCK + margin)
            W = _columns(self.chain, span.motion.rows(slice(low, high)), self.drives, inertials)
            out.append(low_pass.apply(W, rate)[inside - low])
        return np.concatenate(out)


def _columns(
    chain: ClosedChain, motion: ConstrainedMotion, drives: tuple[str, ...], inertials: bool
) -> Array:
    regressor = projected_regressor if inertials else projected_drive_regressor
    return regressor(chain, motion, drives)


def _without_drives(chain: ClosedChain, drives: tuple[str, ...], inertials: bool) -> ClosedChain:
    """The chain with what is known only: estimated drives, and perhaps all masses, are zero."""
    known = chain.with_drives({joint: JointDrive() for joint in drives})
    return (
        known.with_model(chain.model.with_pi(np.zeros_like(chain.model.pi))) if inertials else known
    )


def drives_from_values(joints: Sequence[str], values: dict[str, float]) -> dict[str, JointDrive]:
    """DriveTrain of joints from parameters called `joint.F_c` and so on."""
    return {
        joint: JointDrive(**{key: values[f"{joint}.{key}"] for key in DRIVE_NAMES})
        for joint in joints
        if all(f"{joint}.{key}" in values for key in DRIVE_NAMES)
    }
