# SPDX-License-Identifier: Apache-2.0
"""A whole experiment on a running graph: check, play, record, identify or weigh."""

from sysid_nodes.experiment.action import RunAction
from sysid_nodes.experiment.config import RunnerConfig

__all__ = ["RunAction", "RunnerConfig"]
