# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of rosbag2 bags."""

from sysid_core.signals.bags.layouts import (
    Layout,
    build_typestore,
    joint_state_layout,
    message_decoder,
    message_definitions,
    wrench_layout,
)
from sysid_core.signals.bags.reader import read_bag, read_marks
from sysid_core.signals.bags.storage import StoredBag, open_bag
from sysid_core.signals.bags.writer import BagWriter, OfferedQos, offered_qos, recover_bag

__all__ = [
    "BagWriter",
    "Layout",
    "OfferedQos",
    "StoredBag",
    "build_typestore",
    "joint_state_layout",
    "message_decoder",
    "message_definitions",
    "offered_qos",
    "open_bag",
    "read_bag",
    "read_marks",
    "recover_bag",
    "wrench_layout",
]
