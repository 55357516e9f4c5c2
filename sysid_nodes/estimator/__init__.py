# SPDX-License-Identifier: Apache-2.0
"""Node that identifies: components for payload, arm, and residual torques."""

from sysid_nodes.estimator.config import EstimatorConfig
from sysid_nodes.estimator.node import main

__all__ = ["EstimatorConfig", "main"]
