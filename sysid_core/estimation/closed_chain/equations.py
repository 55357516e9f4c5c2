# SPDX-License-Identifier: Apache-2.0
r"""From recordings of a closed chain to its measurement equations, `u = G^T W theta`.

Zhang, Haugk, Vasudevan 2024, eq. 23, stacked over the samples as in eq. 27-29.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.closed_chain.filtered import FilteredSpan, SpanFilter
from sysid_core.estimation.closed_chain.recordings import (
    ConstrainedProcessing,
    earlier_efforts,
    read_spans,
)
from sysid_core.estimation.closed_chain.torque_delay import constrained_delay
from sysid_core.estimation.fit import Regression, friction_scale, refuse_unmeasured
from sysid_core.estimation.recorded import (
    ChainEquations,
    FrictionColumns,
    Span,
    chain_regression,
    require_recordings,
)
from sysid_core.planning.closed_chain import structural_rows
from sysid_core.robot import Array
from sysid_core.robot.loops import (
    ClosedChain,
    ConstrainedMotion,
    constrained_torques,
    drive_friction,
)
from sysid_core.signals import Recording


@dataclass(frozen=True, eq=False)
class ConstrainedEquations(ChainEquations[ConstrainedMotion]):
    """Recordings of a closed chain, ready to be turned into measurement equations.

    Zhang, Haugk and Vasudevan (2024), eqs. (28), (29).

    Attributes:
        chain: With the parameters that stay fixed, and the prior of those that don't.
        spans: Consistent motions with their torques, without gaps.
        processing: Filters and decimation.
        drives: Joints whose friction and drive are estimated.
        delay: How late the torques were reported, taken out already [s].
        delay_sd: Its standard deviation (NaN where it wasn't estimated) [s].
    """

    chain: ClosedChain
    spans: tuple[Span[ConstrainedMotion], ...]
    processing: ConstrainedProcessing
    drives: tuple[str, ...]
    delay: float = 0.0
    delay_sd: float = float("nan")

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
        require_recordings(recordings)
        seen = chain.measured if measured is None else tuple(measured)
        spans = read_spans(chain, recordings, processing, seen)
        return cls(
            chain=chain,
            spans=spans,
            processing=processing,
            drives=tuple(drives) if drives is not None else chain.actuated,
        )

    def without_delay(self, *, inertials: bool = False, rounds: int = 8) -> ConstrainedEquations:
        """Estimate the torques' delay and take it out (see `constrained_delay`).

        Args:
            inertials: Whether the inertial parameters are fitted beside it.
            rounds: At most; each takes out what first order left.
        """
        parts = self._filtered(inertials)

        def torque_without(delay: float) -> Array:
            later = self.with_delay(self.delay + delay)
            return np.concatenate([self._filter.torque(span) for span in later.spans])

        regression = self._regression(parts, inertials)
        found = constrained_delay(regression, parts, torque_without, rounds)
        return replace(self.with_delay(self.delay + found.seconds), delay_sd=found.sd)

    def with_delay(self, delay: float) -> ConstrainedEquations:
        """The same data with the torques as they were `delay` [s] before they were reported."""
        moved = tuple(earlier_efforts(span, delay - self.delay) for span in self.spans)
        return replace(self, spans=moved, delay=delay)

    def regression(self, *, inertials: bool) -> Regression:
        """Filtered, trimmed and decimated equations.

        Args:
            inertials: Whether the inertial parameters are among the columns; otherwise the
                chain's own are taken out of the torques.

        Raises:
            EstimationError: No joint moves, or no effort was measured.
        """
        return self._regression(self._filtered(inertials), inertials)

    def _regression(self, parts: Sequence[FilteredSpan], inertials: bool) -> Regression:
        chain = self.chain
        if np.mean(list(self.slow_share().values())) > 0.95:
            raise EstimationError(
                f"No joint of '{chain.name}' moves faster than {self.processing.moving} rad/s.",
                remedy="Move the robot, or lower the dead band.",
            )
        refuse_unmeasured(self.unmeasured())
        used = ~np.concatenate([part.left_out for part in parts])
        W = np.concatenate([part.W for part in parts])
        u = np.concatenate([part.u for part in parts])
        W[~used], u[~used] = 0.0, 0.0
        split = 10 * chain.model.n_bodies if inertials else 0
        drives = drive_friction(self.drives)
        friction = FrictionColumns(
            drives.names,
            drives.units_of(chain.model.prismatic_joints),
            friction_scale(W[:, :, split:], u),
            drives.non_negative,
        )
        names, pi = chain.model.body_names, chain.model.pi
        massless = tuple(name for name, x in zip(names, pi, strict=True) if not np.any(x))
        return chain_regression(
            chain.model,
            friction,
            inertials=inertials,
            Y=W,
            tau=u,
            joints=chain.actuated,
            structure=structural_rows(chain, self.drives, inertials=inertials),
            starts=tuple(np.cumsum([0, *(len(part.u) for part in parts[:-1])]).tolist()),
            massless=massless if inertials else (),
            used=used,
        )

    def slow_share(self) -> dict[str, float]:
        """Share of each actuated joint's equations that were dropped as too slow."""
        slow = np.concatenate([self._filter.slow(span) for span in self.spans])
        return dict(zip(self.chain.actuated, slow.mean(axis=0).tolist(), strict=True))

    def residual(self, chain: ClosedChain) -> tuple[Array, Array]:
        """Torques that a model leaves unexplained, filtered as in a fit; nothing is left out.

        Args:
            chain: The same mechanism with the parameters on trial.

        Returns:
            Measured torques (K, n_a), and measured minus predicted ones (K, n_a) [N m].
        """
        left = [
            replace(span, tau=span.tau - constrained_torques(chain, span.motion))
            for span in self.spans
        ]
        measured = np.concatenate([self._filter.torque(span) for span in self.spans])
        return measured, np.concatenate([self._filter.torque(span) for span in left])

    def actuated_velocity(self) -> Array:
        """Filtered velocities of the actuated joints at the samples of `residual`, (K, n_a)."""
        columns = self.chain.actuated_columns
        moved = [replace(span, tau=span.motion.v[:, columns]) for span in self.spans]
        return np.concatenate([self._filter.torque(span) for span in moved])

    @property
    def _filter(self) -> SpanFilter:
        return SpanFilter(self.chain, self.processing, self.drives)

    def _filtered(self, inertials: bool) -> list[FilteredSpan]:
        unmeasured = self.unmeasured()
        return [self._filter.equations(span, inertials, unmeasured) for span in self.spans]
