r"""The shape of a held object as cells, each with a volume and an inertia of its own.

A body whose density is constant within each cell, `m_i >= 0`, has the inertial parameters
`pi = Phi @ m` (Nadeau et al. 2022, eq. 5, with the cells' own inertia added), and is physically
consistent whatever the masses are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import trimesh
from numpy.typing import ArrayLike

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array, pi_from_pseudo_inertia

DEFAULT_CELLS = 56  # of the test object of Nadeau et al. 2022: 0.04 points per cm^3
_SUBSAMPLES = (3, 8)  # per cell and axis, since a cell may be cut by the surface
_MAX_SAMPLES = 150_000  # in all


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape cut into n cells, in a frame of its own or, after `posed`, the sensor's.

    Attributes:
        points: Centroids of the cells, shape (n, 3) [m].
        volumes: Shape (n,) [m^3].
        spreads: Second moments of each cell about its centroid per volume, shape (n, 3, 3) [m^2].
        lower: Lower corner of the bounding box, shape (3,) [m].
        upper: Upper corner, shape (3,) [m].
        name: For reports.
    """

    points: Array
    volumes: Array
    spreads: Array
    lower: Array
    upper: Array
    name: str = "shape"

    def __post_init__(self) -> None:
        n = len(self.volumes)
        expected = {
            "points": (n, 3),
            "volumes": (n,),
            "spreads": (n, 3, 3),
            "lower": (3,),
            "upper": (3,),
        }
        for key, shape in expected.items():
            array = np.array(getattr(self, key), dtype=float)
            if array.shape != shape or not np.all(np.isfinite(array)):
                raise ModelError(
                    f"'{key}' of shape '{self.name}' must be finite with shape {shape}."
                )
            array.setflags(write=False)
            object.__setattr__(self, key, array)
        if n == 0 or np.any(self.volumes <= 0) or np.any(self.upper <= self.lower):
            raise ModelError(
                f"The shape '{self.name}' has no volume.",
                remedy="Give a closed mesh, or sizes in metres that are greater than zero.",
            )

    def __len__(self) -> int:
        return len(self.volumes)

    @property
    def volume(self) -> float:
        """Of all cells [m^3]."""
        return float(self.volumes.sum())

    @property
    def size(self) -> Array:
        """Lengths of the bounding box, shape (3,) [m]."""
        return self.upper - self.lower

    @cached_property
    def parameters_per_mass(self) -> Array:
        """`Phi`, the inertial parameters of each cell with unit mass, shape (10, n)."""
        P = np.empty((len(self), 4, 4))
        P[:, :3, :3] = self.spreads + self.points[:, :, None] * self.points[:, None, :]
        P[:, :3, 3] = P[:, 3, :3] = self.points
        P[:, 3, 3] = 1.0
        Phi = pi_from_pseudo_inertia(P).T
        Phi.setflags(write=False)
        return Phi

    def homogeneous(self, mass: float) -> Array:
        """Inertial parameters of this shape with uniform density, shape (10,)."""
        return self.parameters_per_mass @ self.volumes * (mass / self.volume)

    def posed(self, X_SO: ArrayLike) -> Shape:
        """The shape seen from another frame.

        Args:
            X_SO: Pose of the shape's frame in the new frame, shape (4, 4).
        """
        X = np.asarray(X_SO, dtype=float)
        R, p = X[:3, :3], X[:3, 3]
        if (
            X.shape != (4, 4)
            or not np.allclose(R @ R.T, np.eye(3), atol=1e-6)
            or np.linalg.det(R) < 0
        ):
            raise ModelError("The pose of a shape must be a rigid transform of shape (4, 4).")
        corners = np.array(np.meshgrid(*zip(self.lower, self.upper, strict=True))).reshape(3, -1).T
        corners = corners @ R.T + p
        return Shape(
            points=self.points @ R.T + p,
            volumes=self.volumes,
            spreads=R @ self.spreads @ R.T,
            lower=corners.min(axis=0),
            upper=corners.max(axis=0),
            name=self.name,
        )

    def refined(self) -> Shape:
        """Every cell cut in eight along its principal axes; volume and moments stay the same."""
        values, axes = np.linalg.eigh(self.spreads)
        half = axes * np.sqrt(np.maximum(3.0 * values, 0.0))[:, None, :] / 2.0  # columns
        signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1)
        points = self.points[:, None, :] + np.einsum("nij,js->nsi", half, signs)
        return Shape(
            points=points.reshape(-1, 3),
            volumes=np.repeat(self.volumes / 8.0, 8),
            spreads=np.repeat(self.spreads / 4.0, 8, axis=0),
            lower=self.lower,
            upper=self.upper,
            name=self.name,
        )

    @classmethod
    def box(
        cls, size: ArrayLike, centre: ArrayLike = (0.0, 0.0, 0.0), *, cells: int = DEFAULT_CELLS
    ) -> Shape:
        """A solid box with about that many nearly cubic cells; size and centre in metres."""
        size = np.asarray(size, dtype=float)
        if size.shape != (3,) or np.any(size <= 0):
            raise ModelError("A box needs three sizes greater than zero.", remedy="In metres.")
        edge = (np.prod(size) / cells) ** (1 / 3)
        counts = np.maximum(1, np.round(size / edge)).astype(int)
        return cls.from_boxes([(size, centre, counts)], name="box")

    @classmethod
    def from_boxes(
        cls,
        boxes: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]],
        *,
        name: str = "boxes",
    ) -> Shape:
        """A union of boxes that don't overlap.

        Args:
            boxes: Of each: size [m], centre [m], and the number of cells along each axis.
            name: For reports.

        Raises:
            ModelError: Boxes overlap.
        """
        bounds = [
            (np.asarray(c) - np.asarray(s) / 2, np.asarray(c) + np.asarray(s) / 2)
            for s, c, _ in boxes
        ]
        for i, (low_i, up_i) in enumerate(bounds):
            for low_j, up_j in bounds[:i]:
                if np.all(np.minimum(up_i, up_j) - np.maximum(low_i, low_j) > 1e-9):
                    raise ModelError(
                        f"Boxes of '{name}' overlap.", remedy="Use `Shape.union` for those."
                    )
        points, volumes, spreads = [], [], []
        for (size, _, counts), (low, _) in zip(boxes, bounds, strict=True):
            counts = np.asarray(counts, dtype=int)
            step = np.asarray(size, dtype=float) / counts
            axes = [low[i] + step[i] * (np.arange(counts[i]) + 0.5) for i in range(3)]
            grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
            points.append(grid)
            volumes.append(np.full(len(grid), np.prod(step)))
            spreads.append(np.tile(np.diag(step**2 / 12.0), (len(grid), 1, 1)))
        return cls(
            points=np.concatenate(points),
            volumes=np.concatenate(volumes),
            spreads=np.concatenate(spreads),
            lower=np.min([b[0] for b in bounds], axis=0),
            upper=np.max([b[1] for b in bounds], axis=0),
            name=name,
        )

    @classmethod
    def cylinder(cls, radius: float, length: float, *, cells: int = DEFAULT_CELLS) -> Shape:
        """A solid cylinder along z, centred at the origin [m]."""
        half = np.array([radius, radius, length / 2])

        def inside(p: Array) -> Array:
            return (p[:, 0] ** 2 + p[:, 1] ** 2 <= radius**2) & (np.abs(p[:, 2]) <= length / 2)

        return cls.from_indicator(inside, -half, half, cells=cells, name="cylinder")

    @classmethod
    def sphere(cls, radius: float, *, cells: int = DEFAULT_CELLS) -> Shape:
        """A solid ball, centred at the origin [m]."""
        half = np.full(3, float(radius))
        return cls.from_indicator(
            lambda p: np.sum(p**2, axis=1) <= radius**2, -half, half, cells=cells, name="sphere"
        )

    @classmethod
    def from_indicator(
        cls,
        inside: Callable[[Array], Array],
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        cells: int = DEFAULT_CELLS,
        name: str = "shape",
    ) -> Shape:
        """Any solid that can say which points are inside it.

        A cubic grid with about `cells` filled cells; cells that the surface cuts keep the volume,
        centroid and second moments of their inner part.

        Args:
            inside: Points of shape (N, 3) to booleans of shape (N,).
            lower: Lower corner of a box around it, shape (3,) [m].
            upper: Upper corner, shape (3,) [m].
            cells: Wanted number of cells.
            name: For reports.

        Raises:
            ModelError: Nothing of the box is inside.
        """
        lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        extent = upper - lower
        if np.any(extent <= 0) or not np.all(np.isfinite(extent)):
            raise ModelError(f"The shape '{name}' is flat or empty.", remedy="Give a solid.")
        coarse = _grid(lower, upper, np.full(3, 24))[0]
        coarse = coarse[inside(coarse)]
        if len(coarse) == 0:
            raise ModelError(
                f"No point inside the shape '{name}' was found.",
                remedy="Is the mesh closed, and its bounding box that of the object?",
            )
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
        return cls(points, number * np.prod(step), spreads, lower, upper, name)

    @classmethod
    def union(
        cls, shapes: Sequence[trimesh.Trimesh], *, cells: int = DEFAULT_CELLS, name: str = "union"
    ) -> Shape:
        """The union of closed meshes, which may overlap."""
        meshes = list(shapes)
        return cls.from_indicator(
            lambda p: np.any([_inside_mesh(mesh, p) for mesh in meshes], axis=0),
            np.min([mesh.bounds[0] for mesh in meshes], axis=0),
            np.max([mesh.bounds[1] for mesh in meshes], axis=0),
            cells=cells,
            name=name,
        )

    @classmethod
    def from_mesh(
        cls,
        source: str | Path | trimesh.Trimesh,
        *,
        scale: float = 1.0,
        cells: int = DEFAULT_CELLS,
    ) -> Shape:
        """A closed surface mesh: STL, OBJ, PLY or whatever trimesh reads.

        Args:
            source: File, or mesh.
            scale: Metres per unit of the file (0.001 for millimetres).
            cells: Wanted number of cells.

        Raises:
            ModelError: It can't be read, isn't closed, or is larger than any held object.
        """
        name = "mesh"
        if not isinstance(source, trimesh.Trimesh):
            name = Path(source).name
            try:
                source = trimesh.load_mesh(str(source))
            except Exception as err:
                raise ModelError(
                    f"The mesh '{name}' can't be read: {err}.",
                    remedy="Give an STL, OBJ or PLY file.",
                ) from err
        mesh = source.copy()
        mesh.apply_scale(scale)
        if len(mesh.faces) == 0 or not mesh.is_watertight:
            raise ModelError(
                f"The mesh '{name}' is not closed.",
                remedy="Repair it, or use its points with `Shape.from_points` (convex hull).",
            )
        if np.max(mesh.extents) > 5.0:
            raise ModelError(
                f"The mesh '{name}' is {np.max(mesh.extents):.0f} m long.",
                remedy="Is it in millimetres? Give scale=0.001.",
            )
        return cls.from_indicator(
            lambda p: _inside_mesh(mesh, p), mesh.bounds[0], mesh.bounds[1], cells=cells, name=name
        )

    @classmethod
    def from_points(cls, cloud: ArrayLike, *, cells: int = DEFAULT_CELLS) -> Shape:
        """The convex hull of a point cloud, such as a camera's; shape (N, 3) [m]."""
        cloud = np.asarray(cloud, dtype=float)
        flat = cloud.ndim != 2 or cloud.shape[1] != 3 or not np.all(np.isfinite(cloud))
        if flat or np.linalg.matrix_rank(cloud - cloud.mean(axis=0), tol=1e-6) < 3:
            raise ModelError(
                f"A point cloud of shape {cloud.shape} has no convex hull.",
                remedy="Four points or more that aren't in one plane are needed, as (N, 3).",
            )
        hull = trimesh.convex.convex_hull(cloud)
        return cls.from_mesh(hull, cells=cells)


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


def _inside_mesh(mesh: trimesh.Trimesh, points: Array) -> Array:
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
