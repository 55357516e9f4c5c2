# SPDX-License-Identifier: Apache-2.0
"""Estimators: configuration in the constructor, data in `fit`, an `Estimate` as the result."""

from sysid_core.estimation.difference import EstimateDifference, difference, measured_part
from sysid_core.estimation.estimate import Estimate, ParameterVerdict, residual_statistics

__all__ = [
    "Estimate",
    "EstimateDifference",
    "ParameterVerdict",
    "difference",
    "measured_part",
    "residual_statistics",
]
