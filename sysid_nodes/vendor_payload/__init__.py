"""How a payload reaches a vendor's controller."""

from sysid_nodes.vendor_payload.config import PayloadBridgeConfig
from sysid_nodes.vendor_payload.service import NotTakenError, VendorService

__all__ = ["NotTakenError", "PayloadBridgeConfig", "VendorService"]
