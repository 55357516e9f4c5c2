# SPDX-License-Identifier: Apache-2.0
"""Surface meshes as solids: files, holes, inside and outside, exact moments."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sysid_core.errors import ModelError, SysIdError
from sysid_core.files import FileKind
from sysid_core.lazy import lazy_import
from sysid_core.robot.inertia import Array
from sysid_core.robot.shapes.cells import Axes, Mask, cut_into_cells, with_moments

if TYPE_CHECKING:
    import trimesh
else:
    trimesh = lazy_import("trimesh")

_MOMENTS_TOLERANCE = 0.3  # relative, between a mesh's integrals and its cut cells
_MAX_LENGTH = 5.0  # [m], of anything that an arm holds

_FILE = FileKind("mesh", "Give an STL, OBJ or PLY file.", ModelError)
_MOST_BYTES = 1 << 30  # ten million triangles have half of it
Solid = tuple[Array, Array, Array, Array, Array]  # points, volumes, spreads, lower, upper


def cut_mesh_file(path: Path, scale: float, hull: bool, cells: int) -> Solid:
    """Divide the solid in a mesh file into cells; the result is cached by the content of the file.

    Args:
        path: STL, OBJ or PLY file; without faces it is a point cloud, whose convex hull is used.
        scale: Metres per unit of the file.
        hull: True for the convex hull of the mesh.
        cells: Requested number of cells.

    Raises:
        ModelError: The mesh cannot be read, is not closed, or is larger than any held object.
    """
    try:
        content = _FILE.read_bytes(path, most=_MOST_BYTES)
    except SysIdError as err:
        raise _unreadable(path.name, err) from err
    return _cut_content(content, path.name, path.suffix.lower().lstrip("."), scale, hull, cells)


def _unreadable(name: str, err: Exception) -> ModelError:
    return ModelError(
        f"The mesh '{name}' can't be read: {err}.", remedy="Give an STL, OBJ or PLY file."
    )


@lru_cache(maxsize=32)
def _cut_content(
    content: bytes, name: str, kind: str, scale: float, hull: bool, cells: int
) -> Solid:
    try:
        read = trimesh.load(BytesIO(content), file_type=kind)
        if isinstance(read, trimesh.Scene):
            read = read.to_mesh()
    except Exception as err:
        raise _unreadable(name, err) from err
    if not isinstance(read, trimesh.Trimesh) or len(read.faces) == 0:
        read = convex_hull(np.asarray(read.vertices, dtype=float))
    return cut_mesh(read, name, scale, hull, cells)


def cut_mesh(source: trimesh.Trimesh, name: str, scale: float, hull: bool, cells: int) -> Solid:
    """Divide the solid inside a mesh into cells that have the polyhedron's volume, centroid and
    second moments.

    Raises:
        ModelError: The mesh is not closed, or is larger than any held object.
    """
    mesh = convex_hull(np.asarray(source.vertices, dtype=float)) if hull else source.copy()
    mesh.apply_scale(scale)
    if not is_closed(mesh):
        raise ModelError(
            f"The mesh '{name}' is not closed.",
            remedy=f"Repair it, or take its convex hull: 'hull {name}' (`hull=True`).",
        )
    if np.max(mesh.extents) > _MAX_LENGTH:
        raise ModelError(
            f"The mesh '{name}' is implausibly large: {np.max(mesh.extents):.0f} m.",
            remedy=f"If the mesh is in millimetres, give '{name} scale 0.001' (`scale=0.001`).",
        )
    lower, upper = np.array(mesh.bounds)
    cut = cut_into_cells(lambda axes: inside_mesh(mesh, axes), lower, upper, cells)
    if cut is None:
        raise ModelError(
            f"The mesh '{name}' encloses nothing.", remedy="Give a solid, not a surface."
        )
    return *_with_integrals(mesh, cut), lower, upper


def _with_integrals(
    mesh: trimesh.Trimesh, cells: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """Cells of a mesh, scaled to the volume, centre and second moments of the polyhedron.

    The moments are integrals over the polyhedron (Mirtich 1996). If these are wrong, because faces
    are turned inside out or solids overlap, the cells are returned unchanged.
    """
    volume = float(mesh.volume)
    found = float(cells[1].sum())
    if abs(abs(volume) - found) > _MOMENTS_TOLERANCE * found:
        return cells
    inertia = np.asarray(mesh.moment_inertia) / volume
    spread = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    if np.linalg.eigvalsh(spread)[0] <= 0.0:
        return cells
    return with_moments(cells, abs(volume), np.asarray(mesh.center_mass), spread)


def convex_hull(cloud: Array) -> trimesh.Trimesh:
    """Return the convex hull of points, shape (N, 3).

    Raises:
        ModelError: The points lie in a plane, or are not finite.
    """
    flat = cloud.ndim != 2 or cloud.shape[1] != 3 or not np.all(np.isfinite(cloud))
    if flat or np.linalg.matrix_rank(cloud - cloud.mean(axis=0), tol=1e-6) < 3:
        raise ModelError(
            f"A point cloud of shape {cloud.shape} has no convex hull.",
            remedy="Four points or more that aren't in one plane are needed, as (N, 3).",
        )
    return trimesh.convex.convex_hull(cloud)


def inside_mesh(mesh: trimesh.Trimesh, axes: Axes) -> Mask:
    """Return the mask of the grid points inside a closed mesh: those with an odd number of faces
    above them.

    Each face is intersected with the vertical grid lines inside its bounding rectangle. This takes
    2 ms for 5120 faces and 8000 points; `trimesh.contains`, which casts a ray for each point, gives
    the same answer in 20 s.

    Args:
        mesh: Closed mesh: every edge belongs to an even number of faces.
        axes: Increasing coordinates of the grid along x, y and z [m].

    Returns:
        Mask of the points inside, shape (nx, ny, nz).
    """
    x, y, z = axes
    # A line through an edge would meet both of its faces: step aside by less than a micron.
    aside = np.array([0.7310585, 0.4621172]) * 1e-7 * float(np.max(mesh.extents))
    x, y = x + aside[0], y + aside[1]
    a, b, c = np.moveaxis(np.asarray(mesh.triangles), 1, 0)
    first = [
        np.searchsorted(g, np.min([p[:, i] for p in (a, b, c)], 0)) for i, g in ((0, x), (1, y))
    ]
    last = [
        np.searchsorted(g, np.max([p[:, i] for p in (a, b, c)], 0)) for i, g in ((0, x), (1, y))
    ]
    wide, deep = last[0] - first[0], last[1] - first[1]
    face = np.repeat(np.arange(len(a)), wide * deep)
    number = np.arange(len(face)) - np.repeat(np.cumsum(wide * deep) - wide * deep, wide * deep)
    ix = first[0][face] + number // np.maximum(deep[face], 1)
    iy = first[1][face] + number % np.maximum(deep[face], 1)
    e1, e2 = (b - a)[face, :2], (c - a)[face, :2]
    d = np.stack([x[ix], y[iy]], axis=1) - a[face, :2]
    area = e1[:, 0] * e2[:, 1] - e1[:, 1] * e2[:, 0]
    upright = np.abs(area) < 1e-18
    safe = np.where(upright, 1.0, area)
    u = (d[:, 0] * e2[:, 1] - d[:, 1] * e2[:, 0]) / safe
    w = (e1[:, 0] * d[:, 1] - e1[:, 1] * d[:, 0]) / safe
    hit = ~upright & (u >= 0) & (w >= 0) & (u + w <= 1)
    face, ix, iy, u, w = face[hit], ix[hit], iy[hit], u[hit], w[hit]
    height = a[face, 2] + u * (b - a)[face, 2] + w * (c - a)[face, 2]
    # A face at that height lies above the grid points below it.
    below = np.zeros((len(x), len(y), len(z) + 1), dtype=np.int32)
    np.add.at(below, (ix, iy, np.searchsorted(z, height)), 1)
    above = below[:, :, ::-1].cumsum(axis=2)[:, :, ::-1][:, :, 1:]
    return np.asarray(above % 2 == 1)


def is_closed(mesh: trimesh.Trimesh) -> bool:
    """Return True if every edge belongs to an even number of faces (touching solids share edges)."""
    if len(mesh.faces) == 0:
        return False
    _, counts = np.unique(mesh.edges_sorted, axis=0, return_counts=True)
    return bool(np.all(counts % 2 == 0))
