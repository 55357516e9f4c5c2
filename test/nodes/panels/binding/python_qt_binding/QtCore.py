# SPDX-License-Identifier: Apache-2.0
"""PyQt5's QtCore, where ROS's binding isn't installed."""

from PyQt5.QtCore import *  # noqa: F403
