# SPDX-License-Identifier: Apache-2.0
"""Obstacles and planes in the robot's cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from sysid_core.errors import ExcitationError

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Plane:
    """Plane that no moving shape may cross: `normal . x >= offset` in the base frame.

    Attributes:
        normal: Points into the room that is left to the robot, shape (3,); made of length 1.
        offset: Distance of the plane from the origin along the normal [m].
        name: What it stands for.
    """

    normal: Numbers
    offset: float
    name: str = "plane"

    def __post_init__(self) -> None:
        normal = np.asarray(self.normal, dtype=float)
        length = float(np.linalg.norm(normal)) if normal.shape == (3,) else 0.0
        if not (np.isfinite(length) and length > 0 and np.isfinite(self.offset)):
            raise ExcitationError(
                f"Plane '{self.name}': normal {self.normal}, offset {self.offset}.",
                remedy="Give a normal of three numbers, not all zero, and a finite offset [m].",
            )
        object.__setattr__(self, "normal", tuple(float(x) for x in normal / length))
        object.__setattr__(self, "offset", float(self.offset))


@dataclass(frozen=True)
class Obstacle:
    """Fixed body in the robot's cell: a box, sphere, cylinder or mesh.

    Attributes:
        name: What it is.
        position: Position of its centre (of a mesh: of its origin) in the base frame [m].
        rpy: Its orientation: roll, pitch and yaw about the base frame's axes [rad].
        box: Edge lengths [m].
        sphere: Radius [m].
        cylinder: Radius and length along its z axis [m].
        mesh: File (STL, OBJ, DAE …).
        scale: Factor of the mesh's coordinates to metres.
    """

    name: str
    position: Numbers = (0.0, 0.0, 0.0)
    rpy: Numbers = (0.0, 0.0, 0.0)
    box: Numbers | None = None
    sphere: float | None = None
    cylinder: Numbers | None = None
    mesh: str | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        given = [k for k in ("box", "sphere", "cylinder", "mesh") if getattr(self, k) is not None]
        sizes = {"box": 3, "cylinder": 2, "position": 3, "rpy": 3}
        wrong = [
            key
            for key, count in sizes.items()
            if getattr(self, key) is not None
            and (len(getattr(self, key)) != count or not np.all(np.isfinite(getattr(self, key))))
        ]
        sizes_given = [np.ravel(getattr(self, k)) for k in given if k != "mesh"]
        size = np.concatenate([np.ones(1), *sizes_given])
        if len(given) != 1 or wrong or not np.all(size > 0) or not self.scale > 0:
            raise ExcitationError(
                f"Obstacle '{self.name}': shapes given: {given or 'none'};"
                f" malformed: {wrong or 'sizes'}.",
                remedy="Give one of box [3 lengths], sphere (radius), cylinder [radius, length] or"
                " mesh (file), positive sizes, and position and rpy of three numbers each.",
            )

    @property
    def placement(self) -> pin.SE3:
        """Pose of the obstacle in the base frame."""
        return pin.SE3(pin.rpy.rpyToMatrix(*self.rpy), np.array(self.position))

    def shape(self, directories: Sequence[str] = ()) -> coal.CollisionGeometry:
        """Shape of the obstacle, for collision checks.

        Args:
            directories: Folders in which a mesh is looked for besides the working directory.

        Raises:
            ExcitationError: The mesh isn't there or can't be read.
        """
        if self.box is not None:
            return coal.Box(*self.box)
        if self.sphere is not None:
            return coal.Sphere(self.sphere)
        if self.cylinder is not None:
            return coal.Cylinder(*self.cylinder)
        name = str(self.mesh)
        found = [p for p in (Path(name), *(Path(d) / name for d in directories)) if p.is_file()]
        try:
            return coal.MeshLoader().load(str(found[0]), np.full(3, self.scale))
        except (IndexError, RuntimeError, ValueError) as err:
            raise ExcitationError(
                f"The mesh '{name}' of obstacle '{self.name}' can't be read.",
                remedy="Give an existing STL, OBJ or DAE file, with a path relative to the current folder.",
            ) from err

    def as_dict(self) -> dict[str, Any]:
        """Plain data without unset fields."""
        out: dict[str, Any] = {"name": self.name, "position": [float(x) for x in self.position]}
        if any(self.rpy):
            out["rpy"] = [float(x) for x in self.rpy]
        for key in ("box", "cylinder"):
            if getattr(self, key) is not None:
                out[key] = [float(x) for x in getattr(self, key)]
        for key in ("sphere", "mesh"):
            if getattr(self, key) is not None:
                out[key] = getattr(self, key)
        if self.scale != 1.0:
            out["scale"] = self.scale
        return out
