# SPDX-License-Identifier: Apache-2.0
"""Reasons, stored as codes with data (sentences are generated only for display), and verdicts that
follow from reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sysid_core.reasons.texts import TEXTS, sentence
from sysid_core.settings import Kind

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
    """Passed check, missing check, warning or failure, as a code with data.

    Attributes:
        code: Stable code of the kind of reason, a key of `TEXTS`.
        severity: Effect on the verdict.
        data: Evidence by name, as plain values in SI units.

    Raises:
        KeyError: The code is unknown (a programming error).

    Examples:
        >>> reason = Reason.warning("efforts-late", ms=12.0, sd=0.5)
        >>> reason.text
        'The efforts lag by 12.0 ± 0.5 ms relative to the positions.'
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

    @classmethod
    def failure(cls, code: str, **data: object) -> Reason:
        """Create a reason that forbids the use of the result."""
        return cls(code, Severity.FAILURE, data)  # type: ignore[arg-type]

    @classmethod
    def warning(cls, code: str, **data: object) -> Reason:
        """Create a reason that warns of a possible error, but permits the use of the result."""
        return cls(code, Severity.WARNING, data)  # type: ignore[arg-type]

    @classmethod
    def held(cls, code: str, **data: object) -> Reason:
        """Create a reason for a check that passed."""
        return cls(code, Severity.HELD, data)  # type: ignore[arg-type]

    @classmethod
    def not_judged(cls, code: str, **data: object) -> Reason:
        """Create a reason for a check that was not made."""
        return cls(code, Severity.NOT_JUDGED, data)  # type: ignore[arg-type]

    @classmethod
    def missing(cls, code: str, **data: object) -> Reason:
        """Create a reason for a necessary check that was not made, so that the result is not
        judged.
        """
        return cls(code, Severity.MISSING, data)  # type: ignore[arg-type]

    @property
    def text(self) -> str:
        """Sentence, without the recommended action."""
        return sentence(TEXTS[self.code].sentence, self.data)

    @property
    def remedy(self) -> str:
        """Recommended action; "" if there is none."""
        return sentence(TEXTS[self.code].remedy, self.data)

    @property
    def advice(self) -> str:
        """Sentence, followed by the recommended action."""
        return f"{self.text} {self.remedy}".strip()

    def to_dict(self) -> dict[str, object]:
        """Return the plain data for JSON."""
        data = {key: list(x) if isinstance(x, tuple) else x for key, x in self.data.items()}
        return {"code": self.code, "severity": self.severity.value, "data": data}

    @classmethod
    def from_dict(cls, raw: Mapping[str, object]) -> Reason:
        """Return the reason from the data of `to_dict`.

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


class Outcome(Kind):
    """Outcome of a verdict."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    NOT_JUDGED = "not judged"

    @property
    def exit_status(self) -> int:
        """Exit status of a command: 0 usable, 1 not usable, 3 not judged (2 is an error of the
        command).
        """
        return {Outcome.FAIL: 1, Outcome.NOT_JUDGED: 3}.get(self, 0)


@dataclass(frozen=True)
class Verdict:
    """Outcome with its reasons.

    The outcome is the first of these that applies: fail, if there is a failure; not judged, if no
    check was made or a necessary check is missing; warn, if there is a warning; pass.

    Attributes:
        reasons: Reasons without duplicates.

    Examples:
        >>> verdict = Verdict((Reason.warning("efforts-late", ms=12.0),))
        >>> verdict.outcome.value, verdict.ok
        ('warn', True)
    """

    reasons: tuple[Reason, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", tuple(dict.fromkeys(self.reasons)))

    def _of(self, severity: Severity) -> tuple[Reason, ...]:
        return tuple(reason for reason in self.reasons if reason.severity is severity)

    @property
    def failures(self) -> tuple[Reason, ...]:
        """Reasons that forbid the use of the result."""
        return self._of(Severity.FAILURE)

    @property
    def warnings(self) -> tuple[Reason, ...]:
        """Reasons that are warnings."""
        return self._of(Severity.WARNING)

    @property
    def held(self) -> tuple[Reason, ...]:
        """Reasons of checks that passed."""
        return self._of(Severity.HELD)

    @property
    def not_judged(self) -> tuple[Reason, ...]:
        """Reasons of checks that were not made."""
        return (*self._of(Severity.MISSING), *self._of(Severity.NOT_JUDGED))

    @property
    def notable(self) -> tuple[Reason, ...]:
        """Failures, then warnings."""
        return (*self.failures, *self.warnings)

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the failures, then of the warnings."""
        return tuple(reason.code for reason in self.notable)

    @property
    def outcome(self) -> Outcome:
        """Worst outcome that any reason requires."""
        if self.failures:
            return Outcome.FAIL
        unseen = self.not_judged and not self.held and not self.warnings
        if unseen or self._of(Severity.MISSING):
            return Outcome.NOT_JUDGED
        return Outcome.WARN if self.warnings else Outcome.PASS

    @property
    def decisive(self) -> tuple[Reason, ...]:
        """Reasons for the outcome: failures and warnings or, if there are none, the checks that
        passed; then the checks that were not made. If the outcome is not judged, the latter come
        first.
        """
        if self.outcome is Outcome.NOT_JUDGED:
            return (*self.not_judged, *self.notable)
        return (*(self.notable or self.held), *self.not_judged)

    @property
    def ok(self) -> bool:
        """True if the result may be used: the outcome is pass or warn."""
        return self.outcome in (Outcome.PASS, Outcome.WARN)

    @property
    def exit_status(self) -> int:
        """Exit status: 0 usable, 1 not usable, 3 not judged."""
        return self.outcome.exit_status

    @property
    def text(self) -> str:
        """Outcome with its reasons, as one line."""
        advice = " ".join(reason.advice for reason in self.decisive)
        return f"{self.outcome.value}: {advice}".rstrip(": ")

    def __add__(self, other: Verdict | Iterable[Reason]) -> Verdict:
        """Return a verdict with the reasons of both verdicts, without duplicates."""
        more = other.reasons if isinstance(other, Verdict) else tuple(other)
        return Verdict((*self.reasons, *more))

    def to_dict(self) -> dict[str, object]:
        """Return a verdict as plain data for JSON: codes and data for programs, sentences for
        people.
        """
        return {
            "outcome": self.outcome.value,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "failures": [reason.advice for reason in self.failures],
            "warnings": [reason.advice for reason in self.warnings],
            "held": [reason.text for reason in self.held],
            "not_judged": [reason.advice for reason in self.not_judged],
        }
