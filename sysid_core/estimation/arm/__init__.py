# SPDX-License-Identifier: Apache-2.0
"""Open chains: from recordings to an identified arm."""

from sysid_core.estimation.arm.equations import ArmEquations, arm_structural_rows
from sysid_core.estimation.arm.identification_file import load_identification, save_identification
from sysid_core.estimation.arm.identify import (
    Estimator,
    Identification,
    full_parameters,
    identify,
    identify_equations,
    with_provenance,
)
from sysid_core.estimation.arm.model_choice import (
    choose_differentiation,
    choose_motion_cutoff,
    choose_prior_weight,
    choose_terms,
    term_benefits,
)
from sysid_core.estimation.arm.prediction_spread import (
    NO_PRIOR,
    PredictionSpread,
    prediction_spread,
)
from sysid_core.estimation.arm.recordings import (
    Differentiation,
    Processing,
    filled,
    prepare,
    prepare_motion,
    require_finite,
    require_torques,
    shifted,
)
from sysid_core.estimation.arm.torque_delay import TorqueDelay, torque_delay

__all__ = [
    "NO_PRIOR",
    "ArmEquations",
    "Differentiation",
    "Estimator",
    "Identification",
    "PredictionSpread",
    "Processing",
    "TorqueDelay",
    "arm_structural_rows",
    "choose_differentiation",
    "choose_motion_cutoff",
    "choose_prior_weight",
    "choose_terms",
    "filled",
    "full_parameters",
    "identify",
    "identify_equations",
    "load_identification",
    "prediction_spread",
    "prepare",
    "prepare_motion",
    "require_finite",
    "require_torques",
    "save_identification",
    "shifted",
    "term_benefits",
    "torque_delay",
    "with_provenance",
]
