# SPDX-License-Identifier: Apache-2.0
"""Node that simulates a robot."""

from sysid_nodes.simulated_robot.config import differing_chain

__all__ = ["differing_chain"]
