# SPDX-License-Identifier: Apache-2.0
"""Random trees of physically consistent bodies, fixed joints with rotations among them."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from sysid_core.robot import RobotModel


def random_urdf(rng: np.random.Generator) -> str:
    """A URDF of 2 to 7 moving joints in a random tree; every third joint is fixed."""
    n = int(rng.integers(3, 10))
    parts = ['<robot name="random tree"><link name="base"/>']
    for i in range(n):
        kind = "fixed" if i % 3 == 2 else str(rng.choice(["revolute", "continuous", "prismatic"]))
        parent = "base" if i == 0 else f"link {int(rng.integers(max(0, i - 3), i))}"
        xyz, rpy, axis = rng.normal(size=(3, 3))
        mass, point = float(rng.uniform(0.1, 3.0)), 0.1 * rng.normal(size=3)
        ixx, iyy = rng.uniform(0.01, 0.02, size=2)
        izz = rng.uniform(abs(ixx - iyy) + 1e-3, ixx + iyy - 1e-3)
        parts.append(
            f'<link name="link {i}"><inertial><mass value="{mass}"/><origin xyz="{_text(point)}"'
            f' rpy="{_text(rpy[::-1])}"/><inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="-0.0"'
            f' ixz="0" iyz="0"/></inertial></link><joint name="joint {i}" type="{kind}"><parent'
            f' link="{parent}"/><child link="link {i}"/><origin xyz="{_text(0.3 * xyz)}"'
            f' rpy="{_text(rpy)}"/><axis xyz="{_text(axis / np.linalg.norm(axis))}"/>'
            '<limit lower="-2" upper="2" effort="50" velocity="3"/></joint>'
        )
    return "".join(parts) + "</robot>"


def with_consistent_bodies(model: RobotModel, rng: np.random.Generator) -> RobotModel:
    """The same robot with bodies that exist, of about the mass and size of an arm's links."""
    d = 0.4 * rng.normal(size=(model.n_bodies, 10)) - np.log(10.0) * (np.arange(10) < 4)
    return model.with_pi(
        np.array([pin.LogCholeskyParameters(row).toDynamicParameters() for row in d])
    )


def _text(values: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)
