# SPDX-License-Identifier: Apache-2.0
"""Nodes whose whole work is one action that moves the robot through the executor."""

from __future__ import annotations

from typing import Protocol

from sysid_nodes.lifecycle import ManagedNode


class ServedAction(Protocol):
    """An action that a node serves."""

    def serve(self) -> None:
        """Accept goals from now on."""

    def stop(self) -> None:
        """Stop what goes on."""


class ActionNode(ManagedNode):
    """Serves its action while it is active; otherwise nothing goes on.

    Attributes:
        action: Made by `configure`.
    """

    action: ServedAction | None = None

    def activate(self) -> None:
        """Accept goals."""
        assert self.action is not None
        self.action.serve()

    def deactivate(self) -> None:
        """Stop what goes on."""
        self._halt()

    def clean_up(self) -> None:
        """Stop what goes on."""
        self._halt()

    def _halt(self) -> None:
        if self.action is not None:
            self.action.stop()
