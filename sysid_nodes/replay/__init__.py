# SPDX-License-Identifier: Apache-2.0
"""Replay of a recorded bag in place of a running robot."""

from sysid_nodes.replay.playing import replay

__all__ = ["replay"]
