# SPDX-License-Identifier: Apache-2.0
"""A recorded bag as a live robot."""

from sysid_nodes.replay.playing import replay

__all__ = ["replay"]
