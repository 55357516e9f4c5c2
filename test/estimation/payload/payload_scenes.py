# SPDX-License-Identifier: Apache-2.0
"""Made-up objects in made-up motions, for payload tests."""

import numpy as np
from scipy.spatial.transform import Rotation

from sysid_core.estimation.payload import PayloadData
from sysid_core.robot import wrench_regressor
from sysid_core.robot.shapes import Shape

NOISE = np.repeat([0.1, 0.005], 3)  # [N, N m], Nadeau et al. 2022, table II, moderate
BOXES = (
    ((0.05, 0.2, 0.05), (0.0, 0.0, 0.025), (2, 4, 2)),
    ((0.2, 0.05, 0.05), (0.0, 0.125, 0.025), (5, 2, 2)),
    ((0.2, 0.05, 0.05), (0.0, -0.125, 0.025), (5, 2, 2)),
)


def hammer_like(rng):
    """An H of boxes with random cell masses: its shape and its parameters."""
    shape = Shape.from_boxes(BOXES, name="H")
    masses = shape.volumes * rng.uniform(0.3, 3.0, size=len(shape))
    return shape, shape.parameters_per_mass @ masses * (1.2 / masses.sum())


def swinging(pi, rng, *, speed=1.0, noise=False, seconds=1.5, rate_hz=100.0):
    """Rotation about three axes, exact kinematics by differentiation of its quaternion."""
    t = np.arange(int(seconds * rate_hz)) / rate_hz
    phase = rng.uniform(0, 2 * np.pi, 3)
    rates = speed * np.array([1.5, 1.9, 2.3])

    def pose(time):
        return Rotation.from_euler("xyz", 0.8 * np.sin(np.outer(time, rates) + phase))

    h = 1e-4

    def turning(time):
        return (pose(time - h).inv() * pose(time + h)).as_rotvec() / (2 * h)

    omega, alpha = turning(t), (turning(t + h) - turning(t - h)) / (2 * h)
    gravity = pose(t).inv().apply([0.0, 0.0, -9.81])
    lever = np.array([0.0, 0.0, 0.15])
    a = -gravity + np.cross(alpha, lever) + np.cross(omega, np.cross(omega, lever))
    wrench = wrench_regressor(a, omega, alpha) @ pi
    if noise:
        wrench = wrench + NOISE * rng.normal(size=wrench.shape)
    return PayloadData(t, wrench, a, omega, alpha, gravity)
