"""What can be identified at all."""

from sysid_core.identifiability.base_parameters import BaseParameters
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
from sysid_core.identifiability.driving_axes import DrivingAxisChain
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

__all__ = [
    "BaseParameters",
    "DrivingAxisChain",
    "MinimalConstants",
    "NumericalRank",
    "Visibility",
    "base_parameters_of_robot",
    "check_postures",
    "composite_inverse_dynamics",
    "direction_in_body",
    "gravity_torque",
    "inertia_matrix",
    "minimal_constants",
    "numerical_rank",
    "random_states",
    "sampled_base_parameters",
    "single_joint_rows",
    "varying_parts",
    "visible_constants",
]
