# SPDX-License-Identifier: Apache-2.0
"""HTML reports with charts and tables."""

from typing import TYPE_CHECKING

from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.report.arm_charts import export_table
    from sysid_core.report.charts import Figure
    from sysid_core.report.html import Report, with_deviation
    from sysid_core.report.identifiability import IdentifiabilityPage
    from sysid_core.report.identification import (
        identification_report,
        validation_report,
    )
    from sysid_core.report.loops import LoopsPage
    from sysid_core.report.motion import motion_report
    from sysid_core.report.payload import loaded_arm_report, payload_report
    from sysid_core.report.runs import ReportIndex, compare_runs
    from sysid_core.report.sequential import sequential_report
    from sysid_core.report.space import moving_robot

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "Figure",
    "IdentifiabilityPage",
    "LoopsPage",
    "Report",
    "ReportIndex",
    "compare_runs",
    "export_table",
    "identification_report",
    "loaded_arm_report",
    "motion_report",
    "moving_robot",
    "payload_report",
    "sequential_report",
    "validation_report",
    "with_deviation",
]
