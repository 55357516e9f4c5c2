"""The papers' experiments, each one command."""

from sysid_core.studies.cheetah3 import PAPER_TABLE_6, Cheetah3Study, cheetah3_study
from sysid_core.studies.constrained import (
    ConstrainedSeed,
    ConstrainedStudy,
    ConstrainedStudyConfig,
    constrained_study,
    perturbed_truth,
)
from sysid_core.studies.constrained_paper import (
    PAPER_INTEGRATION_L2,
    PAPER_JOINTS,
    PAPER_TORQUE_RMS,
    PAPER_TRACKING_5,
)
from sysid_core.studies.constrained_report import constrained_report
from sysid_core.studies.identifiability import IdentifiabilityStudy, identifiability_study
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

__all__ = [
    "PAPER_INTEGRATION_L2",
    "PAPER_JOINTS",
    "PAPER_TABLE_6",
    "PAPER_TABLE_I",
    "PAPER_TABLE_II",
    "PAPER_TORQUE_RMS",
    "PAPER_TRACKING_5",
    "Cheetah3Study",
    "ConstrainedSeed",
    "ConstrainedStudy",
    "ConstrainedStudyConfig",
    "IdentifiabilityStudy",
    "SequentialRun",
    "StanfordStudy",
    "cheetah3_study",
    "constrained_report",
    "constrained_study",
    "identifiability_study",
    "locked_torque_of",
    "perturbed_truth",
    "run_sequential",
    "stanford_study",
]
