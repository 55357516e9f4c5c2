"""Cutting solids into cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import trimesh

from sysid_core.robot.inertia import Array

_SUBSAMPLES = (3, 8)  # per cell and axis, since a cell may be cut by the surface
_MAX_SAMPLES = 150_000  # in all


def cut_into_cells(
    inside: Callable[[Array], Array], lower: Array, upper: Array, cells: int
) -> tuple[Array, Array, Array] | None:
    """A cubic grid with about that many filled cells.

    Args:
        inside: Points of shape (N, 3) to booleans of shape (N,).
        lower: Lower corner of a box around the solid, shape (3,) [m].
        upper: Upper corner, shape (3,) [m].
        cells: Wanted number of cells.

    Returns:
        Centroids (n, 3), volumes (n,) and second moments per volume (n, 3, 3) of the inner parts
        of the cells; None when nothing is inside.
    """
    extent = upper - lower
    coarse = _grid(lower, upper, np.full(3, 24))[0]
    coarse = coarse[inside(coarse)]
    if len(coarse) == 0:
        return None
    counts = _grid_for(cells, (coarse - lower) / extent, extent)
    finer = int(np.clip((_MAX_SAMPLES / np.prod(counts)) ** (1 / 3), *_SUBSAMPLES))
    fine, step = _grid(lower, upper, counts * finer)
    keep = inside(fine)
    index = np.floor((fine[keep] - lower) / (extent / counts)).astype(int)
    flat = np.ravel_multi_index(tuple(np.minimum(index, counts - 1).T), tuple(counts))
    used, cell = np.unique(flat, return_inverse=True)
    number = np.bincount(cell).astype(float)
    sums = np.stack([np.bincount(cell, fine[keep, i]) for i in range(3)], axis=1)
    points = sums / number[:, None]
    offset = fine[keep] - points[cell]
    spreads = np.zeros((len(used), 3, 3))
    np.add.at(spreads, cell, offset[:, :, None] * offset[:, None, :])
    spreads = spreads / number[:, None, None] + np.diag(step**2 / 12.0)
    return points, number * np.prod(step), spreads


def _grid_for(cells: int, samples: Array, extent: Array) -> Array:
    """Cells along each axis so that about `cells` nearly cubic ones are not empty.

    Args:
        cells: Wanted number.
        samples: Points inside, as parts of the box, shape (N, 3).
        extent: Of the box, shape (3,) [m].
    """
    edge = (np.prod(extent) / cells) ** (1 / 3)
    for _ in range(6):
        counts = np.maximum(1, np.round(extent / edge)).astype(int)
        bins = np.minimum((samples * counts).astype(int), counts - 1)
        filled = len(np.unique(np.ravel_multi_index(tuple(bins.T), tuple(counts))))
        edge *= (filled / cells) ** (1 / 3)
    return counts


def _grid(lower: Array, upper: Array, counts: Array) -> tuple[Array, Array]:
    """Centres of a grid, shape (N, 3), and its step, shape (3,)."""
    step = (upper - lower) / counts
    axes = [lower[i] + step[i] * (np.arange(counts[i]) + 0.5) for i in range(3)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3), step


def inside_mesh(mesh: trimesh.Trimesh, points: Array) -> Array:
    """Which points a closed mesh encloses: an odd number of faces lies above.

    Points of a grid share their vertical lines, and each line is cut with all faces at once.
    """
    triangles = np.asarray(mesh.triangles)
    lines, line_of = np.unique(points[:, :2], axis=0, return_inverse=True)
    order = np.argsort(line_of, kind="stable")
    starts = np.searchsorted(line_of[order], np.arange(len(lines) + 1))
    # A line through an edge would meet both of its faces: step aside by less than a micron.
    lines = lines + np.array([0.7310585, 0.4621172]) * 1e-7 * float(np.max(mesh.extents))
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    e1, e2 = (b - a)[:, :2], (c - a)[:, :2]
    area = e1[:, 0] * e2[:, 1] - e1[:, 1] * e2[:, 0]
    upright = np.abs(area) < 1e-18
    safe = np.where(upright, 1.0, area)
    inside = np.zeros(len(points), dtype=bool)
    for k, line in enumerate(lines):
        d = line - a[:, :2]
        u = (d[:, 0] * e2[:, 1] - d[:, 1] * e2[:, 0]) / safe
        w = (e1[:, 0] * d[:, 1] - e1[:, 1] * d[:, 0]) / safe
        hit = ~upright & (u >= 0) & (w >= 0) & (u + w <= 1)
        z = a[hit, 2] + u[hit] * (b[hit, 2] - a[hit, 2]) + w[hit] * (c[hit, 2] - a[hit, 2])
        here = order[starts[k] : starts[k + 1]]
        inside[here] = np.count_nonzero(z[None, :] > points[here, 2:], axis=1) % 2 == 1
    return inside
