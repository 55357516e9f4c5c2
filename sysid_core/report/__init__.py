# SPDX-License-Identifier: Apache-2.0
"""Pictures and tables that people read."""

from sysid_core.report.arm_charts import prediction_chart
from sysid_core.report.charts import thinned, time_series
from sysid_core.report.constrained import constrained_identification_report
from sysid_core.report.figures import COLOURS, new_figure
from sysid_core.report.html import Report, cell_text, with_deviation
from sysid_core.report.identifiability import (
    LEGEND,
    identifiability_report,
    identifiability_summary,
    identifiability_table,
)
from sysid_core.report.identification import (
    consistency_sentence,
    identification_report,
    prediction_table,
)
from sysid_core.report.loaded_arm import loaded_arm_report
from sysid_core.report.loops import loops_report
from sysid_core.report.motion import motion_report
from sysid_core.report.payload import comparison_rows, error_summary, payload_report
from sysid_core.report.sequential import error_growth_figure, sequential_report, step_rows

__all__ = [
    "COLOURS",
    "LEGEND",
    "Report",
    "cell_text",
    "comparison_rows",
    "consistency_sentence",
    "constrained_identification_report",
    "error_growth_figure",
    "error_summary",
    "identifiability_report",
    "identifiability_summary",
    "identifiability_table",
    "identification_report",
    "loaded_arm_report",
    "loops_report",
    "motion_report",
    "new_figure",
    "payload_report",
    "prediction_chart",
    "prediction_table",
    "sequential_report",
    "step_rows",
    "thinned",
    "time_series",
    "with_deviation",
]
