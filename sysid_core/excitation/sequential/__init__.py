# SPDX-License-Identifier: Apache-2.0
"""Motions of one joint at a time."""

from sysid_core.excitation.sequential.plan import plan_sequential

__all__ = [
    "plan_sequential",
]
