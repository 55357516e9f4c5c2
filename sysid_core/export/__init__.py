# SPDX-License-Identifier: Apache-2.0
"""Export of identified robots to simulators and controllers; each file is read back and its error
measured.
"""

from sysid_core.export.arm import (
    ArmResult,
    Carried,
    ExportedTarget,
    Proof,
)
from sysid_core.export.c_code import write_c
from sysid_core.export.files import largest_differences, reader_of
from sysid_core.export.joint_fields import JointFields, PositionServo
from sysid_core.export.judged import Description, ExportedError
from sysid_core.export.mjcf import TIMESTEP, mjcf_of, write_mjcf
from sysid_core.export.projection import Projection, Target
from sysid_core.export.usd import actuators_of

__all__ = [
    "TIMESTEP",
    "ArmResult",
    "Carried",
    "Description",
    "ExportedError",
    "ExportedTarget",
    "JointFields",
    "PositionServo",
    "Projection",
    "Proof",
    "Target",
    "actuators_of",
    "largest_differences",
    "mjcf_of",
    "reader_of",
    "write_c",
    "write_mjcf",
]
