# SPDX-License-Identifier: Apache-2.0
"""Planning of exciting motions for a payload."""

from sysid_core.planning.payload.motion import AMPLITUDE, frequencies_for_speed, wrist_columns
from sysid_core.planning.payload.plan import WRENCH_NOISE, plan_payload_motion

__all__ = [
    "AMPLITUDE",
    "WRENCH_NOISE",
    "frequencies_for_speed",
    "plan_payload_motion",
    "wrist_columns",
]
