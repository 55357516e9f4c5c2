# SPDX-License-Identifier: Apache-2.0
"""Detection of repeated motion: periods of a Fourier series, or one trajectory played several
times.

What a model lacks is a function of the motion and comes back with it. Blocks of time that are to
disagree where the model is wrong must not hold the same motion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from sysid_core.robot import Array
from sysid_core.signals import JointStream

_STEP = 0.1  # [s] between the states that are compared
_MOST = 4000  # states
_ALIKE = 0.25  # root mean square distance of states, in standard deviations of each coordinate
_LATER = 1.0  # [s]: neighbours in time are alike anyway


def first_times(motions: Sequence[JointStream]) -> tuple[Array, ...]:
    """Times at which the motion of each sample first occurred, for each motion, (K_i,) [s].

    Args:
        motions: Gapless motions with velocities.
    """
    starts = np.cumsum([0.0] + [float(m.time[-1]) for m in motions[:-1]])
    step = max(_STEP, sum(float(m.time[-1]) for m in motions) / _MOST)
    states, times = [], []
    for motion, start in zip(motions, starts, strict=True):
        v = np.zeros_like(motion.q) if motion.v is None else motion.v
        rows = np.unique(np.searchsorted(motion.time, np.arange(0.0, motion.time[-1], step)))
        rows = rows[rows < len(motion.time)]
        states.append(np.column_stack([motion.q, v])[rows])
        times.append(start + motion.time[rows])
    grid, first = np.concatenate(times), np.concatenate(times)
    X = np.concatenate(states)
    X = X / np.maximum(np.std(X, axis=0), 1e-3)
    near = cKDTree(X).query_ball_point(X, _ALIKE * np.sqrt(X.shape[1]))
    earliest = grid[[min(found) for found in near]]
    again = grid - earliest > _LATER
    first[again] = earliest[again]
    out = []
    for motion, start in zip(motions, starts, strict=True):
        time = start + motion.time
        at = np.clip(np.searchsorted(grid, time, side="right") - 1, 0, len(grid) - 1)
        out.append(first[at] + (time - grid[at]))
    return tuple(out)
