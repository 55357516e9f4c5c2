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
    hashed,
    judge_file,
    proof_of,
)
from sysid_core.export.c_code import write_c
from sysid_core.export.files import LossCode, largest_differences, reader_of
from sysid_core.export.joint_fields import JointFields, PositionServo
from sysid_core.export.judged import Description, ExportedError, describe
from sysid_core.export.mjcf import TIMESTEP, mjcf_of, write_mjcf
from sysid_core.export.projection import Projection
from sysid_core.export.targets import Target
from sysid_core.export.usd import actuators_of

__all__ = [
    "PROOF_SCHEMA",
    "SEED",
    "STATES",
    "TIMESTEP",
    "ArmResult",
    "Carried",
    "Description",
    "ExportedError",
    "ExportedTarget",
    "JointFields",
    "LossCode",
    "PositionServo",
    "Projection",
    "Target",
    "actuators_of",
    "describe",
    "export_arm",
    "hashed",
    "judge_file",
    "largest_differences",
    "mjcf_of",
    "proof_of",
    "reader_of",
    "write_c",
    "write_mjcf",
]
