# SPDX-License-Identifier: Apache-2.0
"""The nodes from outside: a client that calls them, and what is made with it."""

from sysid_nodes.client.live_client import LiveClient
from sysid_nodes.client.node_client import LiveError
from sysid_nodes.client.progress import execute_watched
from sysid_nodes.client.save_robot import save_robot
from sysid_nodes.client.session import live_client, own_domain

__all__ = [
    "LiveClient",
    "LiveError",
    "execute_watched",
    "live_client",
    "own_domain",
    "save_robot",
]
