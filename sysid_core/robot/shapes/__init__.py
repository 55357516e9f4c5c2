# SPDX-License-Identifier: Apache-2.0
"""Shapes of bodies and their inertial parameters."""

from sysid_core.robot.shapes.file import load_shape
from sysid_core.robot.shapes.shape import Shape

__all__ = [
    "Shape",
    "load_shape",
]
