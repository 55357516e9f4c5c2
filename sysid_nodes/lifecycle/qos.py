# SPDX-License-Identifier: Apache-2.0
"""QoS of the topics of this package, and delays that DDS may cause."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

# To controllers and late joiners: the last message stays available.
LATCHED = QoSProfile(
    depth=1,
    history=HistoryPolicy.KEEP_LAST,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# A reliable reader that has lost one message holds back all later ones until the writer's next
# heartbeat, 3 s by default (measured with Fast DDS: after a stall of 1-1.5 s, 2 of 18 reliable readers
# got nothing for 3-4 s more, none of 18 best-effort ones). What is under way arrives within:
HELD_BACK_S = 5.0
HEARTBEAT_S = 1.0  # after which a latched result is published again, changed or not
# Identification data: nothing may be lost in between, even when a process stalls for seconds
# (measured: depth 1-10 loses at 1 kHz; 200 loses when a busy machine stalls a node for a second).
DATA = QoSProfile(depth=4000, reliability=ReliabilityPolicy.RELIABLE)
# Streams of which only the newest message counts; nothing holds back a best-effort reader.
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# Inputs that may be published on change only: the last message must arrive.
LAST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
