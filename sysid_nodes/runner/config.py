# SPDX-License-Identifier: Apache-2.0
"""Parameters of the runner."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.lifecycle import CommonConfig, parameter
from sysid_nodes.runner.run import PATIENCE_S, SETTLED_S
from sysid_nodes.trajectory_executor import arm_timeout


@dataclass(frozen=True)
class RunnerConfig(CommonConfig):
    """Parameters of `runner`."""

    arm_timeout_s: float = arm_timeout()
    settled_s: float = parameter(
        SETTLED_S,
        "Time for which a payload must be constant to be final [s].",
        minimum=0.5,
        maximum=60.0,
    )
    patience_s: float = parameter(
        PATIENCE_S,
        "Longest wait after the motion, without a new sample, for the final payload [s].",
        minimum=5.0,
        maximum=3600.0,
    )
