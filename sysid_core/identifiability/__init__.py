# SPDX-License-Identifier: Apache-2.0
"""Structural and practical identifiability of parameters."""

from sysid_core.identifiability.base_parameters import BaseParameters, NumericalRank, random_states
from sysid_core.identifiability.constrained import ConstrainedRanks
from sysid_core.identifiability.excitation import Excitation, condition_number

__all__ = [
    "BaseParameters",
    "ConstrainedRanks",
    "Excitation",
    "NumericalRank",
    "condition_number",
    "random_states",
]
