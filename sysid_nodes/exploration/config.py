# SPDX-License-Identifier: Apache-2.0
"""Parameters of the explorer."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.execution import arm_timeout
from sysid_nodes.lifecycle import parameter


@dataclass(frozen=True)
class ExplorerConfig:
    """Parameters of `explorer`."""

    robot: str = parameter("", "URDF file or name; empty: wait for robot_description.")
    limits_file: str = parameter(
        "", "Limits file of `sysid limits init`, the executor's; empty: those of the URDF."
    )
    tcp_frame: str = parameter("", "Tool frame where there is no limits file; empty: the last.")
    directory: str = parameter("explorations", "Folder below which the pieces are written.")
    period_s: float = parameter(10.0, "Longest duration of a piece [s].", minimum=2.0, maximum=60.0)
    arm_timeout_s: float = arm_timeout()
    iterations: int = parameter(
        200, "Iterations of each piece's improvement.", minimum=0, maximum=1000
    )
