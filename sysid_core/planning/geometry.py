# SPDX-License-Identifier: Apache-2.0
"""Collision shapes of the robot: contacts and surface points."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError, ModelError
from sysid_core.files import FileSchema, Number, Positive
from sysid_core.lazy import lazy_import
from sysid_core.planning.cell import Hulls, Obstacle, Vector
from sysid_core.robot import Array, RobotModel, example_share

if TYPE_CHECKING:
    import scipy.spatial as spatial
else:
    spatial = lazy_import("scipy.spatial")

CLEARANCE = 0.01  # [m], closer than this counts as contact
ALWAYS_TOUCHING = 0.95  # pairs closer than that in this share of random postures are left out
N_POSTURES = 60  # random postures that decide about it
N_HULL_POSTURES = 300  # random postures that compare hulls with shapes


@dataclass(frozen=True)
class HeldBox:
    """Bounding box of a tool or object that the robot holds.

    Attributes:
        size: Edge lengths along the axes of the TCP frame, shape (3,) [m].
        centre: Centre of the box in the TCP frame, shape (3,) [m].
        mass: Mass, assumed to be uniformly distributed [kg]; it is included in the torques that are
            compared with the limits.
    """

    __pydantic_config__ = FileSchema.ONLY_KNOWN_KEYS

    size: tuple[Positive, Positive, Positive]
    centre: Vector = (0.0, 0.0, 0.0)
    mass: Number = 0.0

    def __post_init__(self) -> None:
        for key in ("size", "centre"):  # arrays are welcome, plain numbers are kept
            object.__setattr__(self, key, tuple(float(x) for x in getattr(self, key)))
        if not 0.0 <= self.mass < np.inf:
            raise ExcitationError(
                f"The held object cannot have a mass of {self.mass} kg.", remedy="Weigh it."
            )

    def attached_to(self, model: RobotModel, frame: str) -> RobotModel:
        """Return a copy of a robot that carries the box in one of its frames."""
        if not self.mass:
            return model
        at = model.pin_model.frames[model.frame_id(frame)]
        placement = at.placement * pin.SE3(np.eye(3), np.array(self.centre))
        load = placement.act(pin.Inertia.FromBox(self.mass, *self.size))
        pi = model.pi
        pi[int(at.parentJoint) - 1] += load.toDynamicParameters()
        return model.with_pi(pi)


def mesh_directories() -> list[str]:
    """Return the folders that are searched for `package://name/…`: ROS workspaces and installed
    data.
    """
    found = [
        str(Path(prefix) / "share")
        for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        if prefix
    ]
    found += [p for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
    share = example_share()
    found += [] if share is None else [str(share)]
    return [p for p in found if Path(p).is_dir()]


def _mesh_exists(filename: str, directories: Sequence[str]) -> bool:
    for scheme in ("package://", "model://"):
        if filename.startswith(scheme):
            relative = filename.removeprefix(scheme)
            return any((Path(d) / relative).is_file() for d in directories)
    return Path(filename.removeprefix("file://")).is_file()


def _without_missing_meshes(urdf: str, directories: Sequence[str]) -> tuple[str, list[str]]:
    """URDF without the collision elements whose mesh files do not exist, and the links to which
    these elements belonged.
    """
    root = ET.fromstring(urdf)
    missing = []
    for link in root.iter("link"):
        for collision in link.findall("collision"):
            mesh = collision.find("geometry/mesh")
            if mesh is not None and not _mesh_exists(mesh.get("filename", ""), directories):
                link.remove(collision)
                missing.append(link.get("name", "?"))
    return ET.tostring(root, encoding="unicode"), sorted(set(missing))


def _surface_points(shape: coal.CollisionGeometry) -> Array:
    """Hull vertices of a mesh, or corners of the bounding box of any other shape, shape (N, 3)."""
    if isinstance(shape, coal.BVHModelBase) and shape.num_vertices > 3:
        vertices = np.asarray(shape.vertices())
        try:
            return vertices[spatial.ConvexHull(vertices).vertices]
        except spatial.QhullError:  # flat or a line
            return vertices
    shape.computeLocalAABB()
    box = shape.aabb_local
    corners = np.array(np.meshgrid(*zip(box.min_, box.max_, strict=True))).reshape(3, -1).T
    return np.asarray(corners)


def _transformed(X_AB: pin.SE3, points_B: Array) -> Array:
    """Points (3, N) from frame B to frame A; this layout makes extremes of the axes fast."""
    return X_AB.rotation @ points_B + X_AB.translation[:, None]


@dataclass(eq=False)
class RobotGeometry:
    """Collision shapes of a robot, built once for checks of many postures.

    Pairs of adjacent bodies are not checked, nor are pairs that are in contact in nearly every
    posture, because this contact is due to the meshes and not to the motion.

    Args:
        model: Robot model.
        tcp_frame: Frame to which a held object is attached.
        held: Bounding box of the held object, tested against all bodies except its carrier; or
            None.
        package_dirs: Folders searched for `package://`, before those of the environment.
        obstacles: Fixed bodies, tested against all moving bodies.
        self_collision: True to test the robot's bodies against each other.
        allowed_contacts: Pairs of links that are not tested.

    Attributes:
        notes: Restrictions of the contact check, one sentence each.
        unchecked: Names of the links without a shape to check.
    """

    model: RobotModel
    tcp_frame: str
    held: HeldBox | None = None
    package_dirs: tuple[str, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    self_collision: bool = True
    allowed_contacts: tuple[tuple[str, str], ...] = ()
    notes: list[str] = field(default_factory=list, init=False)
    unchecked: tuple[str, ...] = field(default=(), init=False)  # links without a shape to check

    def __post_init__(self) -> None:
        pin_model = self.model.pin_model
        directories = [*self.package_dirs, *mesh_directories()]
        self._geometry = pin.GeometryModel()
        if self.model.urdf_xml:
            urdf, missing = _without_missing_meshes(self.model.urdf_xml, directories)
            if missing:
                self.unchecked = tuple(missing)
                self.notes.append(
                    f"Collision meshes of {', '.join(missing)} were not found: these links are"
                    " not checked for contact. Give their package folder."
                )
            # Some URDF parsers need a folder even where no mesh is left to look for.
            try:
                self._geometry = pin.buildGeomFromUrdfString(
                    pin_model,
                    urdf,
                    pin.GeometryType.COLLISION,
                    package_dirs=directories,
                    # Links often share the mesh of a drive. Kept longer, a mesh written anew would be missed.
                    mesh_loader=coal.CachedMeshLoader(),
                )
            except Exception as err:  # whatever the mesh reader makes of garbage
                raise ModelError(
                    f"A collision mesh of '{self.model.name}' can't be read: {err}",
                    remedy="Repair the file, or take its <collision> out of the URDF.",
                ) from err
        if self.held is not None:
            self._add_held_box(self.held)
        self._n_own = len(self._geometry.geometryObjects)
        for obstacle in self.obstacles:
            shape = obstacle.shape(directories)
            self._geometry.addGeometryObject(
                pin.GeometryObject(obstacle.name, 0, obstacle.placement, shape)
            )
        self._points = [
            (
                int(shape.parentJoint),
                _transformed(shape.placement, _surface_points(shape.geometry).T),
            )
            for shape in self._geometry.geometryObjects
        ]
        self.has_shapes = any(joint > 0 for joint, _ in self._points)
        if not self.has_shapes:
            self.unchecked = self.unchecked or ("any link",)
            self.notes.append(
                "The robot has no collision shapes: contact is not checked, and ground and"
                " workspace are checked for its link frames only."
            )
        self._data = pin_model.createData()
        self._choose_pairs()

    def _add_held_box(self, held: HeldBox) -> None:
        frame = self.model.pin_model.frames[self.model.frame_id(self.tcp_frame)]
        placement = frame.placement * pin.SE3(np.eye(3), np.array(held.centre))
        box = coal.Box(*held.size)
        self._geometry.addGeometryObject(
            pin.GeometryObject("held object", int(frame.parentJoint), placement, box)
        )

    def _choose_pairs(self) -> None:
        shapes = list(self._geometry.geometryObjects)
        parents = [int(p) for p in self.model.pin_model.parents]
        joints = [int(shape.parentJoint) for shape in shapes]
        self._geometry.removeAllCollisionPairs()
        own = range(self._n_own if self.self_collision else 0)
        allowed = {frozenset(pair) for pair in self.allowed_contacts}
        pairs = [
            (i, j)
            for i in own
            for j in range(i + 1, self._n_own)
            if joints[i] != joints[j]
            and parents[joints[i]] != joints[j]
            and parents[joints[j]] != joints[i]
            and frozenset((self._link_of(i), self._link_of(j))) not in allowed
        ]
        self._set_pairs(pairs)
        hits = np.zeros(len(pairs))
        for q_pin in self._random_postures(N_POSTURES) if pairs else []:
            hits += self._contacts(q_pin)
        kept = [p for p, n in zip(pairs, hits, strict=True) if n < ALWAYS_TOUCHING * N_POSTURES]
        for (i, j), n in zip(pairs, hits, strict=True):
            if n >= ALWAYS_TOUCHING * N_POSTURES:
                self.notes.append(
                    f"{shapes[i].name} and {shapes[j].name} touch in every posture: not checked."
                )
        moving = [i for i in range(self._n_own) if joints[i] > 0]
        self._set_pairs([*kept, *((i, o) for o in range(self._n_own, len(shapes)) for i in moving)])

    def _link_of(self, shape: int) -> str:
        """Name of the link to which a shape belongs; empty for a held object."""
        frames = self.model.pin_model.frames
        frame = int(self._geometry.geometryObjects[shape].parentFrame)
        return str(frames[frame].name) if frame < len(frames) else ""

    def _set_pairs(self, pairs: list[tuple[int, int]]) -> None:
        self._geometry.removeAllCollisionPairs()
        for i, j in pairs:
            self._geometry.addCollisionPair(pin.CollisionPair(i, j))
        self._names = [
            (self._geometry.geometryObjects[i].name, self._geometry.geometryObjects[j].name)
            for i, j in pairs
        ]
        self._geometry_data = pin.GeometryData(self._geometry)
        for request in self._geometry_data.collisionRequests:
            request.security_margin = CLEARANCE

    def _contacts(self, q_pin: Array) -> Array:
        pin.computeCollisions(
            self.model.pin_model, self._data, self._geometry, self._geometry_data, q_pin, False
        )
        results = self._geometry_data.collisionResults
        return np.array([results[i].isCollision() for i in range(len(self._names))], dtype=float)

    @property
    def surfaces(self) -> tuple[tuple[int, Array], ...]:
        """Joint that carries each shape, and points of the shape's surface in the joint's frame,
        (K, 3) [m].
        """
        return tuple((joint, points.T) for joint, points in self._points)

    def contacts(self, q: ArrayLike) -> list[tuple[str, str]]:
        """Return the pairs of shapes with a distance below the clearance; q of shape (nv,)."""
        if not self._names:
            return []
        q_pin = self.model.configuration(np.asarray(q, dtype=float))
        possible = self._hulls.touching(q_pin)  # what hulls exclude, shapes needn't be asked about
        if not len(possible):
            return []
        pin.updateGeometryPlacements(
            self.model.pin_model, self._data, self._geometry, self._geometry_data, q_pin
        )
        return [
            self._names[k]
            for k in map(int, possible)
            if pin.computeCollision(self._geometry, self._geometry_data, k)
        ]

    @cached_property
    def _hulls(self) -> Hulls:
        return Hulls(self.model, self._geometry, CLEARANCE)

    @cached_property
    def hulls(self) -> Hulls:
        """Smooth distances of the same pairs, for gradient-based planners."""
        postures = self._random_postures(N_HULL_POSTURES)
        self._hulls.learn(self._touching, postures)
        return self._hulls

    def _touching(self, q_pin: Array) -> Array:
        """Contact of each pair, 0 or 1, shape (n_pairs,)."""
        pin.updateGeometryPlacements(
            self.model.pin_model, self._data, self._geometry, self._geometry_data, q_pin
        )
        out = np.zeros(len(self._names))
        for k in map(int, self._hulls.touching(q_pin)):
            out[k] = pin.computeCollision(self._geometry, self._geometry_data, k)
        return out

    def _random_postures(self, n: int) -> list[Array]:
        """Random postures within the limits, the same in every call; none for a floating base."""
        if any(joint.nv > 1 for joint in self.model.pin_model.joints):
            return []
        lower, upper = self.model.position_limits
        lower, upper = np.maximum(lower, -np.pi), np.minimum(upper, np.pi)
        rng = np.random.default_rng(0)
        drawn = rng.uniform(lower, upper, size=(n, self.model.nv))
        return [self.model.configuration(q) for q in drawn]

    def extent(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return the lowest and highest coordinates of all moving shapes in the base frame, each
        (3,) [m].

        If the robot has no collision shapes, the origins of the link frames are used.
        """
        ends = self.lowest(q, np.vstack([np.eye(3), -np.eye(3)]))
        return ends[:3], -ends[3:]

    def lowest(self, q: ArrayLike, normals: ArrayLike) -> Array:
        """Return the smallest coordinate of all moving shapes along given directions, (nv,) and (m,
        3) to (m,).

        If the robot has no collision shapes, the origins of the link frames are used [m].
        """
        q_pin = self.model.configuration(np.asarray(q, dtype=float))
        pin.forwardKinematics(self.model.pin_model, self._data, q_pin)
        normals = np.asarray(normals, dtype=float)
        if self.has_shapes:
            clouds = [_transformed(self._data.oMi[j], p) for j, p in self._points if j > 0]
        else:
            pin.updateFramePlacements(self.model.pin_model, self._data)
            clouds = [
                pose.translation[:, None]
                for frame, pose in zip(self.model.pin_model.frames, self._data.oMf, strict=True)
                if frame.parentJoint > 0
            ]
        return np.min([(normals @ cloud).min(axis=1) for cloud in clouds], axis=0)

    def support_points(self) -> list[tuple[int, Array]]:
        """Return a few of the outermost points of the collision shapes of every joint that has any.

        Returns:
            Pairs of pinocchio's joint index and points in the joint's frame, shape (3, N) [m].
        """
        axes = np.array([-1.0, 0.0, 1.0])
        directions = np.array(np.meshgrid(axes, axes, axes)).reshape(3, -1).T
        return [
            (joint, points[:, np.unique(np.argmax(directions @ points, axis=1))])
            for joint, points in self._points
            if joint > 0
        ]
