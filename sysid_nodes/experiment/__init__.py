# SPDX-License-Identifier: Apache-2.0
"""Complete experiment with running nodes: check, play, record, then identify or weigh."""

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
