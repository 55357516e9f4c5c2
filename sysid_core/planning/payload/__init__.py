# SPDX-License-Identifier: Apache-2.0
"""Planning of exciting motions for a payload."""

from sysid_core.planning.payload.motion import WristSwing
from sysid_core.planning.payload.plan import WRENCH_NOISE, plan_payload_motion

__all__ = ["WRENCH_NOISE", "WristSwing", "plan_payload_motion"]
