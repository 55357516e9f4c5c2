# SPDX-License-Identifier: Apache-2.0
"""Experiments of the papers, one command each."""

from sysid_studies.cheetah3 import PAPER_TABLE_6, cheetah3_study
from sysid_studies.identifiability import identifiability_study
from sysid_studies.stanford import PAPER_TABLE_I, PAPER_TABLE_II, StanfordStudy, stanford_study

__all__ = [
    "PAPER_TABLE_6",
    "PAPER_TABLE_I",
    "PAPER_TABLE_II",
    "StanfordStudy",
    "cheetah3_study",
    "identifiability_study",
    "stanford_study",
]
