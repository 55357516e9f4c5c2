# SPDX-License-Identifier: Apache-2.0
"""Faults of single joints that need no model: spikes, saturated, absent and constant signals."""

from __future__ import annotations

import numpy as np

from sysid_core.diagnosis.fitness import LEAST_TRAVEL
from sysid_core.reasons import Reason, Verdict
from sysid_core.robot import Array
from sysid_core.signals import JointStream

FROZEN = "position-frozen"
_SPIKE = 8.0  # times the span of 98 % of the samples
_STUCK_SHARE = 0.02  # of the samples at one extreme value, exactly
_SPOILT_SHARE = 0.05  # the same, too many for a fit
_FAR = 10.0 * LEAST_TRAVEL  # [rad or m] in which the effort of a joint changes


def effort_faults(stream: JointStream) -> Verdict:
    """Check effort readings: absent, constant and saturated readings are failures, spikes are
    warnings.

    Args:
        stream: Joint states with efforts; without efforts, the verdict is empty.
    """
    if stream.effort is None or len(stream) < 50:
        return Verdict()
    found: list[Reason] = []
    for j, name in enumerate(stream.names):
        effort, moved = stream.effort[:, j], float(np.ptp(stream.q[:, j])) > LEAST_TRAVEL
        low, middle, high = np.percentile(effort, [1.0, 50.0, 99.0])
        span = max(float(high - low), 1e-300)
        same = _longest_constant(effort)
        share = (same.stop - same.start) / len(effort)
        travel = float(np.ptp(stream.q[same, j]))
        if share == 1.0 and not moved:
            continue
        if share == 1.0 or (
            share > _SPOILT_SHARE and travel > _FAR and low < effort[same][0] < high
        ):
            # Zeros are also what drivers send for joints without measurement.
            say = Reason.failure if effort[same][0] != 0.0 or share < 1.0 else Reason.warning
            found.append(say("effort-dead", joint=name, value=effort[same][0], share=share))
            continue
        if np.ptp(stream.q[:, j]) == 0.0 and np.any(np.ptp(stream.q, axis=0) > LEAST_TRAVEL):
            found.append(Reason.failure(FROZEN, joint=name, value=stream.q[0, j]))
        far = np.abs(effort - middle) > _SPIKE * span
        if np.any(far):
            k = int(np.argmax(np.abs(effort - middle)))
            found.append(
                Reason.warning(
                    "effort-spikes",
                    count=int(np.sum(far)),
                    joint=name,
                    value=effort[k],
                    time=stream.time[k],
                    low=low,
                    high=high,
                )
            )
            continue
        for extreme in (effort.min(), effort.max()):
            at = effort == extreme
            # A drive at its limit stays there for several samples in a row.
            runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], at.view(np.int8), [0]]))))
            longest = int(np.max(runs[::2], initial=0))
            values = len(np.unique(effort))
            if moved and np.mean(at) > _STUCK_SHARE and longest > 5 and values > 0.1 * len(effort):
                say = Reason.failure if np.mean(at) > _SPOILT_SHARE else Reason.warning
                found.append(
                    say("effort-saturated", joint=name, value=extreme, share=float(np.mean(at)))
                )
    return Verdict(tuple(found))


def _longest_constant(values: Array) -> slice:
    """Longest stretch of exactly equal values."""
    ends = np.flatnonzero(np.diff(values)) + 1
    starts, stops = np.append(0, ends), np.append(ends, len(values))
    longest = int(np.argmax(stops - starts))
    return slice(int(starts[longest]), int(stops[longest]))
