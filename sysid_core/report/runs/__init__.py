# SPDX-License-Identifier: Apache-2.0
"""Reports on several runs: a list, and a comparison."""

from sysid_core.report.runs.comparison import (
    comparison_report,
    comparison_sentence,
    differences_from_first,
)
from sysid_core.report.runs.index import save_and_list, write_index
from sysid_core.report.runs.saved import SavedRun

__all__ = [
    "SavedRun",
    "comparison_report",
    "comparison_sentence",
    "differences_from_first",
    "save_and_list",
    "write_index",
]
