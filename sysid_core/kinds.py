# SPDX-License-Identifier: Apache-2.0
"""Base class of all enumerations: members compare, print and serialise as their text."""

from __future__ import annotations

from enum import Enum

from typing_extensions import Self

from sysid_core.errors import SysIdError


class Kind(str, Enum):
    """Enumeration whose members are texts."""

    __str__ = str.__str__

    @classmethod
    def named(cls, text: str, of: str, error: type[SysIdError]) -> Self:
        """Return the enum member with the given text.

        Args:
            text: A member or its value.
            of: Subject of the error message, such as "the method".
            error: Class of the error.

        Raises:
            SysIdError: There is no such member; the remedy lists them.
        """
        if text not in [member.value for member in cls]:
            raise error(
                f"{of} is '{text}', which is unknown.",
                remedy=f"Choose one of: {', '.join(member.value for member in cls)}.",
            )
        return cls(text)
