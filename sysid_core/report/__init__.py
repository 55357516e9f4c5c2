"""Pictures and tables that people read."""

from sysid_core.report.figures import COLOURS, new_figure, time_series
from sysid_core.report.html import Report, cell_text
from sysid_core.report.identification import (
    identification_report,
    prediction_figure,
    prediction_table,
)

__all__ = [
    "COLOURS",
    "Report",
    "cell_text",
    "identification_report",
    "new_figure",
    "prediction_figure",
    "prediction_table",
    "time_series",
]
