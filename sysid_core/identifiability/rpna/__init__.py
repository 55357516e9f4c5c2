# SPDX-License-Identifier: Apache-2.0
"""Structural identifiability by the recursive parameter nullspace algorithm (Wensing et al.)."""

from sysid_core.identifiability.rpna.answer import Identifiability
from sysid_core.identifiability.rpna.regrouping import combination_text
from sysid_core.identifiability.rpna.structural import structural_identifiability

__all__ = [
    "Identifiability",
    "combination_text",
    "structural_identifiability",
]
