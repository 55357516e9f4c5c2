# SPDX-License-Identifier: Apache-2.0
"""How commands end: the verdict in words, and the exit status that says the same."""

from __future__ import annotations

from sysid_cli.app import console
from sysid_core.judgement import Judgement, Outcome

_STYLES = {Outcome.PASS: "bold green", Outcome.WARN: "bold yellow", Outcome.FAIL: "bold red"}


def print_judgement(judgement: Judgement, consequence: str = "") -> None:
    """Verdict, reasons, and what follows from a failure."""
    console.print(f"Verdict: {judgement.outcome.value}", style=_STYLES[judgement.outcome])
    for reason in judgement.reasons or judgement.in_order:
        console.print(f"· {reason}", highlight=False, soft_wrap=True, markup=False)
    if not judgement.ok and consequence:
        console.print(consequence, highlight=False, soft_wrap=True, markup=False)
