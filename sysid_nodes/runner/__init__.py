# SPDX-License-Identifier: Apache-2.0
"""Node that runs a complete experiment: check, play, record, then identify or weigh."""

from sysid_nodes.runner.run import ONLY_RECORD, PATIENCE_S, Settled, run_experiment

__all__ = ["ONLY_RECORD", "PATIENCE_S", "Settled", "run_experiment"]
