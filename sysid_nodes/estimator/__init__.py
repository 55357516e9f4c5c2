# SPDX-License-Identifier: Apache-2.0
"""Estimator node with its components for payload, arm and residual torques."""

from sysid_nodes.estimator.config import EstimatorConfig

__all__ = ["EstimatorConfig"]
