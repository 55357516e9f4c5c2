# SPDX-License-Identifier: Apache-2.0
"""Shapes of bodies and what they weigh."""

from sysid_core.robot.shapes.file import load_shape
from sysid_core.robot.shapes.grasp import grasped
from sysid_core.robot.shapes.shape import TYPED_SD, Shape
from sysid_core.robot.shapes.surface import surface_of
from sysid_core.robot.shapes.urdf import shape_from_urdf

__all__ = [
    "TYPED_SD",
    "Shape",
    "grasped",
    "load_shape",
    "shape_from_urdf",
    "surface_of",
]
