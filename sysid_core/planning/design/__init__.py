# SPDX-License-Identifier: Apache-2.0
"""Optimal design of motions by their expected covariance: unknowns, criteria, problem and search."""

from sysid_core.planning.design.criteria import Conditioning, conditioning
from sysid_core.planning.design.expectation import Expectation
from sysid_core.planning.design.explore import Ending, Explorer, Goal
from sysid_core.planning.design.feasible import all_in_contact
from sysid_core.planning.design.plan import ArmPlan, plan_arm_motion
from sysid_core.planning.design.servo_motion import plan_servo_motion
from sysid_core.planning.design.unknowns import Unknowns
from sysid_core.planning.design.validation_motion import plan_validation_motion

__all__ = [
    "ArmPlan",
    "Conditioning",
    "Ending",
    "Expectation",
    "Explorer",
    "Goal",
    "Unknowns",
    "all_in_contact",
    "conditioning",
    "plan_arm_motion",
    "plan_servo_motion",
    "plan_validation_motion",
]
