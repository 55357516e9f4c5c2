"""Pictures and tables that people read."""

from sysid_core.report.figures import COLOURS, new_figure, time_series
from sysid_core.report.html import Report, cell_text

__all__ = ["COLOURS", "Report", "cell_text", "new_figure", "time_series"]
