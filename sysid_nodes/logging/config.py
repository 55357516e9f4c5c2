# SPDX-License-Identifier: Apache-2.0
"""Parameters of the data logger."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.signals import EffortKind
from sysid_nodes.lifecycle import parameter


@dataclass(frozen=True)
class DataLoggerConfig:
    """Parameters of `data_logger`."""

    robot: str = parameter("", "URDF file or name; empty: wait for robot_description.")
    effort_kind: EffortKind = parameter(
        EffortKind.UNKNOWN, "What `effort` of joint_states means on this robot."
    )
    directory: str = parameter("recordings", "Where bags go when no path is given.")
    chunk_bytes: int = parameter(
        4096, "Size of a chunk of the bag; a kill loses one [byte].", minimum=512, maximum=2**24
    )
    max_gap_s: float = parameter(
        0.1, "A longer gap starts the filters again [s].", minimum=0.001, maximum=10.0
    )
    stale_s: float = parameter(
        1.0,
        "Without joint_states for so long a running bag is closed [s].",
        minimum=0.05,
        maximum=60.0,
    )
    tare_s: float = parameter(1.0, "Duration of ~/tare [s].", minimum=0.1, maximum=60.0)
