# SPDX-License-Identifier: Apache-2.0
"""Verdict on the use of a result: pass, warn or fail, with the reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sysid_core.kinds import Kind
from sysid_core.reasons.reason import Reason, Severity, advice_of, text_of


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

    The outcome follows from the reasons: any failure fails, any warning warns. A result of which
    nothing was looked at, or that misses what nothing else can stand for, isn't judged.

    Attributes:
        reasons: All of them, each once.

    Examples:
        >>> from sysid_core.reasons import warning
        >>> verdict = Verdict((warning("efforts-late", ms=12.0),))
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
        shown = self.not_judged if self.outcome is Outcome.NOT_JUDGED else self.notable or self.held
        return f"{self.outcome.value}: {' '.join(map(advice_of, shown))}".rstrip(": ")

    def __add__(self, other: Verdict | Iterable[Reason]) -> Verdict:
        """Reasons of both, each once."""
        more = other.reasons if isinstance(other, Verdict) else tuple(other)
        return Verdict((*self.reasons, *more))

    def to_dict(self) -> dict[str, object]:
        """Verdict as plain data for JSON: codes and data for programs, sentences for people."""
        return {
            "outcome": self.outcome.value,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "failures": [advice_of(reason) for reason in self.failures],
            "warnings": [advice_of(reason) for reason in self.warnings],
            "held": [text_of(reason) for reason in self.held],
            "not_judged": [advice_of(reason) for reason in self.not_judged],
        }
