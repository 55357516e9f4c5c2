# SPDX-License-Identifier: Apache-2.0
"""Transfer of a payload to a vendor's controller."""

from sysid_nodes.vendor_payload.config import PayloadBridgeConfig, payload_at_flange
from sysid_nodes.vendor_payload.interfaces import (
    NotTakenError,
    bridge_state_message,
    payload_inertia,
)
from sysid_nodes.vendor_payload.service import VendorService

__all__ = [
    "NotTakenError",
    "PayloadBridgeConfig",
    "VendorService",
    "bridge_state_message",
    "payload_at_flange",
    "payload_inertia",
]
