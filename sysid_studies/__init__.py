# SPDX-License-Identifier: Apache-2.0
"""Reproductions of the experiments of four papers, one command each."""

from sysid_studies.cheetah3 import cheetah3_study
from sysid_studies.identifiability import identifiability_study
from sysid_studies.stanford import stanford_study
from sysid_studies.table import Study

__all__ = [
    "Study",
    "cheetah3_study",
    "identifiability_study",
    "stanford_study",
]
