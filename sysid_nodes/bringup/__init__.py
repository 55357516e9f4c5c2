# SPDX-License-Identifier: Apache-2.0
"""Selection, parameterisation, start, monitoring and termination of the nodes as processes."""

from sysid_nodes.bringup.config import read_config
from sysid_nodes.bringup.graph import NodeSpec, demo_graph
from sysid_nodes.bringup.processes import live
from sysid_nodes.bringup.run_plan import bring_up, run_plan

__all__ = [
    "NodeSpec",
    "bring_up",
    "demo_graph",
    "live",
    "read_config",
    "run_plan",
]
