# SPDX-License-Identifier: Apache-2.0
"""Parts of the explorer: its action, the planned motion, and the measured motion."""

from sysid_nodes.exploration.action import FRESH_S, ExploreAction, ExplorerConfig
from sysid_nodes.exploration.played_motion import PlayedMotion

__all__ = ["FRESH_S", "ExploreAction", "ExplorerConfig", "PlayedMotion"]
