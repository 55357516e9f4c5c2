# SPDX-License-Identifier: Apache-2.0
"""Motions designed by what they will show: unknowns, criteria, problem and search."""

from sysid_core.planning.design.bspline import BSplineBasis
from sysid_core.planning.design.criteria import Conditioning, Criterion, build_score, conditioning
from sysid_core.planning.design.excitation_problem import ExcitationProblem
from sysid_core.planning.design.expectation import Expectation
from sysid_core.planning.design.explore import Ending, Explorer, Goal
from sysid_core.planning.design.feasible import all_in_contact
from sysid_core.planning.design.plan import ArmPlan, plan_arm_motion
from sysid_core.planning.design.tree_motion import Tree
from sysid_core.planning.design.unknowns import Unknowns
from sysid_core.planning.design.validation_motion import nearness, plan_validation_motion

__all__ = [
    "ArmPlan",
    "BSplineBasis",
    "Conditioning",
    "Criterion",
    "Ending",
    "ExcitationProblem",
    "Expectation",
    "Explorer",
    "Goal",
    "Tree",
    "Unknowns",
    "all_in_contact",
    "build_score",
    "conditioning",
    "nearness",
    "plan_arm_motion",
    "plan_validation_motion",
]
