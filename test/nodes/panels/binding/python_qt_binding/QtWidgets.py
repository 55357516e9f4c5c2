# SPDX-License-Identifier: Apache-2.0
"""PyQt5's QtWidgets, where ROS's binding isn't installed."""

from PyQt5.QtWidgets import *  # noqa: F403
