# SPDX-License-Identifier: Apache-2.0
"""Arming: each motion needs a token that was requested shortly before."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

from robot_sysid.srv import Arm

from sysid_core.errors import SysIdError
from sysid_nodes.lifecycle import ManagedNode, parameter


def arm_timeout() -> Any:
    """Return the field of the parameter `arm_timeout_s`, for nodes that serve `~/arm`."""
    return parameter(30.0, "Validity of a token of ~/arm [s].", minimum=1.0, maximum=600.0)


class Arming:
    """Tokens that expire and are valid for one motion; several clients may hold one each.

    Args:
        valid_for: Validity of a token [s].
    """

    def __init__(self, valid_for: float) -> None:
        self.valid_for = valid_for
        self._tokens: dict[str, float] = {}  # and until when they are good

    def serve(self, node: ManagedNode, problem: Callable[[], str] = str, remark: str = "") -> None:
        """Serve `~/arm` from now on.

        Args:
            node: Node that offers the service.
            problem: Function that returns the reason why arming is refused; "": no reason.
            remark: Text that is sent with each token.
        """

        def answer(request: Arm.Request, response: Arm.Response) -> Arm.Response:
            why_not = problem()
            if why_not:
                response.message = why_not
                return response
            response.token, response.success = self.arm(), True
            response.valid_for, response.message = self.valid_for, remark
            return response

        node.create_service(Arm, "~/arm", answer)

    @property
    def armed(self) -> bool:
        """True if a token is valid now."""
        return any(time.monotonic() < until for until in self._tokens.values())

    def arm(self) -> str:
        """Issue a new token; tokens of other clients stay valid, so that nobody can revoke them by
        arming.
        """
        now = time.monotonic()
        self._tokens = {token: until for token, until in self._tokens.items() if now < until}
        token = secrets.token_hex(8)
        self._tokens[token] = now + self.valid_for
        return token

    def disarm(self) -> None:
        """Revoke all tokens."""
        self._tokens.clear()

    def require(self, token: str) -> None:
        """Raise an error unless a token is valid now.

        Raises:
            SysIdError: The token was never issued, was used before, or has expired.
        """
        until = self._tokens.get(token)
        if until is not None and time.monotonic() < until:
            return
        raise SysIdError(
            "The executor is not armed for this goal."
            if until is None
            else "The token has expired.",
            remedy="Call ~/arm and send the goal with its token within"
            f" {self.valid_for:g} s; each token is valid for one goal.",
        )

    def use(self, token: str) -> None:
        """Redeem a token for a motion; all other tokens are revoked, because the robot will no
        longer be at rest.

        Raises:
            SysIdError: The token was never issued, was used before, or has expired.
        """
        self.require(token)
        self.disarm()
