# SPDX-License-Identifier: Apache-2.0
"""The bridge's books as messages."""

from __future__ import annotations

from geometry_msgs.msg import Inertia
from robot_sysid.msg import PayloadBridgeState

from sysid_core.controller_payload import ControllerPayload, PayloadExchange
from sysid_nodes.conversions import inertia_message


def payload_inertia(payload: ControllerPayload) -> Inertia:
    """A payload as `geometry_msgs/Inertia`."""
    return inertia_message(payload.mass, payload.com, payload.inertia)


def bridge_state_message(exchange: PayloadExchange, words: str) -> PayloadBridgeState:
    """What is proposed and what the controller has; the header stays to be filled."""
    proposal = exchange.proposal
    return PayloadBridgeState(
        state=getattr(PayloadBridgeState, exchange.state.name),  # constants of the same names
        proposal=proposal.id if proposal else "",
        proposed=payload_inertia(proposal.payload) if proposal else Inertia(),
        controller_known=exchange.current is not None,
        controller=payload_inertia(exchange.current) if exchange.current else Inertia(),
        message=words,
    )
