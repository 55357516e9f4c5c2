# SPDX-License-Identifier: Apache-2.0
"""Exciting motions of closed chains."""

from sysid_core.planning.closed_chain.box import AssemblyMap, motion_box, reach_alone
from sysid_core.planning.closed_chain.motion import of_all_joints, plan_loop_motion
from sysid_core.planning.closed_chain.plan import (
    LoopExcitation,
    plan_loop_excitation,
)

__all__ = [
    "AssemblyMap",
    "LoopExcitation",
    "motion_box",
    "of_all_joints",
    "plan_loop_excitation",
    "plan_loop_motion",
    "reach_alone",
]
