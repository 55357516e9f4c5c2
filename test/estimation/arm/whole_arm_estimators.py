# SPDX-License-Identifier: Apache-2.0
"""Estimators of a whole arm, and the processing of its simulated recordings."""

from __future__ import annotations

import numpy as np
from whole_arm_simulation import (
    motion,
)

from sysid_core.estimation.arm import (
    Processing,
)
from sysid_core.estimation.fit import (
    ConsistentLeastSquares,
    LeastSquares,
)

# Wide cut-offs: the simulated motion has nothing above 1 Hz, and steps of Coulomb friction.
WIDE = Processing(rate_hz=200.0, motion_cutoff_hz=30.0, torque_cutoff_hz=8.0)
ESTIMATORS = {
    "ols": lambda: LeastSquares("none"),
    "wls": lambda: LeastSquares("joint"),
    "irls": lambda: LeastSquares("robust"),
    "lmi": lambda: ConsistentLeastSquares("quadratic"),
    "lmi-robust": lambda: ConsistentLeastSquares("quadratic", weighting="robust"),
    "entropic": lambda: ConsistentLeastSquares("entropic"),
}
PHYSICAL = [name for name in ESTIMATORS if name.startswith(("lmi", "entropic"))]


def held_out_error(identification, truth, values, seed: int = 99) -> float:
    _, q, v, a = motion(np.random.default_rng(seed), 10.0, 50.0)
    rigid = truth.inverse_dynamics(q, v, a)
    tau = rigid + identification.friction.regressor(q, v, a, rigid) @ values
    return float(np.linalg.norm(identification.torques(q, v, a) - tau) / np.linalg.norm(tau))
