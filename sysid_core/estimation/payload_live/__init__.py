"""Live payload estimation from streams."""

from sysid_core.estimation.payload_live.online import OnlinePayload, PayloadState
from sysid_core.estimation.payload_live.replay import replay_payload
from sysid_core.estimation.payload_live.session import TARE_PREFIX, PayloadMoment, PayloadSession
from sysid_core.estimation.payload_live.streams import PayloadStreams

__all__ = [
    "TARE_PREFIX",
    "OnlinePayload",
    "PayloadMoment",
    "PayloadSession",
    "PayloadState",
    "PayloadStreams",
    "replay_payload",
]
