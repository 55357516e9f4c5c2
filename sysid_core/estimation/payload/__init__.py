# SPDX-License-Identifier: Apache-2.0
"""Payload estimators for wrench data: Nadeau et al. (2022) and the methods that they compare with."""

from sysid_core.estimation.payload.affine import affine_derivatives
from sysid_core.estimation.payload.ball_prior import (
    BALL_SPREAD,
    BALLS,
    MIN_MASS,
    ball_prior,
    conditioned,
    nearest_body,
    probabilities,
)
from sysid_core.estimation.payload.consistent import PayloadLMI
from sysid_core.estimation.payload.data import CompressedWrenches, PayloadData
from sysid_core.estimation.payload.density_prior import DensityPrior
from sysid_core.estimation.payload.entropic import EntropicRegression
from sysid_core.estimation.payload.homogeneous import HomogeneousBody
from sysid_core.estimation.payload.ordinary import PayloadOLS
from sysid_core.estimation.payload.point_mass import PointMassDiscretization
from sysid_core.estimation.payload.result import (
    PAYLOAD_NAMES,
    PayloadSummary,
    payload_estimate,
    summarise_payload,
    verdicts_from_prior,
)
from sysid_core.estimation.payload.shape_prior import (
    CONTRASTS,
    EXTENT,
    MASS_SPREAD,
    PayloadPosterior,
    ShapePrior,
)
from sysid_core.estimation.payload.total_least_squares import RecursiveTotalLeastSquares
from sysid_core.estimation.payload.wrench_estimator import WrenchEstimator

__all__ = [
    "BALLS",
    "BALL_SPREAD",
    "CONTRASTS",
    "EXTENT",
    "MASS_SPREAD",
    "MIN_MASS",
    "PAYLOAD_NAMES",
    "CompressedWrenches",
    "DensityPrior",
    "EntropicRegression",
    "HomogeneousBody",
    "PayloadData",
    "PayloadLMI",
    "PayloadOLS",
    "PayloadPosterior",
    "PayloadSummary",
    "PointMassDiscretization",
    "RecursiveTotalLeastSquares",
    "ShapePrior",
    "WrenchEstimator",
    "affine_derivatives",
    "ball_prior",
    "conditioned",
    "nearest_body",
    "payload_estimate",
    "probabilities",
    "summarise_payload",
    "verdicts_from_prior",
]
