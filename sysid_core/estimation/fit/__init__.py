# SPDX-License-Identifier: Apache-2.0
"""Numerical core of the fits: regressions, least squares, physical consistency, uncertainty."""

from sysid_core.estimation.fit.compressed import compress
from sysid_core.estimation.fit.consistent_least_squares import ConsistentLeastSquares
from sysid_core.estimation.fit.correlated_residuals import (
    autocovariance,
    correlation_lag,
    score_covariance,
    span_slices,
)
from sysid_core.estimation.fit.least_squares import LeastSquares, combinations_of
from sysid_core.estimation.fit.model_error import BLOCKS, scatter_factors
from sysid_core.estimation.fit.natural_scale import (
    friction_scale,
    friction_scale_from_squares,
)
from sysid_core.estimation.fit.pseudo_inertia_lmi import nearest_consistent
from sysid_core.estimation.fit.regression import Regression
from sysid_core.estimation.fit.spd import inverse, root, symmetric
from sysid_core.estimation.fit.unmeasured_efforts import (
    refuse_unmeasured,
    unmeasured_joints,
    unmeasured_notes,
)
from sysid_core.estimation.fit.weighting import Weighting

__all__ = [
    "BLOCKS",
    "ConsistentLeastSquares",
    "LeastSquares",
    "Regression",
    "Weighting",
    "autocovariance",
    "combinations_of",
    "compress",
    "correlation_lag",
    "friction_scale",
    "friction_scale_from_squares",
    "inverse",
    "nearest_consistent",
    "refuse_unmeasured",
    "root",
    "scatter_factors",
    "score_covariance",
    "span_slices",
    "symmetric",
    "unmeasured_joints",
    "unmeasured_notes",
]
