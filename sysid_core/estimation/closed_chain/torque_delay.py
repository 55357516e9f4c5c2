# SPDX-License-Identifier: Apache-2.0
r"""How late the torques of a closed chain were reported, from the torques themselves.

To first order `e(t) = u(t - d) = u - d u̇` for reported torques e. The rate u̇ is that of the fitted
torques: measured ones bring their noise into it, and a noisy regressor makes d too small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.interpolate import make_interp_spline

from sysid_core.estimation.closed_chain.filtered import FilteredSpan
from sysid_core.estimation.fit import Regression
from sysid_core.estimation.recorded import TorqueDelay, delay_step, settled_delay
from sysid_core.robot import Array


def constrained_delay(
    regression: Regression,
    parts: Sequence[FilteredSpan],
    torque_without: Callable[[float], Array],
    rounds: int,
) -> TorqueDelay:
    """Delay of the torques behind the motion.

    Args:
        regression: Equations with the torques as they were reported.
        parts: The spans that they were made of, K samples together.
        torque_without: From a delay [s] to the filtered torques with it taken out, (K, n_a) [N m].
        rounds: Most Gauss-Newton steps; each takes out what first order left.
    """
    reported = torque_without(0.0)
    used = np.ones(reported.shape, dtype=bool) if regression.used is None else regression.used

    def minus_rate(values: Array) -> Array:
        return -np.concatenate([_rate(part.time, part.known + part.W @ values) for part in parts])

    def step(delay: float) -> tuple[float, float]:
        moved = np.where(used, torque_without(delay) - reported, 0.0)
        return delay_step(replace(regression, tau=regression.tau + moved), minus_rate)

    return settled_delay(step, 0.0, rounds)


def _rate(time: Array, u: Array) -> Array:
    if len(time) < 6:  # a piece that hardly outlasts the filter says nothing of the delay
        return np.zeros_like(u)
    return np.asarray(make_interp_spline(time, u, k=5).derivative()(time))
