# SPDX-License-Identifier: Apache-2.0
"""Shape of a held object as cells, each with a volume and an inertia.

A body whose density is constant within each cell, `m_i >= 0`, has the inertial parameters `pi = Phi
@ m` (Nadeau et al. 2022, eq. 5, with the cells' own inertia added), and is physically consistent
for any masses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.arrays import own_arrays
from sysid_core.errors import ModelError
from sysid_core.lazy import lazy_import
from sysid_core.robot.inertia import Array, pi_from_pseudo_inertia
from sysid_core.robot.shapes.mesh import (
    Axes,
    Mask,
    cut_into_cells,
    cut_mesh,
    cut_mesh_file,
    with_moments,
)

if TYPE_CHECKING:
    import trimesh
else:
    trimesh = lazy_import("trimesh")

DEFAULT_CELLS = 56  # of the test object of Nadeau et al. 2022: 0.04 points per cm^3

TYPED_SD, CLOUD_SD = 0.5, 0.1  # of lengths: what somebody typed, what a camera saw of one side


@dataclass(frozen=True, eq=False)
class Shape:
    """Shape of an object, divided into n cells, in its own frame or (after `posed`) in the sensor
    frame.

    Attributes:
        points: Centroids of the cells, shape (n, 3) [m].
        volumes: Volumes of the cells, shape (n,) [m^3].
        spreads: Second moments of each cell about its centroid per volume, shape (n, 3, 3) [m^2].
        lower: Lower corner of the bounding box, shape (3,) [m].
        upper: Upper corner of the bounding box, shape (3,) [m].
        name: Name of the shape in reports.
        fingers: Vector from one finger of the gripper to the other, shape (3,) [m]; None unless
            only the opening of the gripper is known (`grasped`).
        size_sd: Relative standard deviation of the lengths: 0 for a mesh from CAD or a scan, 0.5
            for dimensions entered by hand.

    Raises:
        ModelError: An array has wrong dimensions or non-finite values, or the object has no volume.

    References:
        Nadeau, Giamou, Kelly 2022 (cells that carry the mass).

    Examples:
        >>> inertia = Shape.box((0.2, 0.1, 0.05)).homogeneous(1.0)[4:7]  # Ixx, Ixy, Iyy
        >>> (inertia.round(6) + 0.0).tolist()  # -0.0 + 0.0 is 0.0: kernels differ in the sign of zero
        [0.001042, 0.0, 0.003542]
    """

    TYPED_SD: ClassVar[float] = TYPED_SD

    points: Array
    volumes: Array
    spreads: Array
    lower: Array
    upper: Array
    name: str = "shape"
    fingers: Array | None = None
    size_sd: float = TYPED_SD

    def __post_init__(self) -> None:
        n = len(self.volumes)
        cells = {"points": (n, 3), "volumes": (n,), "spreads": (n, 3, 3)}
        own_arrays(
            self,
            ModelError,
            "Give finite numbers in metres.",
            f"shape '{self.name}'",
            finite=True,
            **cells,
            lower=(3,),
            upper=(3,),
        )
        if n == 0 or np.any(self.volumes <= 0) or np.any(self.upper <= self.lower):
            raise ModelError(
                f"The shape '{self.name}' has no volume.",
                remedy="Give a closed mesh, or sizes in metres that are greater than zero.",
            )

    def __len__(self) -> int:
        return len(self.volumes)

    @property
    def volume(self) -> float:
        """Total volume of the cells [m^3]."""
        return float(self.volumes.sum())

    @property
    def size(self) -> Array:
        """Edge lengths of the bounding box, shape (3,) [m]."""
        return self.upper - self.lower

    @cached_property
    def parameters_per_mass(self) -> Array:
        """Matrix `Phi` with the inertial parameters of each cell for unit mass, shape (10, n).

        Nadeau, Giamou and Kelly (2022), eq. (5), with the cells' own inertia added.
        """
        P = np.empty((len(self), 4, 4))
        P[:, :3, :3] = self.spreads + self.points[:, :, None] * self.points[:, None, :]
        P[:, :3, 3] = P[:, 3, :3] = self.points
        P[:, 3, 3] = 1.0
        Phi = pi_from_pseudo_inertia(P).T
        Phi.setflags(write=False)
        return Phi

    def homogeneous(self, mass: float) -> Array:
        """Return the inertial parameters of this shape with uniform density, shape (10,)."""
        return self.parameters_per_mass @ self.volumes * (mass / self.volume)

    def posed(self, X_SO: ArrayLike) -> Shape:
        """Return a copy expressed in another frame.

        Args:
            X_SO: Pose of the shape's frame in the new frame, shape (4, 4).

        Raises:
            ModelError: The pose is not a rigid transform.
        """
        X = np.asarray(X_SO, dtype=float)
        R, p = X[:3, :3], X[:3, 3]
        if (
            X.shape != (4, 4)
            or not np.allclose(R @ R.T, np.eye(3), atol=1e-6)
            or np.linalg.det(R) < 0
        ):
            raise ModelError(
                "The pose of a shape must be a rigid transform of shape (4, 4).",
                remedy="Give a rotation matrix and a position, the last row 0 0 0 1.",
            )
        corners = np.array(np.meshgrid(*zip(self.lower, self.upper, strict=True))).reshape(3, -1).T
        corners = corners @ R.T + p
        return Shape(
            points=self.points @ R.T + p,
            volumes=self.volumes,
            spreads=R @ self.spreads @ R.T,
            lower=corners.min(axis=0),
            upper=corners.max(axis=0),
            name=self.name,
            fingers=None if self.fingers is None else R @ self.fingers,
            size_sd=self.size_sd,
        )

    def of_size_sd(self, size_sd: float) -> Shape:
        """Return a copy with another relative standard deviation of the size.

        Raises:
            ModelError: The deviation is negative or not a number.
        """
        if not size_sd >= 0.0:
            raise ModelError(
                f"A relative standard deviation of {size_sd} for the lengths of the shape is invalid.",
                remedy="Give 0 for an exact shape, 0.5 for a guess.",
            )
        return replace(self, size_sd=float(size_sd))

    def scaled(self, factor: float, centre: ArrayLike = (0.0, 0.0, 0.0)) -> Shape:
        """Return a copy scaled by a factor about a centre, shape (3,) [m]."""
        c = np.asarray(centre, dtype=float)
        return Shape(
            points=c + factor * (self.points - c),
            volumes=factor**3 * self.volumes,
            spreads=factor**2 * self.spreads,
            lower=c + factor * (self.lower - c),
            upper=c + factor * (self.upper - c),
            name=self.name,
            size_sd=self.size_sd,
        )

    def refined(self) -> Shape:
        """Return a copy with every cell divided into eight along its principal axes; volume and
        moments stay the same.
        """
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
            size_sd=self.size_sd,
        )

    @classmethod
    def box(
        cls, size: ArrayLike, centre: ArrayLike = (0.0, 0.0, 0.0), *, cells: int = DEFAULT_CELLS
    ) -> Shape:
        """Return a solid box.

        Args:
            size: Lengths of the edges, shape (3,) [m].
            centre: Centre of the box, shape (3,) [m].
            cells: Approximate number of nearly cubic cells.

        Raises:
            ModelError: A length is not positive.
        """
        size = np.asarray(size, dtype=float)
        if size.shape != (3,) or not np.all((size > 0) & np.isfinite(size)):
            raise ModelError(
                "A box needs three sizes greater than zero.",
                remedy="Give the lengths of its sides in metres.",
            )
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
        """Return the union of boxes that do not overlap.

        Args:
            boxes: Size (3,) [m], centre (3,) [m] and number of cells along each axis (3,) of every
                box.
            name: Name for reports.

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
                        f"Boxes of '{name}' overlap.",
                        remedy="Give boxes that only touch, or a mesh.",
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
        """Return the solid cylinder along z, centred at the origin [m]."""
        half = np.array([radius, radius, length / 2])
        shape = cls.from_indicator(
            lambda p: (p[:, 0] ** 2 + p[:, 1] ** 2 <= radius**2) & (np.abs(p[:, 2]) <= length / 2),
            -half,
            half,
            cells=cells,
            name="cylinder",
        )
        spread = np.diag([radius**2 / 4.0, radius**2 / 4.0, length**2 / 12.0])
        return shape._with_moments(np.pi * radius**2 * length, np.zeros(3), spread)

    @classmethod
    def sphere(cls, radius: float, *, cells: int = DEFAULT_CELLS) -> Shape:
        """Return the solid sphere, centred at the origin [m]."""
        half = np.full(3, float(radius))
        shape = cls.from_indicator(
            lambda p: np.sum(p**2, axis=1) <= radius**2, -half, half, cells=cells, name="sphere"
        )
        volume = 4.0 / 3.0 * np.pi * radius**3
        return shape._with_moments(volume, np.zeros(3), radius**2 / 5.0 * np.eye(3))

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
        """Return the solid defined by a function that tests which points are inside.

        The cells form a cubic grid, of which about `cells` are filled. Cells that the surface
        intersects have the volume, centroid and second moments of their inner part.

        Args:
            inside: Function from points, shape (N, 3) [m], to the mask of those inside, shape (N,).
            lower: Lower corner of a box around the solid, shape (3,) [m].
            upper: Upper corner of that box, shape (3,) [m].
            cells: Requested number of cells.
            name: Name for reports.

        Raises:
            ModelError: No point of the box is inside.
        """
        lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        extent = upper - lower
        if np.any(extent <= 0) or not np.all(np.isfinite(extent)):
            raise ModelError(f"The shape '{name}' is flat or empty.", remedy="Give a solid.")

        def grid(axes: Axes) -> Mask:
            points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
            return np.asarray(inside(points.reshape(-1, 3)), dtype=bool).reshape(points.shape[:3])

        cut = cut_into_cells(grid, lower, upper, cells)
        if cut is None:
            raise ModelError(
                f"No point inside the shape '{name}' was found.",
                remedy="Check that its bounding box is that of the object.",
            )
        return cls(*cut, lower, upper, name)

    def _with_moments(self, volume: float, centre: Array, spread: Array) -> Shape:
        """Copy whose cells are corrected such that volume, centroid and second moments agree with
        exactly known values.
        """
        cells = (self.points, self.volumes, self.spreads)
        return Shape(
            *with_moments(cells, volume, centre, spread), self.lower, self.upper, self.name
        )

    @classmethod
    def from_mesh(
        cls,
        source: str | Path | trimesh.Trimesh,
        *,
        scale: float = 1.0,
        hull: bool = False,
        cells: int = DEFAULT_CELLS,
    ) -> Shape:
        """Return the solid bounded by a closed surface mesh: STL, OBJ, PLY or another format of
        trimesh.

        Volume, centroid and second moments are those of the polyhedron; solids that touch, as in an
        assembly, are one shape. The cells of a file are cached as long as its content stays the
        same.

        Args:
            source: File or mesh. A file without faces is a point cloud: its convex hull is used.
            scale: Metres per unit of the file (0.001 for millimetres).
            hull: True to use the convex hull of the mesh, for meshes that are not closed.
            cells: Requested number of cells.

        Raises:
            ModelError: The mesh cannot be read, is not closed, or is larger than any held object.
        """
        if isinstance(source, trimesh.Trimesh):
            return cls(
                *cut_mesh(source, "mesh", scale, hull, cells),
                name="mesh",
                size_sd=CLOUD_SD if hull else 0.0,
            )
        path = Path(source)
        return cls(
            *cut_mesh_file(path, scale, hull, cells),
            name=path.name,
            size_sd=CLOUD_SD if hull else 0.0,
        )

    def surface(self) -> Shape:
        """Return the surface as a thin layer of cells: those faces of its cells that have no
        neighbour.

        The volumes of the cells are areas here [m^2], because only their ratios matter.
        """
        values, axes = np.linalg.eigh(self.spreads)
        half = np.sqrt(np.maximum(3.0 * values, 1e-18))  # (n, 3) along the columns of axes
        sides = np.concatenate([np.eye(3), -np.eye(3)])
        outward = np.einsum("nij,sj->nsi", axes, sides)
        reach = np.tile(half, (1, 2))[:, :, None]
        faces = self.points[:, None] + reach * outward
        beyond = (faces + 0.3 * reach * outward).reshape(-1, 3)
        open_ = np.ones(len(beyond), dtype=bool)
        for point, axis, h in zip(self.points, axes, half, strict=True):
            open_ &= np.any(np.abs((beyond - point) @ axis) > h, axis=1)
        cell, side = np.nonzero(open_.reshape(len(self), 6))
        flat = (np.arange(3) != (side % 3)[:, None]) * half[cell]  # (k, 3): no depth
        area = 4.0 * np.prod(np.where(flat > 0, flat, 1.0), axis=1)
        A = axes[cell]
        spreads = (A * (flat**2 / 3.0)[:, None, :]) @ A.transpose(0, 2, 1)
        return Shape(faces[cell, side], area, spreads, self.lower, self.upper, self.name)
