# SPDX-License-Identifier: Apache-2.0
"""Recordings of a closed chain as consistent motions of all its joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.recorded import (
    Span,
    TorqueProcessing,
    require_finite,
    require_torques,
    shifted,
)
from sysid_core.files import Number
from sysid_core.kinds import Kind
from sysid_core.robot.loops import (
    ClosedChain,
    ConstrainedMotion,
    constrained_motion,
    project_positions,
    project_velocities,
    require_determined,
)
from sysid_core.signals import EffortKind, JointStream, Recording, interpolate_at
from sysid_core.signals.bags import read_bag
from sysid_core.signals.filters import ZeroPhaseFilter, central_difference, resample, split_at_gaps


class FilterOrder(Kind):
    """Whether regressor and torque pass one filter, or the motion passes filters of its own."""

    MATCHED = "matched"
    PAPER = "paper"


@dataclass(frozen=True, kw_only=True)
class ConstrainedProcessing(TorqueProcessing):
    r"""What is done to recordings of a closed chain before the fit.

    `matched`: the regressor is built at the recording's own rate; then regressor and torque pass
    the same filter and are decimated. The filter is linear, so `u = G^T W theta` stays true and
    nothing is biased. `paper`: velocity, acceleration and torque pass filters of their own, the
    regressor is built from what remains (Zhang et al. 2024, section IV-B).

    Equations of a joint are dropped while it is slower than `moving`: there stiction, which is
    anything between -F_c and F_c, takes the place of friction.

    Attributes:
        order: `matched` or `paper`.
        velocity_cutoff_hz: Cut-off for velocities, `paper` only.
        acceleration_cutoff_hz: Cut-off for accelerations, `paper` only.
        decimation: Every how many samples are kept, `paper` only; `matched` keeps five samples per
            period of its cut-off.
        estimate_delay: Whether the delay of the reported torques is estimated and taken out.
    """

    SAMPLES_PER_PERIOD = 5.0

    order: FilterOrder = FilterOrder.MATCHED
    torque_cutoff_hz: Number = 20.0
    velocity_cutoff_hz: Number = 18.0
    acceleration_cutoff_hz: Number = 15.0
    decimation: int = 10
    moving: Number = 0.02
    estimate_delay: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        order = FilterOrder.named(self.order, "The order of the filters", EstimationError)
        object.__setattr__(self, "order", order)

    @classmethod
    def of_the_paper(cls) -> ConstrainedProcessing:
        """Cut-offs 18, 15 and 33 Hz, decimation by 10, nothing else."""
        return cls(
            order=FilterOrder.PAPER,
            torque_cutoff_hz=33.0,
            end_trim=0.0,
            moving=0.0,
            estimate_delay=False,
        )

    def kept(self, K: int, rate_hz: float, step: int | None = None) -> slice:
        """Samples of a span of K that enter the fit."""
        paper = self.order is FilterOrder.PAPER and step is None
        return super().kept(K, rate_hz, self.decimation if paper else step)


def read_spans(
    chain: ClosedChain,
    recordings: Sequence[Recording],
    processing: ConstrainedProcessing,
    measured: tuple[str, ...] = (),
) -> tuple[Span[ConstrainedMotion], ...]:
    """Gapless parts of recordings, with the dependent joints from the loops.

    Args:
        chain: The mechanism.
        recordings: Runs of it.
        processing: Largest gap.
        measured: Passive joints whose encoders are used beside the actuated ones.

    Raises:
        SignalError: Joints or efforts are missing, efforts aren't torques, or nothing is left.
        ModelError: The loops don't assemble at the recorded positions.
    """
    spans = tuple(
        _span(chain, piece, measured, processing, recording.source)
        for recording in recordings
        for piece in _pieces(chain, recording, measured, processing)
    )
    if not spans:
        raise SignalError(
            "The recordings are too short: no part of a second is without gaps.",
            remedy="Record longer, or allow larger gaps.",
        )
    return spans


def read_loop_bag(
    path: str | Path, chain: ClosedChain, effort_kind: EffortKind | str | None = None
) -> Recording:
    """A bag's driven joints, and those passive ones that have an encoder, mapped by name.

    What the bag says of the efforts of passive joints (NaN, zero, nothing) doesn't matter. Where
    other messages than the driven joints' carry them, they are interpolated.

    Args:
        path: rosbag2 folder or file.
        chain: The mechanism.
        effort_kind: As in `read_bag`.

    Raises:
        SignalError: No bag, or joints are missing.
    """
    driven = read_bag(path, joints=chain.actuated, effort_kind=effort_kind)
    if not chain.measured:
        return driven
    a, b = driven.joints, read_bag(path, joints=chain.measured, effort_kind=effort_kind).joints
    gap = ConstrainedProcessing().max_gap_s
    q, known = interpolate_at(a.stamps_ns, b.stamps_ns, b.q, max_gap_s=gap)
    v = None
    if a.v is not None and b.v is not None:
        v = np.hstack([a.v, interpolate_at(a.stamps_ns, b.stamps_ns, b.v, max_gap_s=gap)[0]])
    joints = JointStream(
        names=(*chain.actuated, *chain.measured),
        stamps_ns=a.stamps_ns,
        q=np.hstack([a.q, q]),
        v=v,
        effort=None if a.effort is None else np.hstack([a.effort, np.zeros_like(q)]),
        effort_kind=a.effort_kind,
    )
    return replace(driven, joints=joints.select(known))


def _pieces(
    chain: ClosedChain,
    recording: Recording,
    measured: tuple[str, ...],
    processing: ConstrainedProcessing,
) -> list[JointStream]:
    stream = recording.joints
    require_torques(stream, recording.source)
    passive = [joint for joint in measured if joint not in stream.names]
    if passive:
        raise SignalError(
            f"The recording '{recording.source}' has no passive joints {passive}; it has"
            f" {list(stream.names)}.",
            remedy="Leave them out of `measured` in the loops file: the loops give them then.",
            missing=passive,
        )
    ordered = stream.ordered((*chain.actuated, *measured))
    require_finite(ordered, recording.source)
    pieces = split_at_gaps(ordered, processing.max_gap_s)
    return [piece for piece in pieces if len(piece) > 50 and piece.time[-1] > 1.0]


def _span(
    chain: ClosedChain,
    stream: JointStream,
    measured: tuple[str, ...],
    processing: ConstrainedProcessing,
    source: str,
) -> Span[ConstrainedMotion]:
    rate = 1e9 / float(np.median(np.diff(stream.stamps_ns)))
    even = resample(stream, rate)
    n_a = chain.n_actuated
    if even.v is None:
        low_pass = ZeroPhaseFilter(min(3.0 * processing.torque_cutoff_hz, 0.4 * rate))
        v = central_difference(low_pass.apply(even.q, rate), rate)
    else:
        v = even.v
    assert even.effort is not None  # checked by _pieces
    if measured:
        q = project_positions(chain, even.names, even.q)
        v_a = project_velocities(chain, q, even.names, v)
        motion = constrained_motion(
            chain, q[:, chain.actuated_columns], v_a, central_difference(v_a, rate), q=q
        )
    else:
        motion = constrained_motion(
            chain, even.q[:, :n_a], v[:, :n_a], central_difference(v, rate)[:, :n_a]
        )
    require_determined(chain, motion.q[:: max(1, len(motion) // 50)])
    return Span(motion, even.effort[:, :n_a], rate, source)


def smoothed(motion: ConstrainedMotion, rate: float, p: ConstrainedProcessing) -> ConstrainedMotion:
    """Velocities and accelerations through the filters of `paper` processing."""
    return ConstrainedMotion(
        q=motion.q,
        v=ZeroPhaseFilter(p.velocity_cutoff_hz).apply(motion.v, rate),
        a=ZeroPhaseFilter(p.acceleration_cutoff_hz).apply(motion.a, rate),
        G=motion.G,
    )


def earlier_efforts(span: Span[ConstrainedMotion], delay: float) -> Span[ConstrainedMotion]:
    """The span with torques that were reported `delay` [s] late, in their place."""
    time = np.arange(len(span.tau)) / span.rate_hz
    return replace(span, tau=shifted(span.tau, time, -delay))
