# SPDX-License-Identifier: Apache-2.0
"""Identified robots as simulators and controllers read them, judged as they are read."""

from sysid_core.export.c_code import CReader, c_of, c_parameters, c_prefix, write_c
from sysid_core.export.described import Description, describe
from sysid_core.export.files import (
    Reader,
    Written,
    largest_differences,
    reader_of,
    write_target,
)
from sysid_core.export.geometry import MeshFolder
from sysid_core.export.judged import ExportedError, Torques, judge_export
from sysid_core.export.losses import Loss, LossCode, losses_of
from sysid_core.export.mjcf import (
    MESH_FORMATS,
    JointFields,
    LinearSpring,
    MjcfReader,
    PositionServo,
    chain_fields,
    joint_fields,
    mjcf_of,
    write_mjcf,
)
from sysid_core.export.projection import Projection, inside, lost_in, projected, projections
from sysid_core.export.sdf import SdfReader, sdf_of
from sysid_core.export.targets import Target
from sysid_core.export.tree import Tree, TreeJoint, tree_of
from sysid_core.export.urdf import UrdfReader, remarks_on, urdf_of
from sysid_core.export.usd import UsdReader, prim_names, usd_of

__all__ = [
    "MESH_FORMATS",
    "CReader",
    "Description",
    "ExportedError",
    "JointFields",
    "LinearSpring",
    "Loss",
    "LossCode",
    "MeshFolder",
    "MjcfReader",
    "PositionServo",
    "Projection",
    "Reader",
    "SdfReader",
    "Target",
    "Torques",
    "Tree",
    "TreeJoint",
    "UrdfReader",
    "UsdReader",
    "Written",
    "c_of",
    "c_parameters",
    "c_prefix",
    "chain_fields",
    "describe",
    "inside",
    "joint_fields",
    "judge_export",
    "largest_differences",
    "losses_of",
    "lost_in",
    "mjcf_of",
    "prim_names",
    "projected",
    "projections",
    "reader_of",
    "remarks_on",
    "sdf_of",
    "tree_of",
    "urdf_of",
    "usd_of",
    "write_c",
    "write_mjcf",
    "write_target",
]
