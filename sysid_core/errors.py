# SPDX-License-Identifier: Apache-2.0
"""Errors of the package: one base class; each error carries its data and the remedy."""

from __future__ import annotations

import re
from typing import Any, Self


class SysIdError(Exception):
    """Base class of all errors that this package raises.

    Args:
        message: What is wrong, naming the thing.
        remedy: What the user should do about it.
        **data: Names, indices or bounds, kept on the exception as `data`.

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
        """Copy of the error for Python callers: command-line options are named as arguments."""
        words = (_OPTION.sub(_argument, text) for text in (self.message, self.remedy))
        message, remedy = words
        return type(self)(message, remedy=remedy, **self.data)


_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)(?: [A-Z][A-Z=,_|]*\b)?")


def _argument(option: re.Match[str]) -> str:
    return f"{option[1].replace('-', '_')}="


def require_type(value: object, kinds: type | tuple[type, ...], argument: str) -> None:
    """Refuse an argument of another type, naming it.

    Args:
        value: What was given.
        kinds: Types that are taken.
        argument: Name of the argument.

    Raises:
        SysIdError: It is of another type.
    """
    if not isinstance(value, kinds):
        wanted = " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise SysIdError(
            f"`{argument}` is {type(value).__name__}, not {wanted}.", remedy=f"Give a {wanted}."
        )


class ModelError(SysIdError):
    """A robot description that can't be used."""


class ExcitationError(SysIdError):
    """A motion is unsafe, or does not excite the requested parameters."""


class SignalError(SysIdError):
    """A recording or stream that can't be used."""


class IdentifiabilityError(SysIdError):
    """A misuse of the identifiability analysis (unidentifiable itself is a result)."""


class EstimationError(SysIdError):
    """Data and configuration that an estimator can't work with."""


class SolverError(SysIdError):
    """An optimisation that didn't reach a certified optimum."""


class BatchError(SysIdError):
    """Processing of many recordings cannot start, or its results cannot be written."""
