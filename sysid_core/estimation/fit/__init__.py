"""Fitting core: regressions, least squares, the physically consistent program, uncertainty."""

from sysid_core.estimation.fit.consistent_least_squares import PhysicalArm
from sysid_core.estimation.fit.consistent_problem import Consistency, Prior, consistent_fit
from sysid_core.estimation.fit.correlated_residuals import (
    autocovariance,
    correlated_information,
    correlation_lag,
    stretches,
)
from sysid_core.estimation.fit.least_squares import LeastSquares, Weighting
from sysid_core.estimation.fit.natural_scale import friction_scale, inertial_scale
from sysid_core.estimation.fit.nearest_consistent import nearest_consistent
from sysid_core.estimation.fit.pseudo_inertia_lmi import pseudo_inertia_expression, solve_convex
from sysid_core.estimation.fit.regression import Regression, compress, solve_compressed
from sysid_core.estimation.fit.spd import inverse, root, symmetric
from sysid_core.estimation.fit.unmeasured_efforts import refuse_silence, silent_joints, silent_notes

__all__ = [
    "Consistency",
    "LeastSquares",
    "PhysicalArm",
    "Prior",
    "Regression",
    "Weighting",
    "autocovariance",
    "compress",
    "consistent_fit",
    "correlated_information",
    "correlation_lag",
    "friction_scale",
    "inertial_scale",
    "inverse",
    "nearest_consistent",
    "pseudo_inertia_expression",
    "refuse_silence",
    "root",
    "silent_joints",
    "silent_notes",
    "solve_compressed",
    "solve_convex",
    "stretches",
    "symmetric",
]
