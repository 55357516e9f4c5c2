# SPDX-License-Identifier: Apache-2.0
"""Common parts of all nodes: lifecycle, parameters, robot description, diagnostics."""

from sysid_nodes.lifecycle import qos
from sysid_nodes.lifecycle.actions import SingleGoalAction, take_back
from sysid_nodes.lifecycle.coroutines import Ended
from sysid_nodes.lifecycle.health import Level
from sysid_nodes.lifecycle.managed_node import ManagedNode
from sysid_nodes.lifecycle.newest import Newest
from sysid_nodes.lifecycle.parameters import CommonConfig, ParameterError, check, parameter
from sysid_nodes.lifecycle.run import class_of, run_node, start_process, stop_flag
from sysid_nodes.lifecycle.transforms import StaticTransforms

__all__ = [
    "CommonConfig",
    "Ended",
    "Level",
    "ManagedNode",
    "Newest",
    "ParameterError",
    "SingleGoalAction",
    "StaticTransforms",
    "check",
    "class_of",
    "parameter",
    "qos",
    "run_node",
    "start_process",
    "stop_flag",
    "take_back",
]
