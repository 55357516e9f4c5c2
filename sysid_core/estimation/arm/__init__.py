# SPDX-License-Identifier: Apache-2.0
"""Identification of open and closed chains: from recordings to an identified robot."""

from sysid_core.estimation.arm.block_scores import (
    PredictionSpread,
)
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import Identification
from sysid_core.estimation.arm.recordings import Processing
from sysid_core.estimation.arm.spans import Estimator
from sysid_core.estimation.arm.torque_delay import ArmLags, JointDelay, TorqueDelay

__all__ = [
    "ArmEquations",
    "ArmLags",
    "Estimator",
    "Identification",
    "JointDelay",
    "PredictionSpread",
    "Processing",
    "TorqueDelay",
]
