"""What can be identified at all."""

from sysid_core.identifiability.base_parameters import BaseParameters
from sysid_core.identifiability.sampled import (
    NumericalRank,
    base_parameters_of_robot,
    numerical_rank,
    random_states,
    sampled_base_parameters,
)

__all__ = [
    "BaseParameters",
    "NumericalRank",
    "base_parameters_of_robot",
    "numerical_rank",
    "random_states",
    "sampled_base_parameters",
]
