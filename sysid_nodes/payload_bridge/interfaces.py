# SPDX-License-Identifier: Apache-2.0
"""Conversion of payloads to and from the messages of vendors' packages, which may not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geometry_msgs.msg import Inertia
from robot_sysid.msg import PayloadBridgeState

from sysid_core.controller_payload import ControllerPayload, PayloadExchange
from sysid_core.errors import SysIdError
from sysid_nodes.conversions import InterfaceError, inertia_message


class NotTakenError(SysIdError):
    """Error of a controller that did not adopt the payload.

    Args:
        message: Reason in words.
        untouched: True if the controller certainly kept its previous payload.
        remedy: Recommended action.
    """

    def __init__(self, message: str, *, untouched: bool = False, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.untouched = untouched


def filled(message: Any, values: Mapping[str, Any]) -> Any:
    """Create a message with nested plain values written into its fields."""
    for field, value in values.items():
        if isinstance(value, Mapping):
            filled(getattr(message, field), value)
        else:
            setattr(message, field, value)
    return message


def as_mapping(message: Any) -> dict[str, Any]:
    """Return the top-level fields of a message, by name."""
    return {field: getattr(message, field) for field in message.get_fields_and_field_types()}


def payload_from_message(message: Any, path: str = "") -> ControllerPayload:
    """Return the payload from an `Inertia`, an `InertiaStamped`, or a field of another message.

    Args:
        message: Message of any type.
        path: Field that contains the payload, such as `inertia_load` of a FrankaRobotState; "" for
            the message itself.

    Raises:
        InterfaceError: The message has no such field, or the field is not an inertia.
        ModelError: A value is not finite.
    """
    part = message
    for field in path.split(".") if path else []:
        if not hasattr(part, field):
            raise InterfaceError(
                f"The message has no field '{field}' (of '{path}').",
                remedy=f"Fields: {', '.join(part.get_fields_and_field_types())}.",
            )
        part = getattr(part, field)
    part = getattr(part, "inertia", part)
    if not isinstance(part, Inertia):
        raise InterfaceError(
            f"'{path or 'the message'}' is a {type(part).__name__}, not a geometry_msgs/Inertia.",
            remedy="Give the path of the field that holds the payload.",
        )
    inertia = [
        [part.ixx, part.ixy, part.ixz],
        [part.ixy, part.iyy, part.iyz],
        [part.ixz, part.iyz, part.izz],
    ]
    return ControllerPayload(part.m, [part.com.x, part.com.y, part.com.z], inertia)


def payload_inertia(payload: ControllerPayload) -> Inertia:
    """Return a payload as `geometry_msgs/Inertia`."""
    return inertia_message(payload.mass, payload.com, payload.inertia)


def bridge_state_message(exchange: PayloadExchange, words: str) -> PayloadBridgeState:
    """Create a message of the proposed and the current payload; the header is filled in later."""
    proposal = exchange.proposal
    return PayloadBridgeState(
        state=getattr(PayloadBridgeState, exchange.state.name),  # constants of the same names
        proposal=proposal.id if proposal else "",
        proposed=payload_inertia(proposal.payload) if proposal else Inertia(),
        controller_known=exchange.current is not None,
        controller=payload_inertia(exchange.current) if exchange.current else Inertia(),
        message=words,
    )
