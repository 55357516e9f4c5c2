# SPDX-License-Identifier: Apache-2.0
"""Identification of open and closed chains: from recordings to an identified robot."""

from sysid_core.estimation.arm.block_scores import ENOUGH
from sysid_core.estimation.arm.delay_step import JointDelay, TorqueDelay
from sysid_core.estimation.arm.equations import ArmEquations
from sysid_core.estimation.arm.identification_file import load_identification, save_identification
from sysid_core.estimation.arm.identify import (
    Identification,
    identify,
    identify_equations,
    with_provenance,
)
from sysid_core.estimation.arm.model_choice import choose_terms, term_benefits
from sysid_core.estimation.arm.motion_choice import choose_differentiation, choose_motion_cutoff
from sysid_core.estimation.arm.prediction_spread import (
    NO_PRIOR,
    PredictionSpread,
    prediction_spread,
)
from sysid_core.estimation.arm.prior_weight import choose_prior_weight, lowered_prior_weight
from sysid_core.estimation.arm.recordings import (
    Differentiation,
    Processing,
    driven_joints,
    predicted_efforts,
    prepare,
    prepare_motion,
)
from sysid_core.estimation.arm.spans import (
    Estimator,
    filled,
    full_parameters,
    require_finite,
    require_torques,
)
from sysid_core.estimation.arm.structure import arm_structural_rows
from sysid_core.estimation.arm.torque_delay import ArmLags, torque_delay, torque_lags

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
    "arm_structural_rows",
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
    "require_finite",
    "require_torques",
    "save_identification",
    "term_benefits",
    "torque_delay",
    "torque_lags",
    "with_provenance",
]
