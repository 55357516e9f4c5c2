# SPDX-License-Identifier: Apache-2.0
"""Client of the nodes, and tasks that use it: recording, execution, identification."""

from sysid_nodes.client.live_client import (
    LiveClient,
    own_domain,
)
from sysid_nodes.client.node_client import LiveError
from sysid_nodes.client.save_robot import save_robot

__all__ = [
    "LiveClient",
    "LiveError",
    "own_domain",
    "save_robot",
]
