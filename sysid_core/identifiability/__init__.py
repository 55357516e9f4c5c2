# SPDX-License-Identifier: Apache-2.0
"""What can be identified at all."""

from sysid_core.identifiability.base_parameters import BaseParameters
from sysid_core.identifiability.certificate import ExcitationCertificate, certify_excitation
from sysid_core.identifiability.constrained import ConstrainedRanks, constrained_ranks
from sysid_core.identifiability.sampled import (
    base_parameters_of_robot,
    numerical_rank,
    random_states,
    sampled_base_parameters,
)
from sysid_core.identifiability.shown_directions import (
    EXCITED,
    ShownDirections,
    shown_directions,
)

__all__ = [
    "EXCITED",
    "BaseParameters",
    "ConstrainedRanks",
    "ExcitationCertificate",
    "ShownDirections",
    "base_parameters_of_robot",
    "certify_excitation",
    "constrained_ranks",
    "numerical_rank",
    "random_states",
    "sampled_base_parameters",
    "shown_directions",
]
