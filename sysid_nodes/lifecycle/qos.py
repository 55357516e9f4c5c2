# SPDX-License-Identifier: Apache-2.0
"""Qualities of service of our topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

# To controllers and late joiners: the last message stays available.
LATCHED = QoSProfile(
    depth=1,
    history=HistoryPolicy.KEEP_LAST,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Identification data: nothing may be lost in between, even when a process stalls for seconds
# (measured: depth 1-10 loses at 1 kHz; 200 loses when a busy machine stalls a node for a second).
DATA = QoSProfile(depth=4000, reliability=ReliabilityPolicy.RELIABLE)
