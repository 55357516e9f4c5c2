# SPDX-License-Identifier: Apache-2.0
"""Runner node: offers the steps of `sysid run` as an action.

The node requests the other nodes to check, play, record and identify; nothing moves without a goal
that contains a token of `~/arm`. It is started only if the bringup file has a section for it.
"""

from __future__ import annotations

from sysid_nodes.runner.action import RunAction
from sysid_nodes.runner.config import RunnerConfig
from sysid_nodes.trajectory_executor import RemoteNode


class RunnerNode(RemoteNode):
    """Server of the action `~/run`, for one goal at a time, and of the service `~/arm`."""

    Config = RunnerConfig

    def __init__(self) -> None:
        super().__init__("runner")

    def configure(self) -> None:
        """Create the clients of the other nodes."""
        self.action = RunAction(self)
