# SPDX-License-Identifier: Apache-2.0
"""How commands end: the verdict in words, and the exit status that says the same."""

from __future__ import annotations

from sysid_cli.app import console
from sysid_core.reasons import Outcome, Verdict, advice_of

_STYLES = {
    Outcome.PASS: "bold green",
    Outcome.WARN: "bold yellow",
    Outcome.FAIL: "bold red",
    Outcome.NOT_JUDGED: "bold yellow",
}


def print_verdict(verdict: Verdict, consequence: str = "") -> None:
    """Verdict, reasons, and what follows from a failure."""
    console.print(f"Verdict: {verdict.outcome.value}", style=_STYLES[verdict.outcome])
    for reason in verdict.notable or (*verdict.held, *verdict.not_judged):
        console.print(f"· {advice_of(reason)}", highlight=False, soft_wrap=True, markup=False)
    if not verdict.ok and consequence:
        console.print(consequence, highlight=False, soft_wrap=True, markup=False)
