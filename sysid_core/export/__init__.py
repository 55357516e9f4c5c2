# SPDX-License-Identifier: Apache-2.0
"""Identified robots as simulators and controllers read them, judged as they are read."""

from sysid_core.export.described import Description, describe
from sysid_core.export.judged import ExportedError, Torques, judge_export
from sysid_core.export.projection import Projection, inside, lost_in, projected, projections
from sysid_core.export.targets import Target
from sysid_core.export.urdf import UrdfReader, remarks_on, urdf_of

__all__ = [
    "Description",
    "ExportedError",
    "Projection",
    "Target",
    "Torques",
    "UrdfReader",
    "describe",
    "inside",
    "judge_export",
    "lost_in",
    "projected",
    "projections",
    "remarks_on",
    "urdf_of",
]
