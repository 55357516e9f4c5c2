# SPDX-License-Identifier: Apache-2.0
"""Reason as a value: code, severity and data; its sentence is created for display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sysid_core.kinds import Kind
from sysid_core.reasons.texts import TEXTS, sentence

Plain = str | int | float | bool | None | tuple["Plain", ...]


class Severity(Kind):
    """Effect of a reason on the verdict."""

    FAILURE = "failure"  # the result must not be used
    WARNING = "warning"  # to keep in mind
    HELD = "held"  # looked at, and in order
    NOT_JUDGED = "not judged"  # not looked at
    MISSING = "missing"  # not looked at, and nothing else can stand for it


@dataclass(frozen=True)
class Reason:
    """Finding, warning or failure, as a code with data.

    Attributes:
        code: Stable name of the kind of reason, a key of `TEXTS`.
        severity: What it means for a result.
        data: Names and numbers of the evidence in SI units, plain values only.

    Raises:
        KeyError: The code is unknown (an error of the program).

    Examples:
        >>> reason = warning("efforts-late", ms=12.0, sd=0.5)
        >>> text_of(reason)
        'The efforts are delayed by 12.0 ± 0.5 ms against the positions.'
        >>> Reason.from_dict(reason.to_dict()) == reason
        True
    """

    code: str
    severity: Severity
    data: Mapping[str, Plain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        TEXTS[self.code]
        object.__setattr__(self, "severity", Severity(self.severity))
        object.__setattr__(self, "data", {key: _plain(x) for key, x in self.data.items()})

    def __hash__(self) -> int:
        return hash((self.code, self.severity, repr(sorted(self.data.items()))))

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        data = {key: list(x) if isinstance(x, tuple) else x for key, x in self.data.items()}
        return {"code": self.code, "severity": self.severity.value, "data": data}

    @classmethod
    def from_dict(cls, raw: Mapping[str, object]) -> Reason:
        """Reason from the data of `to_dict`.

        Raises:
            KeyError: A key is missing, or the code is unknown.
        """
        data = raw["data"]
        assert isinstance(data, Mapping)
        return cls(str(raw["code"]), Severity(str(raw["severity"])), data)


def _plain(value: object) -> Plain:
    if hasattr(value, "tolist"):  # an array or a scalar of numpy's, which help needn't import
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_plain(x) for x in value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"{type(value).__name__} is not a plain value")


def failure(code: str, **data: object) -> Reason:
    """Reason that forbids the use of a result."""
    return Reason(code, Severity.FAILURE, data)  # type: ignore[arg-type]


def warning(code: str, **data: object) -> Reason:
    """Reason that warns but permits the use of a result."""
    return Reason(code, Severity.WARNING, data)  # type: ignore[arg-type]


def held(code: str, **data: object) -> Reason:
    """Reason for a check that passed."""
    return Reason(code, Severity.HELD, data)  # type: ignore[arg-type]


def not_judged(code: str, **data: object) -> Reason:
    """Reason for a check that was not made."""
    return Reason(code, Severity.NOT_JUDGED, data)  # type: ignore[arg-type]


def missing(code: str, **data: object) -> Reason:
    """Reason for a necessary check that was not made, so that the result is not judged."""
    return Reason(code, Severity.MISSING, data)  # type: ignore[arg-type]


def text_of(reason: Reason) -> str:
    """Sentence of a reason, without the recommended action."""
    return sentence(TEXTS[reason.code].sentence, reason.data)


def remedy_of(reason: Reason) -> str:
    """Recommended action; "" if there is none."""
    return sentence(TEXTS[reason.code].remedy, reason.data)


def advice_of(reason: Reason) -> str:
    """Sentence of a reason, followed by the recommended action."""
    return f"{text_of(reason)} {remedy_of(reason)}".strip()
