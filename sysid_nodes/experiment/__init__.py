# SPDX-License-Identifier: Apache-2.0
"""A whole experiment on a running graph: check, play, record, identify or weigh."""

from sysid_nodes.experiment.action import RunAction, RunnerConfig
from sysid_nodes.experiment.run import PATIENCE_S, ExperimentResult, Settled, run_experiment

__all__ = [
    "PATIENCE_S",
    "ExperimentResult",
    "RunAction",
    "RunnerConfig",
    "Settled",
    "run_experiment",
]
