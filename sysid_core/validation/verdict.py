"""Whether an identified model may be used: pass, warn or fail, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from sysid_core.estimation import Estimate
from sysid_core.validation.metrics import total

_SATURATED = 0.01  # share of samples at a torque limit that spoils a tracking test


class Outcome(str, Enum):
    """What to do with a model."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Judgement:
    """An outcome with its reasons.

    Attributes:
        outcome: The worst that any reason asks for.
        failures: Why the model must not be used.
        warnings: What to keep in mind.
    """

    outcome: Outcome
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One line."""
        reasons = (*self.failures, *self.warnings)
        return f"{self.outcome.value}: {' '.join(reasons) or 'better than nominal throughout.'}"


def judge(
    estimate: Estimate,
    comparisons: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
    saturated: Mapping[str, float] | None = None,
) -> Judgement:
    """Compare an identified model with the nominal one on runs that weren't fitted.

    It fails when a test as a whole is worse than with the nominal model, or a body is physically
    inconsistent; it warns when a single joint is worse, when the estimate has doubts of its own,
    and when a joint was at its torque limit, because then the test says little of the model.

    Args:
        estimate: With its own doubts.
        comparisons: Test to (identified, nominal) error of every joint.
        saturated: Joint to share of samples at its torque limit.
    """
    failures, warnings = [], list(estimate.certify())
    if estimate.physically_consistent is False:
        failures.append("The identified bodies are not physically consistent.")
    for test, (identified, nominal) in comparisons.items():
        if total(identified) >= total(nominal):
            failures.append(
                f"{test}: {total(identified):.3g} identified, {total(nominal):.3g} nominal."
            )
            continue
        worse = [joint for joint in identified if identified[joint] > nominal[joint]]
        if worse:
            warnings.append(f"{test}: {', '.join(worse)} no better than nominal.")
    stuck = [joint for joint, share in (saturated or {}).items() if share > _SATURATED]
    if stuck:
        warnings.append(f"At the torque limit while tracking: {', '.join(stuck)}.")
    outcome = Outcome.FAIL if failures else Outcome.WARN if warnings else Outcome.PASS
    return Judgement(outcome, tuple(failures), tuple(warnings))
