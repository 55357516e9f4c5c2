# SPDX-License-Identifier: Apache-2.0
"""Whether a result may be used: pass, warn or fail, with the reasons in words."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.kinds import Kind


class Outcome(Kind):
    """What to do with a result."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Judgement:
    """An outcome with its reasons, sentences with the evidence in numbers.

    The outcome follows from the reasons: any failure fails, any warning warns.

    Attributes:
        failures: Why the result must not be used.
        warnings: What to keep in mind.
        basis: What a result that passes was held against.
        held: What was looked at and is in order, where other things aren't.
        not_judged: What was not looked at, and why.

    Examples:
        >>> judgement = Judgement(warnings=("The mass has 3 % standard deviation.",))
        >>> judgement.outcome.value, judgement.ok
        ('warn', True)
        >>> (Judgement(basis="It fits.") + Judgement(basis="It fits.")).in_order
        ('It fits.',)
    """

    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    basis: str = ""
    held: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("failures", "warnings", "held", "not_judged"):
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))

    @property
    def outcome(self) -> Outcome:
        """The worst that any reason asks for."""
        if self.failures:
            return Outcome.FAIL
        return Outcome.WARN if self.warnings else Outcome.PASS

    @property
    def ok(self) -> bool:
        """Whether the result may be used: it passes or warns."""
        return not self.failures

    @property
    def exit_status(self) -> int:
        """1 for a result that must not be used, else 0."""
        return int(not self.ok)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Failures, then warnings."""
        return (*self.failures, *self.warnings)

    @property
    def in_order(self) -> tuple[str, ...]:
        """What was looked at and found right."""
        return self.held or ((self.basis,) if self.basis and not self.reasons else ())

    @property
    def text(self) -> str:
        """One line."""
        return f"{self.outcome.value}: {' '.join(self.reasons) or self.basis}".rstrip(": ")

    def __add__(self, other: Judgement) -> Judgement:
        """Reasons of both, each once."""
        return Judgement(
            (*self.failures, *other.failures),
            (*self.warnings, *other.warnings),
            self.basis
            if other.basis in self.basis
            else " ".join(filter(None, (self.basis, other.basis))),
            (*self.in_order, *other.in_order),
            (*self.not_judged, *other.not_judged),
        )

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "outcome": self.outcome.value,
            "failures": list(self.failures),
            "warnings": list(self.warnings),
            "basis": self.basis,
            "not_judged": list(self.not_judged),
        }
