# SPDX-License-Identifier: Apache-2.0
"""Object of unknown shape between the fingers of a gripper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_core.robot.shapes.shape import DEFAULT_CELLS, Shape


def grasped(opening: float, *, cells: int = DEFAULT_CELLS) -> Shape:
    """Unknown object held by fingers that close along y, with the origin of the finger frame
    between them.

    Only its width is known; a cube stands for it where a method needs a shape.

    Args:
        opening: Distance of the fingers [m].
        cells: How many cells, about.

    Raises:
        ModelError: The fingers are closed.
    """
    box = Shape.box([opening] * 3, cells=cells)
    return replace(box, name="grasped", fingers=np.array([0.0, opening, 0.0]))
