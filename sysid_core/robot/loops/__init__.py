# SPDX-License-Identifier: Apache-2.0
"""Closed chains: mechanism, assembly, motion, torques, and their regressors."""

from sysid_core.robot.loops.chain import ClosedChain, ConstrainedMotion
from sysid_core.robot.loops.driven import DrivenRobot
from sysid_core.robot.loops.file import LoopsFile, load_closed_chain
from sysid_core.robot.loops.mechanism import (
    Coupling,
    JointDrive,
    Loop,
    LoopEnd,
    LoopKind,
    MotionBox,
)

__all__ = [
    "ClosedChain",
    "ConstrainedMotion",
    "Coupling",
    "DrivenRobot",
    "JointDrive",
    "Loop",
    "LoopEnd",
    "LoopKind",
    "LoopsFile",
    "MotionBox",
    "load_closed_chain",
]
