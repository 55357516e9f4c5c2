# SPDX-License-Identifier: Apache-2.0
"""Node that controls a robot by computed torques."""

__all__: list[str] = []
