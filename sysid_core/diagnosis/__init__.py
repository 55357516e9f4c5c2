# SPDX-License-Identifier: Apache-2.0
"""Consistency check of recordings and robot description, with the most likely cause of a
contradiction.
"""

from typing import TYPE_CHECKING

from sysid_core.diagnosis.explain import FAIL_SHARE
from sysid_core.lazy import names_of

if TYPE_CHECKING:
    from sysid_core.diagnosis.examination import Examination, examine
    from sysid_core.diagnosis.fitness import require_fit, require_joints
    from sysid_core.diagnosis.gravity import GravityEstimate, estimate_gravity
    from sysid_core.diagnosis.recorded_motion import RecordedMotion
    from sysid_core.diagnosis.samples import collect_samples
    from sysid_core.diagnosis.unmodelled_load import compare_with_torques
    from sysid_core.diagnosis.uses import Use, UseJudge

__getattr__ = names_of(__name__, __file__)

__all__ = [
    "FAIL_SHARE",
    "Examination",
    "GravityEstimate",
    "RecordedMotion",
    "Use",
    "UseJudge",
    "collect_samples",
    "compare_with_torques",
    "estimate_gravity",
    "examine",
    "require_fit",
    "require_joints",
]
