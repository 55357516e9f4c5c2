# SPDX-License-Identifier: Apache-2.0
"""Numerical core of the fits: regressions, least squares, physical consistency, uncertainty."""

from sysid_core.estimation.fit.least_squares import ConsistentLeastSquares, LeastSquares
from sysid_core.estimation.fit.own_method import OwnMethod, nearest_consistent
from sysid_core.estimation.fit.regression import Regression
from sysid_core.estimation.fit.weighting import Weighting

__all__ = [
    "ConsistentLeastSquares",
    "LeastSquares",
    "OwnMethod",
    "Regression",
    "Weighting",
    "nearest_consistent",
]
