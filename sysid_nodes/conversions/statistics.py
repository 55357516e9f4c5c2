# SPDX-License-Identifier: Apache-2.0
"""A stream's statistics as a message."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from robot_sysid.msg import StreamStatistics as StreamStatisticsMessage

from sysid_nodes.conversions.stamps import stamp_from_ns

if TYPE_CHECKING:
    from sysid_core.signals import StreamStatistics


def message_from_statistics(
    statistics: StreamStatistics, topic: str, now_ns: int
) -> StreamStatisticsMessage:
    """How a stream is doing; fields of the same names."""
    out = StreamStatisticsMessage(stamp=stamp_from_ns(now_ns), topic=topic)
    for field in dataclasses.fields(statistics):
        setattr(out, field.name, getattr(statistics, field.name))
    return out
