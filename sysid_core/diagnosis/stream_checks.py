# SPDX-License-Identifier: Apache-2.0
"""Faults of single efforts that are seen without a model: spikes, saturation, dead channels."""

from __future__ import annotations

import numpy as np

from sysid_core.judgement import Judgement
from sysid_core.signals import JointStream

_SPIKE = 8.0  # times the span of 98 % of the samples
_STUCK_SHARE = 0.02  # of the samples at one extreme value, exactly
_SPOILT_SHARE = 0.05  # the same, too many for a fit
_MOVED = 0.05  # [rad or m]


def effort_faults(stream: JointStream) -> Judgement:
    """Efforts that can't be right, with remedies: dead and saturated ones fail, spikes warn.

    Args:
        stream: Joint states with efforts; without, nothing is found.
    """
    if stream.effort is None or len(stream) < 50:
        return Judgement()
    failures: list[str] = []
    warnings: list[str] = []
    for j, name in enumerate(stream.names):
        effort, moved = stream.effort[:, j], float(np.ptp(stream.q[:, j])) > _MOVED
        low, middle, high = np.percentile(effort, [1.0, 50.0, 99.0])
        span = max(float(high - low), 1e-300)
        if np.ptp(effort) == 0.0:
            if moved and effort[0] != 0.0:
                failures.append(
                    f"The effort of '{name}' is constant at {effort[0]:.4g} while the joint moves:"
                    " the channel is dead. Record it again, or leave it unused."
                )
            continue
        far = np.abs(effort - middle) > _SPIKE * span
        if np.any(far):
            k = int(np.argmax(np.abs(effort - middle)))
            warnings.append(
                f"{int(np.sum(far))} efforts of '{name}' are spikes: {effort[k]:.4g} at"
                f" {stream.time[k]:.2f} s, where 98 % lie in {low:.4g} to {high:.4g}. Remove these"
                " samples, or use --method irls, which leaves them out."
            )
            continue
        for extreme in (effort.min(), effort.max()):
            at = effort == extreme
            # A drive at its limit stays there for several samples in a row.
            runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], at.view(np.int8), [0]]))))
            longest = int(np.max(runs[::2], initial=0))
            values = len(np.unique(effort))
            if moved and np.mean(at) > _STUCK_SHARE and longest > 5 and values > 0.1 * len(effort):
                (failures if np.mean(at) > _SPOILT_SHARE else warnings).append(
                    f"The effort of '{name}' is at {extreme:.4g} in {100 * np.mean(at):.0f} % of the"
                    " samples: the drive or the measurement is saturated. Move more slowly."
                )
    return Judgement(tuple(failures), tuple(warnings))
