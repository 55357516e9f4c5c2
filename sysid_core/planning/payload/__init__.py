# SPDX-License-Identifier: Apache-2.0
"""Exciting motions of a payload."""

from sysid_core.planning.payload.information import (
    FORCE_NOISE,
    TORQUE_NOISE,
    choose_tare_postures,
    payload_information,
)
from sysid_core.planning.payload.motion import (
    AMPLITUDE,
    frequencies_for_speed,
    oscillation,
    wrist_columns,
)
from sysid_core.planning.payload.plan import PayloadPlan, plan_payload_motion
from sysid_core.planning.payload.sine import plan_sines

__all__ = [
    "AMPLITUDE",
    "FORCE_NOISE",
    "TORQUE_NOISE",
    "PayloadPlan",
    "choose_tare_postures",
    "frequencies_for_speed",
    "oscillation",
    "payload_information",
    "plan_payload_motion",
    "plan_sines",
    "wrist_columns",
]
