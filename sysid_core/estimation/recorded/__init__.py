# SPDX-License-Identifier: Apache-2.0
"""From recordings to estimates: what open and closed chains share."""

from sysid_core.estimation.recorded.equations import (
    ChainEquations,
    FrictionColumns,
    chain_regression,
)
from sysid_core.estimation.recorded.processing import (
    Estimator,
    Span,
    TorqueProcessing,
    filled,
    full_parameters,
    require_finite,
    require_recordings,
    require_torques,
    shifted,
)
from sysid_core.estimation.recorded.torque_delay import (
    JointDelay,
    TorqueDelay,
    delay_step,
    joint_delays,
    settled_delay,
)

__all__ = [
    "ChainEquations",
    "Estimator",
    "FrictionColumns",
    "JointDelay",
    "Span",
    "TorqueDelay",
    "TorqueProcessing",
    "chain_regression",
    "delay_step",
    "filled",
    "full_parameters",
    "joint_delays",
    "require_finite",
    "require_recordings",
    "require_torques",
    "settled_delay",
    "shifted",
]
