"""Live payload estimation from streams."""

from sysid_core.estimation.payload_live.online import OnlinePayload, PayloadState
from sysid_core.estimation.payload_live.replay import replay_payload
from sysid_core.estimation.payload_live.session import PayloadMoment, PayloadSession
from sysid_core.estimation.payload_live.streams import PayloadStreams

__all__ = [
    "OnlinePayload",
    "PayloadMoment",
    "PayloadSession",
    "PayloadState",
    "PayloadStreams",
    "replay_payload",
]
