# SPDX-License-Identifier: Apache-2.0
"""Identification of open and closed chains: from recordings to an identified robot."""

from sysid_core.estimation.arm.block_scores import (
    ENOUGH,
    NO_PRIOR,
    PredictionSpread,
    choose_prior_weight,
    lowered_prior_weight,
    prediction_spread,
)
from sysid_core.estimation.arm.choices import (
    choose_differentiation,
    choose_motion_cutoff,
    choose_terms,
    term_benefits,
)
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identify import (
    Identification,
    identify,
    identify_equations,
    load_identification,
    save_identification,
    with_provenance,
)
from sysid_core.estimation.arm.recordings import (
    Differentiation,
    Processing,
    driven_joints,
    predicted_efforts,
    prepare,
    prepare_motion,
)
from sysid_core.estimation.arm.spans import Estimator, filled, full_parameters
from sysid_core.estimation.arm.torque_delay import (
    ArmLags,
    JointDelay,
    TorqueDelay,
    torque_delay,
    torque_lags,
)

__all__ = [
    "ENOUGH",
    "NO_PRIOR",
    "ArmEquations",
    "ArmLags",
    "Differentiation",
    "Estimator",
    "Identification",
    "JointDelay",
    "PredictionSpread",
    "Processing",
    "TorqueDelay",
    "choose_differentiation",
    "choose_motion_cutoff",
    "choose_prior_weight",
    "choose_terms",
    "driven_joints",
    "filled",
    "full_parameters",
    "identify",
    "identify_equations",
    "load_identification",
    "lowered_prior_weight",
    "predicted_efforts",
    "prediction_spread",
    "prepare",
    "prepare_motion",
    "save_identification",
    "term_benefits",
    "torque_delay",
    "torque_lags",
    "with_provenance",
]
