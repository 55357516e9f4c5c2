# SPDX-License-Identifier: Apache-2.0
"""Estimator node with its components for payload, arm and residual torques."""

__all__: list[str] = []
