# SPDX-License-Identifier: Apache-2.0
"""Exciting motions of closed chains."""

from sysid_core.planning.closed_chain.box import AssemblyMap
from sysid_core.planning.closed_chain.motion import plan_loop_motion
from sysid_core.planning.closed_chain.plan import LoopExcitation

__all__ = [
    "AssemblyMap",
    "LoopExcitation",
    "plan_loop_motion",
]
