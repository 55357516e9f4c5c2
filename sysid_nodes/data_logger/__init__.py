# SPDX-License-Identifier: Apache-2.0
"""Node that records joint states and wrenches and publishes them filtered."""

__all__: list[str] = []
