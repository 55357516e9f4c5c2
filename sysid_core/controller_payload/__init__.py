# SPDX-License-Identifier: Apache-2.0
"""Payloads in the form that vendors' controllers expect, and their transfer to a controller."""

from sysid_core.controller_payload.exchange import ControllerSetting, ExchangeState, PayloadExchange
from sysid_core.controller_payload.payload import ControllerPayload, LoadDiagram, PayloadLimits
from sysid_core.controller_payload.vendors import VENDORS, VendorRequest

__all__ = [
    "VENDORS",
    "ControllerPayload",
    "ControllerSetting",
    "ExchangeState",
    "LoadDiagram",
    "PayloadExchange",
    "PayloadLimits",
    "VendorRequest",
]
