# SPDX-License-Identifier: Apache-2.0
"""From recordings to a judged identification: what `sysid identify` does, as functions.

Heavy rooms are imported when a function is called: `sysid --help` imports this door.
"""

from sysid_core.pipeline.arm import ArmRun, identify_arm
from sysid_core.pipeline.choices import METHODS, WITH_PRIOR, estimator_from, friction_terms
from sysid_core.pipeline.export import (
    PROOF_SCHEMA,
    ArmResult,
    ExportedTarget,
    ProofCheck,
    export_result,
    load_result,
    verify_export,
)
from sysid_core.pipeline.inputs import inputs_of
from sysid_core.pipeline.judged import JudgedArm, Settings, identify_judged
from sysid_core.pipeline.recordings import drives_of, is_bag, load_recording

__all__ = [
    "METHODS",
    "PROOF_SCHEMA",
    "WITH_PRIOR",
    "ArmResult",
    "ArmRun",
    "ExportedTarget",
    "JudgedArm",
    "ProofCheck",
    "Settings",
    "drives_of",
    "estimator_from",
    "export_result",
    "friction_terms",
    "identify_arm",
    "identify_judged",
    "inputs_of",
    "is_bag",
    "load_recording",
    "load_result",
    "verify_export",
]
