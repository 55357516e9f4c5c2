# SPDX-License-Identifier: Apache-2.0
"""Consistency check of recordings and robot description, with the most likely cause of a
contradiction.
"""

from sysid_core.diagnosis.examine import (
    FAIL_SHARE,
    Examination,
    Finding,
    examine,
    examine_samples,
)
from sysid_core.diagnosis.fitness import require_fit, require_joints, stream_faults
from sysid_core.diagnosis.gravity import GravityEstimate, estimate_gravity
from sysid_core.diagnosis.hypotheses import Hypothesis, mount_of
from sysid_core.diagnosis.recorded_motion import PayloadShown, RecordedMotion
from sysid_core.diagnosis.samples import Samples, collect_samples
from sysid_core.diagnosis.stream_checks import effort_faults
from sysid_core.diagnosis.unmodelled_load import compare_with_torques
from sysid_core.diagnosis.uses import Use, UseJudge

__all__ = [
    "FAIL_SHARE",
    "Examination",
    "Finding",
    "GravityEstimate",
    "Hypothesis",
    "PayloadShown",
    "RecordedMotion",
    "Samples",
    "Use",
    "UseJudge",
    "collect_samples",
    "compare_with_torques",
    "effort_faults",
    "estimate_gravity",
    "examine",
    "examine_samples",
    "mount_of",
    "require_fit",
    "require_joints",
    "stream_faults",
]
