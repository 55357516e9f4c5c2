# SPDX-License-Identifier: Apache-2.0
"""Nodes as processes: which ones, with what parameters, started, watched and ended."""

from sysid_nodes.bringup.config import read_config
from sysid_nodes.bringup.find_config import find_config
from sysid_nodes.bringup.graph import NodeSpec, below, bringup_graph, demo_graph
from sysid_nodes.bringup.launching import launch_nodes
from sysid_nodes.bringup.payload_known import PayloadKnown
from sysid_nodes.bringup.processes import NodeProcesses, running
from sysid_nodes.bringup.run_plan import RunOptions, run_plan
from sysid_nodes.bringup.up import bring_up

__all__ = [
    "NodeProcesses",
    "NodeSpec",
    "PayloadKnown",
    "RunOptions",
    "below",
    "bring_up",
    "bringup_graph",
    "demo_graph",
    "find_config",
    "launch_nodes",
    "read_config",
    "run_plan",
    "running",
]
