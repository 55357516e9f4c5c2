# SPDX-License-Identifier: Apache-2.0
"""HTML reports with charts and tables."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.report.arm_charts import export_section, export_table, prediction_chart
    from sysid_core.report.charts import COLOURS, Figure, thinned
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
        prediction_sentence,
        prediction_table,
    )
    from sysid_core.report.loops import loop_checks, loops_report
    from sysid_core.report.motion import motion_report
    from sysid_core.report.payload import (
        comparison_rows,
        error_summary,
        loaded_arm_report,
        payload_report,
        payload_sentence,
        payload_steps,
    )
    from sysid_core.report.runs import (
        compare_runs,
        save_and_list,
        write_index,
    )
    from sysid_core.report.sequential import sequential_report
    from sysid_core.report.space import moving_robot

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "COLOURS",
    "LEGEND",
    "Figure",
    "Report",
    "cell_text",
    "compare_runs",
    "comparison_rows",
    "consistency_sentence",
    "error_summary",
    "export_section",
    "export_table",
    "identifiability_report",
    "identifiability_summary",
    "identifiability_table",
    "identification_report",
    "loaded_arm_report",
    "loop_checks",
    "loops_report",
    "motion_report",
    "moving_robot",
    "payload_report",
    "payload_sentence",
    "payload_steps",
    "prediction_chart",
    "prediction_sentence",
    "prediction_table",
    "save_and_list",
    "sequential_report",
    "thinned",
    "with_deviation",
    "write_index",
]
