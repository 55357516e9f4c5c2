# SPDX-License-Identifier: Apache-2.0
"""Validation of estimates on held-out data."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.validation.prediction import Prediction, ResidualTorques
    from sysid_core.validation.verdict import (
        judge_estimate,
        judge_identification,
        judge_predictions,
    )

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "Prediction",
    "ResidualTorques",
    "judge_estimate",
    "judge_identification",
    "judge_predictions",
]
