# SPDX-License-Identifier: Apache-2.0
"""Reproduction of the experiments of Zhang, Haugk and Vasudevan (2024) on a closed chain."""

from sysid_studies.constrained.seed import ConstrainedStudyConfig
from sysid_studies.constrained.study import constrained_study
from sysid_studies.constrained.torque_errors import torque_errors

__all__ = [
    "ConstrainedStudyConfig",
    "constrained_study",
    "torque_errors",
]
