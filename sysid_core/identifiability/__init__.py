# SPDX-License-Identifier: Apache-2.0
"""Structural and practical identifiability of parameters."""

from sysid_core.identifiability.base_parameters import BaseParameters, NumericalRank
from sysid_core.identifiability.constrained import ConstrainedRanks
from sysid_core.identifiability.excitation import Excitation

__all__ = [
    "BaseParameters",
    "ConstrainedRanks",
    "Excitation",
    "NumericalRank",
]
