# SPDX-License-Identifier: Apache-2.0
"""What the data logger consists of: live filters, the bag, messages as bytes."""

from sysid_nodes.logging.bag_recording import BagRecording
from sysid_nodes.logging.config import DataLoggerConfig
from sysid_nodes.logging.live_filtering import LiveFiltering
from sysid_nodes.logging.mirrored import Mirrored
from sysid_nodes.logging.recorder import JOINTS, MARKS, TYPES, WRENCH, Recorder
from sysid_nodes.logging.serialised import (
    JointStateReader,
    JointStateWriter,
    WrenchReader,
    WrenchWriter,
    message_types,
)

__all__ = [
    "JOINTS",
    "MARKS",
    "TYPES",
    "WRENCH",
    "BagRecording",
    "DataLoggerConfig",
    "JointStateReader",
    "JointStateWriter",
    "LiveFiltering",
    "Mirrored",
    "Recorder",
    "WrenchReader",
    "WrenchWriter",
    "message_types",
]
