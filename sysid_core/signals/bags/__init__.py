# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of rosbag2 bags."""

from sysid_core.signals.bags.layouts import Layout, build_typestore
from sysid_core.signals.bags.reader import read_bag, read_marks
from sysid_core.signals.bags.storage import StoredBag
from sysid_core.signals.bags.writer import BagWriter, OfferedQos

__all__ = [
    "BagWriter",
    "Layout",
    "OfferedQos",
    "StoredBag",
    "build_typestore",
    "read_bag",
    "read_marks",
]
