# SPDX-License-Identifier: Apache-2.0
"""Node that transfers a payload to a vendor's controller."""

from sysid_nodes.payload_bridge.config import PayloadBridgeConfig

__all__ = ["PayloadBridgeConfig"]
