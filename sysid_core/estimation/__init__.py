# SPDX-License-Identifier: Apache-2.0
"""Estimators: configuration in the constructor, data in `fit`, an `Estimate` as the result."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.estimation.estimate import Estimate, ParameterVerdict
    from sysid_core.estimation.estimate_difference import EstimateDifference

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "Estimate",
    "EstimateDifference",
    "ParameterVerdict",
]
