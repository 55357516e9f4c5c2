# SPDX-License-Identifier: Apache-2.0
"""What the data logger consists of: live filters, the bag, messages as bytes."""

from sysid_nodes.logging.config import DataLoggerConfig
from sysid_nodes.logging.live_filtering import LiveFiltering
from sysid_nodes.logging.mirrored import Mirrored
from sysid_nodes.logging.recorder import JOINTS, MARKS, TYPES, WRENCH, Recorder

__all__ = [
    "JOINTS",
    "MARKS",
    "TYPES",
    "WRENCH",
    "DataLoggerConfig",
    "LiveFiltering",
    "Mirrored",
    "Recorder",
]
