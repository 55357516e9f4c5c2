# SPDX-License-Identifier: Apache-2.0
"""Validation of estimates on held-out data."""

from sysid_core.validation.metrics import payload_errors
from sysid_core.validation.prediction import Prediction, predict_recording
from sysid_core.validation.residual_torques import ResidualTorques
from sysid_core.validation.verdict import (
    judge_estimate,
    judge_identification,
    judge_predictions,
    unexplained,
)

__all__ = [
    "Prediction",
    "ResidualTorques",
    "judge_estimate",
    "judge_identification",
    "judge_predictions",
    "payload_errors",
    "predict_recording",
    "unexplained",
]
