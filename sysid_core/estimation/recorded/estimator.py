# SPDX-License-Identifier: Apache-2.0
"""What all whole-robot estimators offer, and all parameters from what they return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.fit import Regression
from sysid_core.robot import Array


class Estimator(Protocol):
    """What all whole-robot estimators offer: configuration in the constructor, data in `fit`."""

    fixed: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the result is signed with."""
        ...

    def fit(self, regression: Regression) -> Estimate:
        """Estimate the parameters of the measurement equations."""
        ...


def full_parameters(regression: Regression, estimate: Estimate, fixed: Sequence[str]) -> Array:
    """All parameters from an estimate of base or of full ones, closest to the prior, (p,)."""
    if estimate.names == regression.names:
        return estimate.values
    free = regression.free_columns(fixed)
    base = regression.base_of(free)
    # Closest in natural units: a gram is no kilogram.
    s = regression.prior_sd[free]
    step = np.linalg.pinv(base.regrouping * s) @ (
        estimate.values - base.base_values(regression.prior[free])
    )
    out = regression.prior.copy()
    out[free] += s * step
    return out
