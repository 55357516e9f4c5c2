"""Fitting core: regressions, least squares, the physically consistent program, uncertainty."""

from sysid_core.estimation.fit.consistent_least_squares import ConsistentLeastSquares
from sysid_core.estimation.fit.consistent_problem import Consistency, Prior, consistent_fit
from sysid_core.estimation.fit.correlated_residuals import (
    autocovariance,
    correlation_lag,
    score_covariance,
    span_slices,
)
from sysid_core.estimation.fit.least_squares import LeastSquares, Weighting
from sysid_core.estimation.fit.natural_scale import friction_scale, inertial_scale
from sysid_core.estimation.fit.nearest_consistent import nearest_consistent
from sysid_core.estimation.fit.pseudo_inertia_lmi import pseudo_inertia_expression, solve_convex
from sysid_core.estimation.fit.regression import Regression, compress, solve_compressed
from sysid_core.estimation.fit.spd import inverse, root, symmetric
from sysid_core.estimation.fit.unmeasured_efforts import (
    refuse_unmeasured,
    unmeasured_joints,
    unmeasured_notes,
)

__all__ = [
    "Consistency",
    "ConsistentLeastSquares",
    "LeastSquares",
    "Prior",
    "Regression",
    "Weighting",
    "autocovariance",
    "compress",
    "consistent_fit",
    "correlation_lag",
    "friction_scale",
    "inertial_scale",
    "inverse",
    "nearest_consistent",
    "pseudo_inertia_expression",
    "refuse_unmeasured",
    "root",
    "score_covariance",
    "solve_compressed",
    "solve_convex",
    "span_slices",
    "symmetric",
    "unmeasured_joints",
    "unmeasured_notes",
]
