# SPDX-License-Identifier: Apache-2.0
"""Structural and practical identifiability of parameters."""

from sysid_core.identifiability.base_parameters import (
    BaseParameters,
    numerical_rank,
    random_states,
    sampled_base_parameters,
)
from sysid_core.identifiability.constrained import ConstrainedRanks, constrained_ranks
from sysid_core.identifiability.excitation import Excitation, condition_number, measure_excitation

__all__ = [
    "BaseParameters",
    "ConstrainedRanks",
    "Excitation",
    "condition_number",
    "constrained_ranks",
    "measure_excitation",
    "numerical_rank",
    "random_states",
    "sampled_base_parameters",
]
