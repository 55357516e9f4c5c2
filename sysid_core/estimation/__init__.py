"""Estimators: configuration in the constructor, data in `fit`, an `Estimate` out."""

from sysid_core.estimation.estimate import Estimate, Verdict, residual_statistics
from sysid_core.estimation.online import OnlinePayload, PayloadState
from sysid_core.estimation.payload import (
    PAYLOAD_NAMES,
    PayloadData,
    PayloadInformation,
    PayloadSummary,
    dynamism,
    summarise_payload,
)
from sysid_core.estimation.point_mass import PointMassDiscretization, shape_covariance

__all__ = [
    "PAYLOAD_NAMES",
    "Estimate",
    "OnlinePayload",
    "PayloadData",
    "PayloadInformation",
    "PayloadState",
    "PayloadSummary",
    "PointMassDiscretization",
    "Verdict",
    "dynamism",
    "residual_statistics",
    "shape_covariance",
    "summarise_payload",
]
