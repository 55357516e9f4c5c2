"""What can be identified at all."""

from sysid_core.identifiability.answer import (
    BodyIdentifiability,
    Identifiability,
    ParameterVerdict,
    Verdict,
)
from sysid_core.identifiability.backward_recursion import (
    CLEAR,
    BackwardSolution,
    Step,
    StepRows,
    solve_backward,
)
from sysid_core.identifiability.base_parameters import BaseParameters
from sysid_core.identifiability.certificate import ExcitationCertificate, certify_excitation
from sysid_core.identifiability.composite_body import (
    MinimalConstants,
    direction_in_body,
    minimal_constants,
)
from sysid_core.identifiability.composite_dynamics import (
    composite_inverse_dynamics,
    gravity_torque,
    inertia_matrix,
    varying_parts,
)
from sysid_core.identifiability.constrained import ConstrainedRanks, constrained_ranks
from sysid_core.identifiability.driving_axes import DrivingAxisChain
from sysid_core.identifiability.mimic import MimicJoint, coupling_matrix, mimic_joints
from sysid_core.identifiability.regrouping import Regrouping, Transfer, combination_text
from sysid_core.identifiability.rounded_angles import exact_angle, with_exact_angles
from sysid_core.identifiability.sampled import (
    NumericalRank,
    base_parameters_of_robot,
    numerical_rank,
    random_states,
    sampled_base_parameters,
)
from sysid_core.identifiability.single_joint import (
    Visibility,
    check_postures,
    single_joint_rows,
    visible_constants,
)
from sysid_core.identifiability.stages import Mimic
from sysid_core.identifiability.structural import structural_identifiability

__all__ = [
    "CLEAR",
    "BackwardSolution",
    "BaseParameters",
    "BodyIdentifiability",
    "ConstrainedRanks",
    "DrivingAxisChain",
    "ExcitationCertificate",
    "Identifiability",
    "Mimic",
    "MimicJoint",
    "MinimalConstants",
    "NumericalRank",
    "ParameterVerdict",
    "Regrouping",
    "Step",
    "StepRows",
    "Transfer",
    "Verdict",
    "Visibility",
    "base_parameters_of_robot",
    "certify_excitation",
    "check_postures",
    "combination_text",
    "composite_inverse_dynamics",
    "constrained_ranks",
    "coupling_matrix",
    "direction_in_body",
    "exact_angle",
    "gravity_torque",
    "inertia_matrix",
    "mimic_joints",
    "minimal_constants",
    "numerical_rank",
    "random_states",
    "sampled_base_parameters",
    "single_joint_rows",
    "solve_backward",
    "structural_identifiability",
    "varying_parts",
    "visible_constants",
    "with_exact_angles",
]
