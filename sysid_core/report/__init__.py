"""Pictures and tables that people read."""

from sysid_core.report.figures import COLOURS, new_figure, time_series
from sysid_core.report.html import Report, cell_text
from sysid_core.report.identifiability import (
    LEGEND,
    identifiability_report,
    identifiability_summary,
    identifiability_table,
)
from sysid_core.report.identification import (
    identification_report,
    prediction_figure,
    prediction_table,
)
from sysid_core.report.payload import comparison_rows, payload_errors, payload_report

__all__ = [
    "COLOURS",
    "LEGEND",
    "Report",
    "cell_text",
    "comparison_rows",
    "identifiability_report",
    "identifiability_summary",
    "identifiability_table",
    "identification_report",
    "new_figure",
    "prediction_figure",
    "prediction_table",
    "time_series",
]
