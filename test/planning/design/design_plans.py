# SPDX-License-Identifier: Apache-2.0
"""A quick plan's settings, and its motion."""

from __future__ import annotations

import numpy as np

from sysid_core.planning import (
    ArmPlan,
)

QUICK = {"period": 6.0, "n_harmonics": 6, "n_candidates": 4, "n_starts": 2, "n_iterations": 30}


def motion(plan: ArmPlan) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    time = np.arange(200) * plan.basis.period / 200
    return plan.basis.motion(time, plan.centre, plan.coefficients)
