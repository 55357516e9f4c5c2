# SPDX-License-Identifier: Apache-2.0
"""Recordings, and their processing before a fit."""

from sysid_core.signals.array_file import export_recording
from sysid_core.signals.column_map import ColumnMap
from sysid_core.signals.recording import (
    EffortKind,
    JointStream,
    Mark,
    Recording,
    WrenchStream,
)
from sysid_core.signals.stream import SampleOutcome, StreamMonitor, StreamStatistics
from sysid_core.signals.stream_facts import stream_facts
from sysid_core.signals.table import read_table
from sysid_core.signals.table_layout import TableLayout
from sysid_core.signals.timing import (
    in_order,
    interpolate_at,
    standstill_share,
)
from sysid_core.signals.unit_checks import require_sound_units
from sysid_core.signals.wrench_table import (
    WrenchColumns,
    read_any_table,
)

__all__ = [
    "ColumnMap",
    "EffortKind",
    "JointStream",
    "Mark",
    "Recording",
    "SampleOutcome",
    "StreamMonitor",
    "StreamStatistics",
    "TableLayout",
    "WrenchColumns",
    "WrenchStream",
    "export_recording",
    "in_order",
    "interpolate_at",
    "read_any_table",
    "read_table",
    "require_sound_units",
    "standstill_share",
    "stream_facts",
]
