# SPDX-License-Identifier: Apache-2.0
"""Node that records joint states and wrenches and publishes them filtered."""

from sysid_nodes.data_logger.live_filtering import DataLoggerConfig

__all__ = ["DataLoggerConfig"]
