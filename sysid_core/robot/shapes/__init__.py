# SPDX-License-Identifier: Apache-2.0
"""Shapes of bodies and their inertial parameters."""

from sysid_core.robot.shapes.file import load_shape
from sysid_core.robot.shapes.shape import TYPED_SD, Shape

__all__ = [
    "TYPED_SD",
    "Shape",
    "load_shape",
]
