# SPDX-License-Identifier: Apache-2.0
"""Reasons of verdicts: codes and data inside the program, sentences for display."""

from sysid_core.reasons.reason import (
    Outcome,
    Reason,
    Severity,
    Verdict,
)
from sysid_core.reasons.texts import TEXTS

__all__ = [
    "TEXTS",
    "Outcome",
    "Reason",
    "Severity",
    "Verdict",
]
