# SPDX-License-Identifier: Apache-2.0
"""Surface layer of a shape, for hollow objects."""

from __future__ import annotations

import numpy as np

from sysid_core.robot.shapes.shape import Shape


def surface_of(shape: Shape) -> Shape:
    """Surface of a shape as a thin layer of cells: those faces of its cells that have no neighbour.

    Volumes are areas here [m^2]: only their shares matter.
    """
    values, axes = np.linalg.eigh(shape.spreads)
    half = np.sqrt(np.maximum(3.0 * values, 1e-18))  # (n, 3) along the columns of axes
    sides = np.concatenate([np.eye(3), -np.eye(3)])
    outward = np.einsum("nij,sj->nsi", axes, sides)
    reach = np.tile(half, (1, 2))[:, :, None]
    faces = shape.points[:, None] + reach * outward
    beyond = (faces + 0.3 * reach * outward).reshape(-1, 3)
    open_ = np.ones(len(beyond), dtype=bool)
    for point, axis, h in zip(shape.points, axes, half, strict=True):
        open_ &= np.any(np.abs((beyond - point) @ axis) > h, axis=1)
    cell, side = np.nonzero(open_.reshape(len(shape), 6))
    flat = (np.arange(3) != (side % 3)[:, None]) * half[cell]  # (k, 3): no depth
    area = 4.0 * np.prod(np.where(flat > 0, flat, 1.0), axis=1)
    A = axes[cell]
    spreads = (A * (flat**2 / 3.0)[:, None, :]) @ A.transpose(0, 2, 1)
    return Shape(faces[cell, side], area, spreads, shape.lower, shape.upper, shape.name)
