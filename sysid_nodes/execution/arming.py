# SPDX-License-Identifier: Apache-2.0
"""Arming of motions by a token that is requested shortly before; base of nodes with one moving
action.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from typing import Any, Protocol

from robot_sysid.srv import Arm

from sysid_core.errors import SysIdError
from sysid_nodes.lifecycle import ManagedNode, parameter


def arm_timeout() -> Any:
    """The parameter `arm_timeout_s` of nodes with `~/arm`."""
    return parameter(30.0, "Validity of a token of ~/arm [s].", minimum=1.0, maximum=600.0)


class Arming:
    """Tokens that are valid for one motion and expire.

    Args:
        valid_for: How long a token is good [s].
    """

    def __init__(self, valid_for: float) -> None:
        self.valid_for = valid_for
        self._token, self._until = "", 0.0

    def serve(self, node: ManagedNode, problem: Callable[[], str] = str, remark: str = "") -> None:
        """Answer `~/arm` from now on.

        Args:
            node: Whose service it is.
            problem: Says why nobody may arm now, or nothing.
            remark: Said with each token.
        """

        def answer(request: Arm.Request, response: Arm.Response) -> Arm.Response:
            why_not = problem()
            if why_not:
                response.message = f"{why_not}: resume the robot at its controller first."
                return response
            response.token, response.success = self.arm(), True
            response.valid_for, response.message = self.valid_for, remark
            return response

        node.create_service(Arm, "~/arm", answer)

    @property
    def armed(self) -> bool:
        """True if a token is valid now."""
        return bool(self._token) and time.monotonic() < self._until

    def arm(self) -> str:
        """Issue a new token; the previous one becomes invalid."""
        self._token, self._until = secrets.token_hex(4), time.monotonic() + self.valid_for
        return self._token

    def disarm(self) -> None:
        """No token is good any more."""
        self._token = ""

    def use(self, token: str) -> None:
        """Take a token back for a motion.

        Raises:
            SysIdError: It isn't the last one, was used before, or has expired.
        """
        good = self.armed and hmac.compare_digest(token.encode(), self._token.encode())
        expired = bool(self._token) and token == self._token and not good
        if good:
            self.disarm()
            return
        raise SysIdError(
            "The token has expired." if expired else "The executor is not armed for this goal.",
            remedy="Call ~/arm and send the goal with its token within"
            f" {self.valid_for:g} s; each token is valid for one goal.",
        )


class ServedAction(Protocol):
    """An action that a node serves."""

    def serve(self) -> None:
        """Accept goals from now on."""

    def stop(self) -> None:
        """Stop the running action."""


class ActionNode(ManagedNode):
    """Node whose action is served only while it is active.

    Attributes:
        action: Made by `configure`.
    """

    action: ServedAction | None = None

    def activate(self) -> None:
        """Accept goals."""
        assert self.action is not None
        self.action.serve()

    def deactivate(self) -> None:
        """Stop the running action."""
        self._halt()

    def clean_up(self) -> None:
        """Stop the running action."""
        self._halt()

    def _halt(self) -> None:
        if self.action is not None:
            self.action.stop()
