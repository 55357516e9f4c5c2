# SPDX-License-Identifier: Apache-2.0
"""Pages about several runs: their list, and their results side by side."""

from sysid_core.report.runs.comparison import SavedRun, comparison_report, comparison_sentence
from sysid_core.report.runs.index import save_and_list, write_index

__all__ = [
    "SavedRun",
    "comparison_report",
    "comparison_sentence",
    "save_and_list",
    "write_index",
]
