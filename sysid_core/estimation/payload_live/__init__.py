# SPDX-License-Identifier: Apache-2.0
"""Live payload estimation from streams."""

from sysid_core.estimation.payload_live.any_motion import held_data, weigh_motion
from sysid_core.estimation.payload_live.knowledge import (
    PayloadKnowledge,
    PayloadState,
    object_size,
)
from sysid_core.estimation.payload_live.marks import motion_window
from sysid_core.estimation.payload_live.online import OnlinePayload
from sysid_core.estimation.payload_live.parts import (
    judge_part,
    load_parts,
    part_probabilities,
)
from sysid_core.estimation.payload_live.replay import replay_payload
from sysid_core.estimation.payload_live.session import (
    MOTION_SEGMENTS,
    TARE_PREFIX,
    PayloadSession,
)
from sysid_core.estimation.payload_live.streams import RUN_START
from sysid_core.estimation.payload_live.weighing import (
    Weighing,
    judge_weighing,
    repeatability,
)

__all__ = [
    "MOTION_SEGMENTS",
    "RUN_START",
    "TARE_PREFIX",
    "OnlinePayload",
    "PayloadKnowledge",
    "PayloadSession",
    "PayloadState",
    "Weighing",
    "held_data",
    "judge_part",
    "judge_weighing",
    "load_parts",
    "motion_window",
    "object_size",
    "part_probabilities",
    "repeatability",
    "replay_payload",
    "weigh_motion",
]
