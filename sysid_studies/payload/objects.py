# SPDX-License-Identifier: Apache-2.0
"""Objects of the payload study: the modular object of the paper, and random objects for the choice
of settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from sysid_core.errors import SysIdError
from sysid_core.files import FileKind
from sysid_core.robot import Array, pi_from_mass_com_inertia
from sysid_core.robot.shapes import Shape


@dataclass(frozen=True, eq=False)
class StudyObject:
    """Test object with known inertial parameters.

    Attributes:
        name: Name in tables.
        pi: True inertial parameters in the sensor frame, shape (10,).
        shape: Shape given to an estimator, in the sensor frame.
        size: Size of the bounding box for the error metrics, shape (3,) [m].
    """

    name: str
    pi: Array
    shape: Shape
    size: Array


@cache
def _facts() -> dict[str, Any]:
    path = files("sysid_studies") / "data" / "modular_object.yaml"
    facts: dict[str, Any] = FileKind("object", "Install again.", SysIdError).read_yaml(str(path))
    return facts


def modular_shape(cells: int = 56) -> Shape:
    """Return the H-shaped object of three boxes with 56 or 126 cells."""
    boxes = _facts()["boxes"]
    return Shape.from_boxes(
        [(b["size"], b["centre"], b[f"cells_{cells}"]) for b in boxes], name="modular object"
    )


def modular_objects() -> dict[str, StudyObject]:
    """Return the eight configurations of Nadeau et al. 2022, figure 3, by name."""
    facts = _facts()
    shape = modular_shape(56)
    size = np.array(facts["bounding_box"])
    return {
        name: StudyObject(
            name,
            pi_from_mass_com_inertia(f["mass"], f["com"], np.diag(f["inertia_com"])),
            shape,
            size,
        )
        for name, f in facts["configurations"].items()
    }


def random_objects(count: int, rng: np.random.Generator) -> list[StudyObject]:
    """Return objects with random shapes and densities, with which the settings of an estimator are
    chosen.

    Each object consists of one to four boxes, placed side by side at random, with the density of a
    plastic. It contains random additional masses with densities from plastic to steel, and is held
    at its lower face. Every second object is symmetric about its centre, as many manufactured
    objects are.
    """
    objects = []
    for number in range(count):
        symmetric = number % 2 == 1
        boxes = _random_boxes(rng, symmetric)
        density = rng.uniform(200.0, 1500.0)
        mass = density * sum(float(np.prod(s)) for s, _, _ in boxes)
        exact = Shape.from_boxes([(s, c, (1, 1, 1)) for s, c, _ in boxes])
        pi = exact.homogeneous(mass)
        centre_of_all = np.array([0.0, 0.0, boxes[0][0][2] / 2.0])
        for _ in range(rng.integers(0, 6 if symmetric else 11)):
            size, centre, _ = boxes[rng.integers(len(boxes))]
            radius = rng.uniform(0.2, 0.45) * size.min()
            height = min(2.0 * radius, 0.9 * float(size[2]))
            room = np.maximum(size / 2 - np.array([radius, radius, height / 2]), 0.0)
            place = centre + room * rng.uniform(-1.0, 1.0, 3)
            extra = rng.choice([1321.0, 2700.0, 7847.0]) - density
            weight = extra * np.pi * radius**2 * height
            pi = pi + _cylinder(weight, radius, height, place)
            if symmetric:
                pi = pi + _cylinder(weight, radius, height, 2.0 * centre_of_all - place)
        shape = Shape.from_boxes(boxes)
        objects.append(StudyObject(f"random {number}", pi, shape, shape.size))
    return objects


def _random_boxes(rng: np.random.Generator, symmetric: bool) -> list[tuple[Array, Array, Array]]:
    """Adjacent boxes with about 56 cells in all: bars of one height along x or y."""
    height = rng.uniform(0.03, 0.12)
    body = np.array([rng.uniform(0.04, 0.12), rng.uniform(0.12, 0.3), height])
    parts = [(body, np.array([0.0, 0.0, height / 2]))]
    ends = [0, 1] if symmetric else rng.permutation(4)[: rng.integers(0, 4)].tolist()
    bar = np.array([rng.uniform(0.05, 0.25), rng.uniform(0.03, 0.06), height])
    for end in ends:
        if end < 2:  # a bar across the end in y
            size = bar
            if not symmetric:
                size = np.array([rng.uniform(0.05, 0.25), rng.uniform(0.03, 0.06), height])
            x = 0.0 if symmetric else rng.uniform(-0.02, 0.02)
            y = (body[1] + size[1]) / 2 * (1 if end == 0 else -1)
            parts.append((size, np.array([x, y, height / 2])))
        else:  # a block on a side
            size = np.array([rng.uniform(0.03, 0.1), rng.uniform(0.03, 0.1), height])
            x = (body[0] + size[0]) / 2 * (1 if end == 2 else -1)
            y = rng.uniform(-0.5, 0.5) * (body[1] - size[1])
            parts.append((size, np.array([x, y, height / 2])))
    volume = sum(float(np.prod(size)) for size, _ in parts)
    edge = (volume / 56.0) ** (1 / 3)
    return [(s, c, np.maximum(1, np.round(s / edge)).astype(int)) for s, c in parts]


def _cylinder(mass: float, radius: float, height: float, place: Any) -> Array:
    """Solid cylinder along z."""
    across = mass * (3.0 * radius**2 + height**2) / 12.0
    inertia = np.diag([across, across, mass * radius**2 / 2.0])
    return pi_from_mass_com_inertia(mass, place, inertia)
