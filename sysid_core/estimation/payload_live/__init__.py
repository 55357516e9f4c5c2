# SPDX-License-Identifier: Apache-2.0
"""Live payload estimation from streams."""

from sysid_core.estimation.payload_live.any_motion import held_data, weigh_motion
from sysid_core.estimation.payload_live.knowledge import PayloadKnowledge, PayloadState
from sysid_core.estimation.payload_live.marks import motion_window
from sysid_core.estimation.payload_live.online import OnlinePayload
from sysid_core.estimation.payload_live.parts import KnownLoads, judge_part
from sysid_core.estimation.payload_live.session import (
    PayloadSession,
)
from sysid_core.estimation.payload_live.weighing import (
    Weighing,
    judge_weighing,
    repeatability,
)

__all__ = [
    "KnownLoads",
    "OnlinePayload",
    "PayloadKnowledge",
    "PayloadSession",
    "PayloadState",
    "Weighing",
    "held_data",
    "judge_part",
    "judge_weighing",
    "motion_window",
    "repeatability",
    "weigh_motion",
]
