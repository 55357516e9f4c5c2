# SPDX-License-Identifier: Apache-2.0
"""Obstacles and planes in the cell of the robot, and distances between convex hulls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ExcitationError
from sysid_core.files import FileSchema, Number, Positive
from sysid_core.robot import Array, RobotModel

Vector = tuple[Number, Number, Number]


@dataclass(frozen=True)
class Plane:
    """Plane that no moving shape may cross: `normal . x >= offset` in the base frame.

    Attributes:
        normal: Normal that points to the permitted side, shape (3,); scaled to length 1.
        offset: Distance of the plane from the origin along the normal [m].
        name: Name in messages, such as that of the wall.
    """

    __pydantic_config__ = FileSchema.ONLY_KNOWN_KEYS

    normal: Vector
    offset: Number
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
        name: Name in messages.
        position: Centre of the obstacle (of a mesh: its origin) in the base frame, shape (3,) [m].
        rpy: Roll, pitch and yaw about the base frame's axes, shape (3,) [rad].
        box: Edge lengths of a box, shape (3,) [m].
        sphere: Radius of a sphere [m].
        cylinder: Radius and length (along its z axis) of a cylinder [m].
        mesh: Path of a mesh file (STL, OBJ, DAE …).
        scale: Factor from the mesh's unit to metres.
    """

    __pydantic_config__ = FileSchema.ONLY_KNOWN_KEYS

    name: str
    position: Vector = (0.0, 0.0, 0.0)
    rpy: Vector = (0.0, 0.0, 0.0)
    box: Vector | None = None
    sphere: Positive | None = None
    cylinder: tuple[Positive, Positive] | None = None
    mesh: str | None = None
    scale: Positive = 1.0

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
        """Return the shape of the obstacle, for collision checks.

        Args:
            directories: Folders searched for a mesh, in addition to the working directory.

        Raises:
            ExcitationError: The mesh does not exist or cannot be read.
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
        """Return the plain data without unset fields."""
        given = ((f.name, f.default, getattr(self, f.name)) for f in fields(self))
        return {
            name: [float(x) for x in value] if isinstance(value, tuple | list) else value
            for name, default, value in given
            if name == "position" or value != default
        }


class Hulls:
    """Convex hulls of the collision shapes, with the pairs that are checked.

    Args:
        model: Robot model.
        shapes: Collision shapes of the robot, with the pairs that are checked.
        clearance: Distance below which a pair counts as in contact [m].
    """

    def __init__(self, model: RobotModel, shapes: pin.GeometryModel, clearance: float) -> None:
        self.model, self.clearance = model, clearance
        self.data = model.pin_model.createData()
        self.geometry = pin.GeometryModel()
        for shape in shapes.geometryObjects:
            body = shape.geometry
            if isinstance(body, coal.BVHModelBase):
                body.buildConvexHull(True, "Qt")
                body = body.convex
            self.geometry.addGeometryObject(
                pin.GeometryObject(shape.name, int(shape.parentJoint), shape.placement, body)
            )
        for pair in shapes.collisionPairs:
            self.geometry.addCollisionPair(pin.CollisionPair(int(pair.first), int(pair.second)))
        self.n_pairs = len(self.geometry.collisionPairs)
        self._overlap = np.zeros(self.n_pairs)  # [m], see `learn`; not positive
        self.results = pin.GeometryData(self.geometry)
        for request in self.results.collisionRequests:
            request.security_margin = clearance

    def touching(self, q_pin: Array) -> NDArray[np.intp]:
        """Return the pairs whose hulls are closer than the clearance. The shapes of all other pairs
        cannot be in contact.
        """
        model = self.model.pin_model
        if not pin.computeCollisions(model, self.data, self.geometry, self.results, q_pin, True):
            return np.empty(0, dtype=np.intp)
        pin.computeCollisions(model, self.data, self.geometry, self.results, q_pin, False)
        results = self.results.collisionResults
        return np.array([k for k in range(self.n_pairs) if results[k].isCollision()], dtype=np.intp)

    def distances(self, q_pin: Array, pairs: Sequence[int] | None = None) -> Array:
        """Return the distances of some or all pairs; negative if they overlap; shape (len(pairs),)
        [m].
        """
        pin.updateGeometryPlacements(
            self.model.pin_model, self.data, self.geometry, self.results, q_pin
        )
        return np.array(
            [
                pin.computeDistance(self.geometry, self.results, k).min_distance
                for k in (range(self.n_pairs) if pairs is None else map(int, pairs))
            ]
        )

    def learn(self, contacts: Callable[[Array], Array], configurations: Sequence[Array]) -> None:
        """Determine by how much the hulls of each pair may overlap before its shapes touch.

        Hulls of bent links (a forearm around its wrist) overlap before the shapes touch; the
        permitted overlap is determined from postures whose contacts are known. The contact check,
        not these distances, decides on safety.

        Args:
            contacts: Function from a configuration (nq,) to the mask of the touching pairs
                (n_pairs,).
            configurations: Configurations from which the permitted overlap is determined, each
                (nq,).
        """
        # The largest hull distance at which each pair has been seen to touch.
        touched = np.full(self.n_pairs, -np.inf)
        for q_pin in configurations if len(touched) else []:
            touching = contacts(q_pin) > 0
            if touching.any():
                touched = np.where(touching, np.maximum(touched, self.distances(q_pin)), touched)
        learnt = np.minimum(touched - self.clearance, 0.0)
        self._overlap = np.where(np.isfinite(touched), learnt, 0.0)

    @property
    def joints(self) -> list[tuple[int, int]]:
        """Indices (in pinocchio) of the joints that move the two bodies of every pair; 0 for fixed
        bodies.
        """
        objects = self.geometry.geometryObjects
        return [
            (int(objects[int(p.first)].parentJoint), int(objects[int(p.second)].parentJoint))
            for p in self.geometry.collisionPairs
        ]

    def at(
        self, q: ArrayLike, below: float, pairs: Sequence[int] | None = None
    ) -> tuple[Array, Array]:
        r"""Return the distances of all pairs, and the gradients of the small distances.

        `d' = n . (p2' - p1')` with the nearest points and the normal from the first to the second.

        Args:
            q: Joint positions, shape (nv,) [rad or m].
            below: Distance up to which gradients are computed; others are 0 [m].
            pairs: Indices of the requested pairs; None: all.

        Returns:
            Distances (len(pairs),), negative when they overlap [m], and gradients
            (len(pairs), nv).
        """
        model, data = self.model.pin_model, self.data
        asked = range(self.n_pairs) if pairs is None else [int(k) for k in pairs]
        q_pin = self.model.configuration(np.asarray(q, dtype=float))
        distances = self.distances(q_pin, asked) - self._overlap[list(asked)]
        gradients = np.zeros((len(distances), self.model.nv))
        near = np.flatnonzero(distances < below)
        if near.size:
            pin.computeJointJacobians(model, data, q_pin)
        for i in map(int, near):
            result = self.results.distanceResults[asked[i]]
            pair = self.geometry.collisionPairs[asked[i]]
            n = np.asarray(result.normal)
            for sign, shape, point in (
                (-1.0, pair.first, result.getNearestPoint1()),
                (1.0, pair.second, result.getNearestPoint2()),
            ):
                joint = int(self.geometry.geometryObjects[shape].parentJoint)
                if joint == 0:
                    continue
                J = pin.getJointJacobian(model, data, joint, pin.LOCAL_WORLD_ALIGNED)
                r = np.asarray(point) - data.oMi[joint].translation
                moment = [
                    r[1] * n[2] - r[2] * n[1],
                    r[2] * n[0] - r[0] * n[2],
                    r[0] * n[1] - r[1] * n[0],
                ]
                gradients[i] += sign * (np.concatenate([n, moment]) @ J)
        return distances, gradients
