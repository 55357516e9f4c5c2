# SPDX-License-Identifier: Apache-2.0
"""Closed chains (Zhang et al. 2024): recordings, projected equations, identification."""

from sysid_core.estimation.closed_chain.equations import ConstrainedEquations
from sysid_core.estimation.closed_chain.identify import (
    identified_chain,
    identify_constrained,
    identify_constrained_equations,
)
from sysid_core.estimation.closed_chain.recordings import ConstrainedProcessing, read_loop_bag

__all__ = [
    "ConstrainedEquations",
    "ConstrainedProcessing",
    "identified_chain",
    "identify_constrained",
    "identify_constrained_equations",
    "read_loop_bag",
]
