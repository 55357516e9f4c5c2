# SPDX-License-Identifier: Apache-2.0
"""Common parts of all nodes: lifecycle, parameters, robot description, diagnostics."""

from ament_index_python.packages import get_package_share_directory

from sysid_nodes.lifecycle.actions import SingleGoalAction, take_back
from sysid_nodes.lifecycle.coroutines import Ended
from sysid_nodes.lifecycle.health import ERROR, OK, WARN
from sysid_nodes.lifecycle.managed_node import ManagedNode
from sysid_nodes.lifecycle.newest import Newest
from sysid_nodes.lifecycle.parameters import CommonConfig, ParameterError, check, parameter
from sysid_nodes.lifecycle.run import die_with_parent, run_node, stop_flag
from sysid_nodes.lifecycle.subscriptions import (
    DATA,
    HEARTBEAT_S,
    HELD_BACK_S,
    LAST,
    LATCHED,
    NEWEST,
    Pulse,
)
from sysid_nodes.lifecycle.transforms import TRANSFORMS, MovingTransform, StaticTransforms

__all__ = [
    "DATA",
    "ERROR",
    "HEARTBEAT_S",
    "HELD_BACK_S",
    "LAST",
    "LATCHED",
    "NEWEST",
    "OK",
    "TRANSFORMS",
    "WARN",
    "CommonConfig",
    "Ended",
    "ManagedNode",
    "MovingTransform",
    "Newest",
    "ParameterError",
    "Pulse",
    "SingleGoalAction",
    "StaticTransforms",
    "check",
    "die_with_parent",
    "interface_definitions",
    "parameter",
    "run_node",
    "stop_flag",
    "take_back",
]


def interface_definitions() -> dict[str, str]:
    """Message definitions of this package by type name, to be stored in bags."""
    from pathlib import Path

    from sysid_core.signals.bags import message_definitions  # heavy: only loggers need it

    folder = Path(get_package_share_directory("robot_sysid")) / "msg"
    return message_definitions(folder, "robot_sysid")
