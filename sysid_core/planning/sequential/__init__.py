# SPDX-License-Identifier: Apache-2.0
"""Planning of motions of one joint at a time."""

from sysid_core.planning.sequential.plan import SequentialPlan, plan_sequential

__all__ = [
    "SequentialPlan",
    "plan_sequential",
]
