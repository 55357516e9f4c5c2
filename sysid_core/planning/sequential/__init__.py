# SPDX-License-Identifier: Apache-2.0
"""Planning of motions of one joint at a time."""

from sysid_core.planning.sequential.plan import SequentialPlan

__all__ = [
    "SequentialPlan",
]
