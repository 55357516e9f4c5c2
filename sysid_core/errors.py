# SPDX-License-Identifier: Apache-2.0
"""The errors of the package: one root, each carrying its data and the remedy."""

from __future__ import annotations

from typing import Any


class SysIdError(Exception):
    """Root of every error that this package raises on purpose.

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


class ModelError(SysIdError):
    """A robot description that can't be used."""


class ExcitationError(SysIdError):
    """A motion that is unsafe, or doesn't excite what it should."""


class SignalError(SysIdError):
    """A recording or stream that can't be used."""


class IdentifiabilityError(SysIdError):
    """A misuse of the identifiability analysis (unidentifiable itself is a result)."""


class EstimationError(SysIdError):
    """Data and configuration that an estimator can't work with."""


class SolverError(SysIdError):
    """An optimisation that didn't reach a certified optimum."""


class BatchError(SysIdError):
    """Work over many recordings that can't be begun, or results that can't be kept."""
