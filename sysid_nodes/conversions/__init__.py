# SPDX-License-Identifier: Apache-2.0
"""Conversion between ROS messages and types of the core (`logging` converts single samples from and
to bytes).
"""

from sysid_nodes.conversions.estimates import (
    estimate_from_message,
    inertia_message,
    message_from_estimate,
    message_from_identifiability,
    payload_messages,
)
from sysid_nodes.conversions.interfaces import InterfaceError, interface
from sysid_nodes.conversions.samples import (
    columns_of,
    filtered_arrays,
    joint_arrays_from_message,
    message_from_statistics,
    message_from_trajectory,
    message_from_wrench,
    ns_from_stamp,
    stamp_from_ns,
    trajectory_arrays,
    wrench_from_message,
)

__all__ = [
    "InterfaceError",
    "columns_of",
    "estimate_from_message",
    "filtered_arrays",
    "inertia_message",
    "interface",
    "joint_arrays_from_message",
    "message_from_estimate",
    "message_from_identifiability",
    "message_from_statistics",
    "message_from_trajectory",
    "message_from_wrench",
    "ns_from_stamp",
    "payload_messages",
    "stamp_from_ns",
    "trajectory_arrays",
    "wrench_from_message",
]
