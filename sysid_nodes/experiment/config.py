# SPDX-License-Identifier: Apache-2.0
"""Parameters of the runner."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.execution import arm_timeout
from sysid_nodes.experiment.run import PATIENCE_S, SETTLED_S
from sysid_nodes.lifecycle import parameter


@dataclass(frozen=True)
class RunnerConfig:
    """Parameters of `runner`."""

    arm_timeout_s: float = arm_timeout()
    settled_s: float = parameter(
        SETTLED_S,
        "A payload that stays the same for so long is final [s].",
        minimum=0.5,
        maximum=60.0,
    )
    patience_s: float = parameter(
        PATIENCE_S,
        "How long a payload is waited for after the motion [s].",
        minimum=5.0,
        maximum=3600.0,
    )
