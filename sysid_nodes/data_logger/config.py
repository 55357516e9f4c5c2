# SPDX-License-Identifier: Apache-2.0
"""Parameters of the data logger."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.signals import EffortKind
from sysid_nodes.lifecycle import CommonConfig, parameter


@dataclass(frozen=True)
class DataLoggerConfig(CommonConfig):
    """Parameters of `data_logger`."""

    effort_kind: EffortKind = parameter(
        EffortKind.UNKNOWN, "Kind of `effort` in joint_states of this robot."
    )
    directory: str = parameter("recordings", "Folder for bags without a given path.")
    chunk_bytes: int = parameter(
        4096,
        "Size of a chunk of the bag; a killed process loses one chunk. The index keeps 0.63 kB of memory for each"
        " chunk until the bag is closed [byte].",
        minimum=512,
        maximum=2**24,
    )
    max_gap_s: float = parameter(
        0.1, "Gap after which the filters restart [s].", minimum=0.001, maximum=10.0
    )
    stale_s: float = parameter(
        1.0,
        "Time without joint_states after which a running bag is closed [s].",
        minimum=0.05,
        maximum=60.0,
    )
    targets: str = parameter(
        "",
        "Position targets to be recorded, as 'TOPIC TYPE'; an array must contain the joints in the order"
        " of the robot; empty: none.",
    )
    tare_s: float = parameter(1.0, "Duration of ~/tare [s].", minimum=0.1, maximum=60.0)
