# SPDX-License-Identifier: Apache-2.0
"""Replay of a recorded bag, as if a robot were running."""

from sysid_nodes.replay.playing import replay

__all__ = ["replay"]
