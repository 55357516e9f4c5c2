"""Payloads in the terms of vendors' controllers, and the exchange with them."""

from sysid_core.controller_payload.exchange import ExchangeState, PayloadExchange, Proposal
from sysid_core.controller_payload.payload import ControllerPayload, PayloadLimits, fixed_pose
from sysid_core.controller_payload.vendors import (
    VENDORS,
    Vendor,
    VendorRequest,
    response_accepted,
    vendor_request,
)

__all__ = [
    "VENDORS",
    "ControllerPayload",
    "ExchangeState",
    "PayloadExchange",
    "PayloadLimits",
    "Proposal",
    "Vendor",
    "VendorRequest",
    "fixed_pose",
    "response_accepted",
    "vendor_request",
]
