"""Motions designed by what they will tell: unknowns, criteria, problem and search."""

from sysid_core.excitation.design.criteria import ExcitationCriterion, ExcitationQuality
from sysid_core.excitation.design.excitation_problem import ExcitationProblem
from sysid_core.excitation.design.optimise import ArmPlan, plan_arm_motion

__all__ = [
    "ArmPlan",
    "ExcitationCriterion",
    "ExcitationProblem",
    "ExcitationQuality",
    "plan_arm_motion",
]
