# SPDX-License-Identifier: Apache-2.0
"""A motion needs somebody's word, given shortly before."""

from __future__ import annotations

import hmac
import secrets
import time

from sysid_core.errors import SysIdError


class Arming:
    """Tokens that are good for one motion and expire.

    Args:
        valid_for: How long a token is good [s].
    """

    def __init__(self, valid_for: float) -> None:
        self.valid_for = valid_for
        self._token, self._until = "", 0.0

    @property
    def armed(self) -> bool:
        """Whether a token is good now."""
        return bool(self._token) and time.monotonic() < self._until

    def arm(self) -> str:
        """A new token; the one before is void."""
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
        good = self.armed and hmac.compare_digest(token, self._token)
        expired = bool(self._token) and token == self._token and not good
        if good:
            self.disarm()
            return
        raise SysIdError(
            "The token has expired." if expired else "The executor isn't armed for this goal.",
            remedy="Call ~/arm and send the goal with its token within"
            f" {self.valid_for:g} s; each token is good for one goal.",
        )
