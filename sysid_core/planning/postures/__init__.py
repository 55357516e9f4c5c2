# SPDX-License-Identifier: Apache-2.0
"""Planning of motions from posture to posture, at rest in each."""

from sysid_core.planning.postures.plan import plan_static_postures, plan_through

__all__ = [
    "plan_static_postures",
    "plan_through",
]
