# SPDX-License-Identifier: Apache-2.0
"""Further types of test objects (hollow, asymmetric, of two materials) and wrong shapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_core.robot import Array, pi_from_mass_com_inertia, transform_pi
from sysid_core.robot.shapes import Shape
from sysid_studies.payload.objects import StudyObject, random_objects

PLASTIC, WOOD, ALUMINIUM, STEEL, LEAD, FOAM, WATER = 1100, 650, 2700, 7850, 11300, 60, 1000


def _box(size: Array, centre: Array, density: float) -> Array:
    """Inertial parameters of a solid box, shape (10,)."""
    mass = density * float(np.prod(size))
    return pi_from_mass_com_inertia(mass, centre, mass / 12.0 * np.diag(size @ size - size**2))


def _ball(radius: float, centre: Array, density: float) -> Array:
    mass = density * 4.0 / 3.0 * np.pi * radius**3
    return pi_from_mass_com_inertia(mass, centre, 0.4 * mass * radius**2 * np.eye(3))


def _size(rng: np.random.Generator) -> tuple[Array, Array]:
    """Random size of a box that is held at its lower face, and its centre [m]."""
    size = rng.uniform([0.05, 0.08, 0.05], [0.12, 0.25, 0.2])
    return size, np.array([rng.uniform(-0.02, 0.02), rng.uniform(-0.03, 0.03), size[2] / 2.0])


def shell(rng: np.random.Generator) -> StudyObject:
    """Return a closed box of sheet metal; the estimator receives the shape of a solid box."""
    size, centre = _size(rng)
    wall = rng.uniform(0.001, 0.004)
    density = rng.choice([PLASTIC, ALUMINIUM, STEEL]) * rng.uniform(0.8, 1.2)
    pi = _box(size, centre, density) - _box(size - 2 * wall, centre, density)
    return StudyObject("shell", pi, Shape.box(size, centre), size)


def dumbbell(rng: np.random.Generator) -> StudyObject:
    """Return two heavy ends connected by a light bar."""
    length, end, bar = rng.uniform(0.12, 0.3), rng.uniform(0.03, 0.08), rng.uniform(0.01, 0.03)
    height = end / 2.0
    parts = [
        (np.array([bar, length, bar]), np.array([0.0, 0.0, height]), rng.uniform(300, 1500)),
        *(
            (
                np.full(3, end),
                np.array([0.0, side * (length + end) / 2.0, height]),
                rng.uniform(500, 4000),
            )
            for side in (-1, 1)
        ),
    ]
    return _of_boxes("dumbbell", parts)


def foam(rng: np.random.Generator) -> StudyObject:
    """Return a block of foam with a ball of lead at a random place."""
    size, centre = _size(rng)
    pi = _box(size, centre, FOAM)
    for _ in range(rng.integers(1, 3)):
        radius = rng.uniform(0.008, 0.02)
        place = centre + rng.uniform(-1, 1, 3) * (size / 2 - radius)
        pi = pi + _ball(radius, place, LEAD - FOAM)
    return StudyObject("foam", pi, Shape.box(size, centre), size)


def two_material_l(rng: np.random.Generator) -> StudyObject:
    """Return an L-shaped object with a metal leg and a wooden leg."""
    width, height = rng.uniform(0.03, 0.06, 2)
    first, second = rng.uniform(0.1, 0.25), rng.uniform(0.06, 0.2)
    parts = [
        (np.array([width, first, height]), np.array([0.0, 0.0, height / 2]), WOOD),
        (
            np.array([second, width, height]),
            np.array([(width + second) / 2, (first - width) / 2, height / 2]),
            rng.choice([ALUMINIUM, STEEL]),
        ),
    ]
    return _of_boxes("L", parts)


def bottle(rng: np.random.Generator) -> StudyObject:
    """Return a bottle partly filled with water that does not slosh."""
    radius, length, fill = rng.uniform(0.03, 0.05), rng.uniform(0.12, 0.28), rng.uniform(0.2, 0.8)
    wall = 0.0015

    def rod(r: float, height: float, middle: float, density: float) -> Array:
        mass = density * np.pi * r**2 * height
        across = mass * (3 * r**2 + height**2) / 12.0
        inertia = np.diag([across, across, mass * r**2 / 2.0])
        return pi_from_mass_com_inertia(mass, [0.0, 0.0, middle], inertia)

    inner = radius - wall
    pi = rod(radius, length, length / 2, PLASTIC) - rod(
        inner, length - 2 * wall, length / 2, PLASTIC
    )
    pi = pi + rod(inner, fill * length, wall + fill * length / 2, WATER)
    X = np.eye(4)
    X[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    X[:3, 3] = -X[:3, :3] @ [0.0, 0.0, length * rng.uniform(0.3, 0.9)]
    shape = Shape.cylinder(radius, length).posed(_shift([0.0, 0.0, length / 2])).posed(X)
    return StudyObject("bottle", transform_pi(X, pi), shape, shape.size)


def tube(rng: np.random.Generator) -> StudyObject:
    """Return a box of sheet metal without two of its faces; the estimator receives the shape of a
    solid box.
    """
    size, centre = _size(rng)
    wall = rng.uniform(0.002, 0.006)
    axis = rng.integers(3)
    inner = size - 2 * wall
    inner[axis] = size[axis]
    density = rng.choice([PLASTIC, ALUMINIUM]) * rng.uniform(0.8, 1.2)
    pi = _box(size, centre, density) - _box(inner, centre, density)
    return StudyObject("tube", pi, Shape.box(size, centre), size)


def halves(rng: np.random.Generator) -> StudyObject:
    """Return a block of two materials with a plane boundary."""
    size, centre = _size(rng)
    axis, cut = rng.integers(3), rng.uniform(0.2, 0.8)
    pi = np.zeros(10)
    for low, high, density in (
        (0.0, cut, rng.uniform(100, 800)),
        (cut, 1.0, rng.uniform(800, 3000)),
    ):
        part, middle = size.copy(), centre.copy()
        part[axis] *= high - low
        middle[axis] += size[axis] * ((low + high) / 2 - 0.5)
        pi = pi + _box(part, middle, density)
    return StudyObject("halves", pi, Shape.box(size, centre), size)


def _of_boxes(name: str, parts: list[tuple[Array, Array, float]]) -> StudyObject:
    pi = np.sum([_box(size, centre, density) for size, centre, density in parts], axis=0)
    volume = sum(float(np.prod(size)) for size, _, _ in parts)
    edge = (volume / 56.0) ** (1 / 3)
    shape = Shape.from_boxes(
        [(s, c, np.maximum(1, np.round(s / edge)).astype(int)) for s, c, _ in parts], name=name
    )
    return StudyObject(name, pi, shape, shape.size)


Maker = Callable[[np.random.Generator], StudyObject]
# Reported, and (others) those on which settings were chosen.
FAMILIES: dict[str, Maker] = {
    "shell": shell,
    "dumbbell": dumbbell,
    "foam": foam,
    "L": two_material_l,
    "bottle": bottle,
}
CHOICE_FAMILIES: dict[str, Maker] = {
    "weights": lambda rng: random_objects(2, rng)[rng.integers(2)],
    "tube": tube,
    "halves": halves,
}


def _shift(offset: object) -> Array:
    X = np.eye(4)
    X[:3, 3] = np.asarray(offset, dtype=float)
    return X


def given_shape(thing: StudyObject, how: str, rng: np.random.Generator) -> Shape | None:
    """Return the shape that the estimator receives, right or wrong.

    Args:
        thing: Held object.
        how: Kind of error, one of the keys of `WRONG_SHAPES`.
        rng: Random generator for the direction of a shift, or for the axis of a rotation.
    """
    shape = thing.shape
    centre = 0.5 * (shape.lower + shape.upper)
    if how == "right":
        return shape
    if how == "none":
        return None
    if how == "bounding box":
        return Shape.box(shape.size, centre)
    if how.startswith("scaled"):
        return shape.scaled(float(how.split()[1]), centre)
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    if how == "shifted 1 cm":
        return shape.posed(_shift(0.01 * direction))
    X = np.eye(4)
    X[:3, :3] = Rotation.from_rotvec(np.deg2rad(5.0) * direction).as_matrix()
    return shape.posed(_shift(centre) @ X @ _shift(-centre))


WRONG_SHAPES = (
    "right",
    "scaled 1.2",
    "scaled 0.8",
    "shifted 1 cm",
    "rotated 5°",
    "bounding box",
    "none",
)
