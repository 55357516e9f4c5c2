# SPDX-License-Identifier: Apache-2.0
"""Natural scales of inertial parameters, relative to which 'weak' and 'excited' are defined."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from sysid_core.robot.inertia import Array
from sysid_core.robot.model import RobotModel


def inertial_scale(model: RobotModel) -> Array:
    r"""Natural scale of every inertial parameter: `[m, m L, m L^2]` with mass m and length L of the
    body.

    m is the URDF's mass, but at least a tenth of the mean; L is the largest of the reach to the
    centre of mass, to the next joint, and the radius of gyration, at least 3 cm.

    Returns:
        Shape (10 n_bodies,), in the order of the parameters.
    """
    pi = model.pi
    mass = np.maximum(pi[:, 0], 0.1 * max(float(np.mean(pi[:, 0])), 1e-3))
    reach = np.linalg.norm(pi[:, 1:4], axis=1) / mass
    gyration = np.sqrt(np.maximum(pi[:, 4] + pi[:, 6] + pi[:, 9], 0.0) / (2.0 * mass))
    span = np.zeros(model.n_bodies)
    tree: pin.Model = model.pin_model
    for joint in range(1, tree.njoints):
        parent = tree.parents[joint]
        if parent > 0:
            offset = float(np.linalg.norm(tree.jointPlacements[joint].translation))
            span[parent - 1] = max(span[parent - 1], offset)
    length = np.maximum.reduce([reach, gyration, span, np.full(model.n_bodies, 0.03)])
    # Distal bodies that move none further: half the arm's mean size at least.
    length = np.maximum(length, 0.25 * float(np.mean(length)))
    scale = np.empty((model.n_bodies, 10))
    scale[:, 0] = mass
    scale[:, 1:4] = (mass * length)[:, None]
    scale[:, 4:] = (mass * length**2)[:, None]
    return scale.ravel()
