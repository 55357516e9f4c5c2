# SPDX-License-Identifier: Apache-2.0
"""Motions of one joint at a time."""

from sysid_core.planning.sequential.plan import SequentialPlan, plan_sequential

__all__ = [
    "SequentialPlan",
    "plan_sequential",
]
