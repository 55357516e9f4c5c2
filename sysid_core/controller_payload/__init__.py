# SPDX-License-Identifier: Apache-2.0
"""Payloads in the form that vendors' controllers expect, and their transfer to a controller."""

from sysid_core.controller_payload.exchange import (
    ControllerSetting,
    ExchangeState,
    PayloadExchange,
    settings_of,
)
from sysid_core.controller_payload.load_diagram import LoadDiagram
from sysid_core.controller_payload.payload import ControllerPayload, PayloadLimits
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
    "settings_of",
]
