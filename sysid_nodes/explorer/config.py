# SPDX-License-Identifier: Apache-2.0
"""Parameters of the explorer."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.lifecycle import CommonConfig, parameter
from sysid_nodes.trajectory_executor import arm_timeout


@dataclass(frozen=True)
class ExplorerConfig(CommonConfig):
    """Parameters of `explorer`."""

    limits_file: str = parameter(
        "",
        "Limits file of `sysid limits init`, the same as that of the executor; empty: limits of the URDF.",
    )
    tcp_frame: str = parameter("", "Tool frame, if there is no limits file; empty: the last link.")
    directory: str = parameter("explorations", "Folder below which the pieces are written.")
    period_s: float = parameter(10.0, "Longest duration of a piece [s].", minimum=2.0, maximum=60.0)
    arm_timeout_s: float = arm_timeout()
    iterations: int = parameter(
        200, "Iterations of the optimisation of each piece.", minimum=0, maximum=1000
    )
