# SPDX-License-Identifier: Apache-2.0
"""ROS stamps as nanoseconds."""

from __future__ import annotations

from builtin_interfaces.msg import Time


def ns_from_stamp(stamp: Time) -> int:
    """A ROS stamp in nanoseconds."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp_from_ns(ns: int) -> Time:
    """Nanoseconds as a ROS stamp."""
    return Time(sec=int(ns // 1_000_000_000), nanosec=int(ns % 1_000_000_000))
