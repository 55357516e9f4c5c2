# SPDX-License-Identifier: Apache-2.0
"""Errors of the package: one base class; each error contains its data and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from typing_extensions import Self


class SysIdError(Exception):
    """Base class of all errors that this package raises.

    Args:
        message: Description of the problem with the object concerned.
        remedy: Recommended action.
        **data: Names, indices or bounds, stored in the attribute `data`.

    Examples:
        >>> try:
        ...     raise SysIdError("The bag is empty.", remedy="Record again.")
        ... except SysIdError as err:
        ...     err.remedy
        'Record again.'
    """

    def __init__(self, message: str, *, remedy: str = "", **data: Any) -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.message = message
        self.remedy = remedy
        self.data = data

    def in_python(self) -> Self:
        """Return a copy of the error for Python callers, in which the names of command-line options
        are replaced by those of the arguments (`--shape` by `shape=`), except in whole commands.
        """
        words = (_OPTION.sub(_argument, text) for text in (self.message, self.remedy))
        message, remedy = words
        return type(self)(message, remedy=remedy, **self.data)


_OPTION = re.compile(r"`sysid [^`]*`|--([a-z]+(?:-[a-z]+)*)(?: [A-Z][A-Z=,_|]*\b)?")


def _argument(option: re.Match[str]) -> str:
    return f"{option[1].replace('-', '_')}=" if option[1] else option[0]


def require_type(value: object, kinds: type | tuple[type, ...], argument: str) -> None:
    """Raise an error if an argument has the wrong type.

    Args:
        value: Given value.
        kinds: Accepted types.
        argument: Name of the argument.

    Raises:
        SysIdError: The value has another type.
    """
    if not isinstance(value, kinds):
        wanted = " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise SysIdError(
            f"`{argument}` is {type(value).__name__}, not {wanted}.", remedy=f"Give a {wanted}."
        )


class ModelError(SysIdError):
    """Error of an unusable robot description."""


class ExcitationError(SysIdError):
    """Error of a motion that is unsafe, or does not excite the requested parameters."""


class SignalError(SysIdError):
    """Error of an unusable recording or stream."""


class IdentifiabilityError(SysIdError):
    """Error of a wrong use of the identifiability analysis (an unidentifiable parameter is a
    result, not an error).
    """


class EstimationError(SysIdError):
    """Error of data and configuration that are unsuitable for an estimator."""


class SolverError(SysIdError):
    """Error of an optimisation without a certified optimum."""


class BatchError(SysIdError):
    """Error in the processing of many recordings: it cannot start, or its results cannot be
    written.
    """


def listed(items: Iterable[object], most: int, separator: str = ", ") -> str:
    """Return the first items of a list as text, and the number of the remaining ones."""
    texts = [str(item) for item in items]
    more = (
        f"{separator.replace(', ', ' ')}and {len(texts) - most} more" if len(texts) > most else ""
    )
    return separator.join(texts[:most]) + more
