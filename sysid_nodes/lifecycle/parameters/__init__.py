# SPDX-License-Identifier: Apache-2.0
"""ROS parameters of a node, described once by a frozen dataclass."""

from sysid_nodes.lifecycle.parameters.common import CommonConfig
from sysid_nodes.lifecycle.parameters.node_parameters import declare, read, value_to_set
from sysid_nodes.lifecycle.parameters.schema import ParameterError, check, parameter

__all__ = [
    "CommonConfig",
    "ParameterError",
    "check",
    "declare",
    "parameter",
    "read",
    "value_to_set",
]
