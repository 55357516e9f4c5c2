# SPDX-License-Identifier: Apache-2.0
"""Live payload estimation from streams."""

from sysid_core.estimation.payload_live.any_motion import held_data, weigh_motion
from sysid_core.estimation.payload_live.knowledge import PayloadKnowledge, PayloadState
from sysid_core.estimation.payload_live.marks import motion_window
from sysid_core.estimation.payload_live.online import OnlinePayload
from sysid_core.estimation.payload_live.parts import KnownLoads
from sysid_core.estimation.payload_live.session import (
    PayloadSession,
)
from sysid_core.estimation.payload_live.weighing import Weighing

__all__ = [
    "KnownLoads",
    "OnlinePayload",
    "PayloadKnowledge",
    "PayloadSession",
    "PayloadState",
    "Weighing",
    "held_data",
    "motion_window",
    "weigh_motion",
]
