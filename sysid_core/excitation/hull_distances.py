"""Smooth distances between the bodies of a robot, for planners."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import coal
import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from sysid_core.robot import Array, RobotModel


class HullDistances:
    """Distances between convex hulls, corrected where hulls overlap and shapes don't.

    Hulls of bent links (a forearm around its wrist) overlap before the shapes touch; how far that
    may go is learnt from postures whose contacts are known. The contact check decides, not this.

    Args:
        model: The robot.
        shapes: Its collision shapes with the pairs that matter.
        contacts: Tells which pairs touch in a configuration, (nq,) to (n_pairs,).
        configurations: From which the correction is learnt, each (nq,).
        clearance: Distance that `contacts` counts as contact [m].
    """

    def __init__(
        self,
        model: RobotModel,
        shapes: pin.GeometryModel,
        contacts: Callable[[Array], Array],
        configurations: Sequence[Array],
        clearance: float,
    ) -> None:
        self._model = model
        self._data = model.pin_model.createData()
        self._hulls = pin.GeometryModel()
        for shape in shapes.geometryObjects:
            geometry = shape.geometry
            if isinstance(geometry, coal.BVHModelBase):
                geometry.buildConvexHull(True, "Qt")
                geometry = geometry.convex
            self._hulls.addGeometryObject(
                pin.GeometryObject(shape.name, int(shape.parentJoint), shape.placement, geometry)
            )
        for pair in shapes.collisionPairs:
            self._hulls.addCollisionPair(pin.CollisionPair(int(pair.first), int(pair.second)))
        self._results = pin.GeometryData(self._hulls)
        # The largest hull distance at which each pair has been seen to touch.
        touched = np.full(len(self._hulls.collisionPairs), -np.inf)
        for q_pin in configurations if len(touched) else []:
            touching = contacts(q_pin) > 0
            touched = np.where(touching, np.maximum(touched, self._raw(q_pin)), touched)
        self._offset = np.where(np.isfinite(touched), np.minimum(touched - clearance, 0.0), 0.0)

    def _raw(self, q_pin: Array) -> Array:
        pin.computeDistances(self._model.pin_model, self._data, self._hulls, self._results, q_pin)
        return np.array([result.min_distance for result in self._results.distanceResults])

    def at(self, q: ArrayLike, below: float) -> tuple[Array, Array]:
        r"""Distances of all pairs, and the gradients of the small ones.

        `d' = n . (p2' - p1')` with the nearest points and the normal from the first to the second.

        Args:
            q: Joint positions, shape (nv,).
            below: Gradients of larger distances are left 0 [m].

        Returns:
            Distances (n_pairs,), negative when they overlap [m], and gradients (n_pairs, nv).
        """
        model, data = self._model.pin_model, self._data
        q_pin = self._model.configuration(np.asarray(q, dtype=float))
        distances = self._raw(q_pin) - self._offset
        gradients = np.zeros((len(distances), self._model.nv))
        near = np.flatnonzero(distances < below)
        if near.size:
            pin.computeJointJacobians(model, data, q_pin)
        for k in map(int, near):
            result, pair = self._results.distanceResults[k], self._hulls.collisionPairs[k]
            normal = np.asarray(result.normal)
            for sign, shape, point in (
                (-1.0, pair.first, result.getNearestPoint1()),
                (1.0, pair.second, result.getNearestPoint2()),
            ):
                joint = int(self._hulls.geometryObjects[shape].parentJoint)
                if joint == 0:
                    continue
                J = pin.getJointJacobian(model, data, joint, pin.LOCAL_WORLD_ALIGNED)
                arm = np.asarray(point) - data.oMi[joint].translation
                gradients[k] += sign * (normal @ J[:3] + np.cross(arm, normal) @ J[3:])
        return distances, gradients
