# SPDX-License-Identifier: Apache-2.0
"""Export of identified robots to simulators and controllers; each file is read back and its error
measured.
"""

from sysid_core.export.arm import (
    PROOF_SCHEMA,
    SEED,
    STATES,
    ArmResult,
    Carried,
    ExportedTarget,
    export_arm,
    judge_file,
)
from sysid_core.export.files import Loss, LossCode, largest_differences
from sysid_core.export.judged import Description, ExportedError, describe
from sysid_core.export.mjcf import JointFields, MjcfReader, PositionServo, mjcf_of, write_mjcf
from sysid_core.export.projection import Projection
from sysid_core.export.targets import Target

__all__ = [
    "PROOF_SCHEMA",
    "SEED",
    "STATES",
    "ArmResult",
    "Carried",
    "Description",
    "ExportedError",
    "ExportedTarget",
    "JointFields",
    "Loss",
    "LossCode",
    "MjcfReader",
    "PositionServo",
    "Projection",
    "Target",
    "describe",
    "export_arm",
    "judge_file",
    "largest_differences",
    "mjcf_of",
    "write_mjcf",
]
