# SPDX-License-Identifier: Apache-2.0
"""Nodes as processes: which ones, with what parameters, started, watched and ended."""

from sysid_nodes.bringup.config import read_config
from sysid_nodes.bringup.find_config import find_config
from sysid_nodes.bringup.graph import NodeSpec, below, demo_graph
from sysid_nodes.bringup.launching import launch_nodes
from sysid_nodes.bringup.processes import running

__all__ = [
    "NodeSpec",
    "below",
    "demo_graph",
    "find_config",
    "launch_nodes",
    "read_config",
    "running",
]
