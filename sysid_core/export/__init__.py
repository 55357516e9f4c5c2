# SPDX-License-Identifier: Apache-2.0
"""Export of identified robots to simulators and controllers; each file is read back and its error
measured.
"""

from sysid_core.export.described import Description, describe
from sysid_core.export.files import largest_differences, reader_of, require_target, write_target
from sysid_core.export.judged import ExportedError, judge_export
from sysid_core.export.losses import Loss, LossCode
from sysid_core.export.mjcf import JointFields, PositionServo, mjcf_of, write_mjcf
from sysid_core.export.projection import Projection, Projections, projections
from sysid_core.export.targets import Target
from sysid_core.export.urdf import remarks_on

__all__ = [
    "Description",
    "ExportedError",
    "JointFields",
    "Loss",
    "LossCode",
    "PositionServo",
    "Projection",
    "Projections",
    "Target",
    "describe",
    "judge_export",
    "largest_differences",
    "mjcf_of",
    "projections",
    "reader_of",
    "remarks_on",
    "require_target",
    "write_mjcf",
    "write_target",
]
