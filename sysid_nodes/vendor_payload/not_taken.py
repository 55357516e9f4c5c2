# SPDX-License-Identifier: Apache-2.0
"""What a person reads when a controller doesn't take a payload."""

from __future__ import annotations

from sysid_core.errors import SysIdError


class NotTakenError(SysIdError):
    """The controller doesn't have the payload.

    Args:
        message: Why.
        untouched: It is certain that it kept what it had.
        remedy: What to do.
    """

    def __init__(self, message: str, *, untouched: bool = False, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.untouched = untouched
