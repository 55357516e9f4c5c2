# SPDX-License-Identifier: Apache-2.0
"""Parts of the explorer: its action, what it has played, what the robot really did."""

from sysid_nodes.exploration.action import ExploreAction, ExplorerConfig
from sysid_nodes.exploration.played_motion import PlayedMotion

__all__ = ["ExploreAction", "ExplorerConfig", "PlayedMotion"]
