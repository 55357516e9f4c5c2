"""The papers' experiments, each one command."""

from sysid_core.studies.cheetah3 import PAPER_TABLE_6, Cheetah3Study, cheetah3_study
from sysid_core.studies.constrained import ConstrainedStudy, constrained_study
from sysid_core.studies.constrained_paper import (
    PAPER_INTEGRATION_L2,
    PAPER_JOINTS,
    PAPER_TORQUE_RMS,
    PAPER_TRACKING_5,
)
from sysid_core.studies.constrained_report import constrained_report
from sysid_core.studies.constrained_robot import (
    ConstrainedSeed,
    ConstrainedStudyConfig,
    perturbed_truth,
)
from sysid_core.studies.identifiability import IdentifiabilityStudy, identifiability_study
from sysid_core.studies.payload_arm import record_arm, solve_arm, table_iv
from sysid_core.studies.payload_checks import stop_and_go, stop_and_go_table, timing_table
from sysid_core.studies.payload_objects import (
    StudyObject,
    modular_objects,
    modular_shape,
    random_objects,
)
from sysid_core.studies.payload_runs import METHODS as PAYLOAD_METHODS
from sysid_core.studies.payload_runs import (
    Case,
    Result,
    normalised_squared_error,
    run_case,
    simulate,
)
from sysid_core.studies.payload_study import PayloadStudy, payload_study
from sysid_core.studies.payload_tables import PAPER_TABLE_III, PAPER_TABLE_IV, Goal, StudyTable
from sysid_core.studies.sequential_run import (
    SequentialRun,
    locked_torque_of,
    run_sequential,
)
from sysid_core.studies.stanford import (
    PAPER_TABLE_I,
    PAPER_TABLE_II,
    StanfordStudy,
    stanford_study,
)
from sysid_core.validation import payload_errors

__all__ = [
    "PAPER_INTEGRATION_L2",
    "PAPER_JOINTS",
    "PAPER_TABLE_6",
    "PAPER_TABLE_I",
    "PAPER_TABLE_II",
    "PAPER_TABLE_III",
    "PAPER_TABLE_IV",
    "PAPER_TORQUE_RMS",
    "PAPER_TRACKING_5",
    "PAYLOAD_METHODS",
    "Case",
    "Cheetah3Study",
    "ConstrainedSeed",
    "ConstrainedStudy",
    "ConstrainedStudyConfig",
    "Goal",
    "IdentifiabilityStudy",
    "PayloadStudy",
    "Result",
    "SequentialRun",
    "StanfordStudy",
    "StudyObject",
    "StudyTable",
    "cheetah3_study",
    "constrained_report",
    "constrained_study",
    "identifiability_study",
    "locked_torque_of",
    "modular_objects",
    "modular_shape",
    "normalised_squared_error",
    "payload_errors",
    "payload_study",
    "perturbed_truth",
    "random_objects",
    "record_arm",
    "run_case",
    "run_sequential",
    "simulate",
    "solve_arm",
    "stanford_study",
    "stop_and_go",
    "stop_and_go_table",
    "table_iv",
    "timing_table",
]
