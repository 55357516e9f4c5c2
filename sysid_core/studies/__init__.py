"""The papers' experiments, each one command."""

from sysid_core.studies.cheetah3 import PAPER_TABLE_6, Cheetah3Study, cheetah3_study
from sysid_core.studies.identifiability import IdentifiabilityStudy, identifiability_study
from sysid_core.studies.stanford import (
    PAPER_TABLE_I,
    PAPER_TABLE_II,
    StanfordStudy,
    stanford_study,
)

__all__ = [
    "PAPER_TABLE_6",
    "PAPER_TABLE_I",
    "PAPER_TABLE_II",
    "Cheetah3Study",
    "IdentifiabilityStudy",
    "StanfordStudy",
    "cheetah3_study",
    "identifiability_study",
    "stanford_study",
]
