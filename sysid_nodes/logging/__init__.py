# SPDX-License-Identifier: Apache-2.0
"""Parts of the data logger: live filters, the bag, serialised messages."""

from sysid_nodes.logging.live_filtering import DataLoggerConfig, LiveFiltering, Mirrored
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
