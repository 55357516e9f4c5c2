# SPDX-License-Identifier: Apache-2.0
"""PyQt5's QtGui, where ROS's binding isn't installed."""

from PyQt5.QtGui import *  # noqa: F403
