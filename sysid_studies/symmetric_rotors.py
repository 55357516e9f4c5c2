# SPDX-License-Identifier: Apache-2.0
"""Parameters of a robot whose rotors are bodies that are symmetric about their axes."""

from __future__ import annotations

import numpy as np

from sysid_core.identifiability.rpna import coupling_matrix
from sysid_core.robot import Array, RobotModel, joint_torque_regressor
from sysid_studies.quadruped import Gallop, motion_of


def parameter_names(model: RobotModel) -> list[str]:
    """Names of the parameters: ten per link and four per rotor."""
    names: list[str] = []
    for body in model.body_names:
        kinds = ("m", "mz", "Ixx=Iyy", "Izz") if body.endswith("_rotor") else tuple(range(10))
        names += [f"{body}.{kind}" for kind in kinds]
    return names


def symmetric_rotors(model: RobotModel) -> Array:
    """Matrix from the parameters of `parameter_names` to ten parameters per body, shape (10 N, p)."""
    rotor = np.zeros((10, 4))
    rotor[[0, 3, 9], [0, 1, 3]] = 1.0
    rotor[[4, 6], 2] = 1.0
    blocks = [rotor if body.endswith("_rotor") else np.eye(10) for body in model.body_names]
    out = np.zeros((10 * len(blocks), sum(block.shape[1] for block in blocks)))
    column = 0
    for k, block in enumerate(blocks):
        out[10 * k : 10 * k + 10, column : column + block.shape[1]] = block
        column += block.shape[1]
    return out


def true_parameters(model: RobotModel) -> Array:
    """Parameters of the model, in the order of `parameter_names`."""
    S = symmetric_rotors(model)
    return np.asarray(np.linalg.lstsq(S, model.pi.ravel(), rcond=None)[0])


def regressor(model: RobotModel, motion: Gallop) -> Array:
    """Regressor of the generalised forces of torso and leg joints, rotors included; (K (6 + 12), p)
    or (3 K, p).
    """
    Y = joint_torque_regressor(model, *motion_of(model, motion)) @ symmetric_rotors(model)
    return (coupling_matrix(model).T @ Y).reshape(-1, Y.shape[-1])
