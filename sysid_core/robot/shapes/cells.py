# SPDX-License-Identifier: Apache-2.0
"""Division of solids into cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sysid_core.robot.inertia import Array

Mask = NDArray[np.bool_]
Axes = tuple[Array, Array, Array]  # coordinates of a grid along x, y and z
_SUBSAMPLES = (3, 12)  # per cell and axis, since a cell may be cut by the surface
_MAX_SAMPLES = 600_000  # in all


def cut_into_cells(
    inside: Callable[[Axes], Mask], lower: Array, upper: Array, cells: int
) -> tuple[Array, Array, Array] | None:
    """Return the grid of cubic cells whose number inside the solid is about the requested one.

    Args:
        inside: Function from the axes of a grid to the mask of its points inside, (nx, ny, nz).
        lower: Lower corner of a box around the solid, shape (3,) [m].
        upper: Upper corner of that box, shape (3,) [m].
        cells: Requested number of cells.

    Returns:
        Centroids (n, 3), volumes (n,) and second moments per volume (n, 3, 3) of the inner parts
        of the cells [m, m^3, m^2]; None if no point is inside.
    """
    extent = upper - lower
    coarse = _points(inside, _axes(lower, upper, np.full(3, 24)))
    if len(coarse) == 0:
        return None
    counts = _grid_for(cells, (coarse - lower) / extent, extent)
    finer = int(np.clip((_MAX_SAMPLES / np.prod(counts)) ** (1 / 3), *_SUBSAMPLES))
    fine = _points(inside, _axes(lower, upper, counts * finer))
    step = extent / (counts * finer)
    index = np.floor((fine - lower) / (extent / counts)).astype(int)
    flat = np.ravel_multi_index(tuple(np.minimum(index, counts - 1).T), tuple(counts))
    cell = np.unique(flat, return_inverse=True)[1]
    number = np.bincount(cell).astype(float)
    sums = np.stack([np.bincount(cell, fine[:, i]) for i in range(3)], axis=1)
    points = sums / number[:, None]
    offset = fine - points[cell]
    squares = [[np.bincount(cell, offset[:, i] * offset[:, j]) for j in range(3)] for i in range(3)]
    spreads = np.moveaxis(np.array(squares), 2, 0) / number[:, None, None] + np.diag(step**2 / 12.0)
    return points, number * np.prod(step), spreads


def with_moments(
    cells: tuple[Array, Array, Array], volume: float, centre: Array, spread: Array
) -> tuple[Array, Array, Array]:
    """Return the cells after the smallest displacement and stretch that makes their moments exact.

    The symmetric map `S^1/2 (S^1/2 T S^1/2)^-1/2 S^1/2` between two covariances T and S moves mass
    least (Peyre and Cuturi 2019, Computational optimal transport, remark 2.31).

    Args:
        cells: Centroids (n, 3), volumes (n,) and second moments per volume (n, 3, 3).
        volume: Volume of the solid [m^3].
        centre: Centroid of the solid, shape (3,) [m].
        spread: Second moments of the solid about its centroid per volume, shape (3, 3) [m^2].
    """
    points, volumes, spreads = cells
    share = volumes / volumes.sum()
    middle = share @ points
    offset = points - middle
    found = np.einsum("n,nij->ij", share, spreads + offset[:, :, None] * offset[:, None, :])
    root = _root(spread)
    A = root @ np.linalg.inv(_root(root @ found @ root)) @ root
    return offset @ A.T + centre, share * volume, A @ spreads @ A.T


def _root(S: Array) -> Array:
    """Symmetric square root of a positive definite matrix."""
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _grid_for(cells: int, samples: Array, extent: Array) -> Array:
    """Numbers of cells along each axis, such that about `cells` nearly cubic cells contain a part
    of the solid.

    Args:
        cells: Requested number of cells.
        samples: Points inside, as parts of the box, shape (N, 3).
        extent: Lengths of the box, shape (3,) [m].
    """
    edge = (np.prod(extent) / cells) ** (1 / 3)
    for _ in range(6):
        counts = np.maximum(1, np.round(extent / edge)).astype(int)
        bins = np.minimum((samples * counts).astype(int), counts - 1)
        filled = len(np.unique(np.ravel_multi_index(tuple(bins.T), tuple(counts))))
        edge *= (filled / cells) ** (1 / 3)
    return counts


def _axes(lower: Array, upper: Array, counts: Array) -> Axes:
    """Centres of a grid's cells along each axis."""
    step = (upper - lower) / counts
    x, y, z = (lower[i] + step[i] * (np.arange(counts[i]) + 0.5) for i in range(3))
    return x, y, z


def _points(inside: Callable[[Axes], Mask], axes: Axes) -> Array:
    """Grid points that are inside the solid, shape (N, 3)."""
    index = np.nonzero(inside(axes))
    return np.stack([axis[i] for axis, i in zip(axes, index, strict=True)], axis=1)
