# SPDX-License-Identifier: Apache-2.0
"""Errors of a model of a closed chain in torque, and of a payload estimate against the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.arm import ArmEquations, filled
from sysid_core.robot import Array, inertia_matrix_from_pi, mass_com_inertia_from_pi
from sysid_core.robot.loops import ClosedChain, constrained_motion, constrained_torques

MOVING = 0.05  # [rad/s]: below it stiction, not the model, decides the torque


@dataclass(frozen=True)
class TorqueError:
    """Prediction error of one joint's torque.

    Attributes:
        rms: Over all samples [N m].
        rms_moving: Over those faster than 0.05 rad/s [N m].
        r2: Share of the torque's variance that is explained.
    """

    rms: float
    rms_moving: float
    r2: float


def torque_errors(equations: ArmEquations, chain: ClosedChain) -> dict[str, TorqueError]:
    """Torque prediction on recordings, per actuated joint, filtered as in a fit.

    Args:
        equations: Equations of held-out recordings.
        chain: The model on trial.
    """
    parts = []
    for span in equations.spans:
        q, v, a = span.motion.q, filled(span.motion.v), filled(span.motion.a)
        tau = constrained_torques(chain, constrained_motion(chain, q, v, a))
        kept = equations.processing.kept(len(q), span.rate_hz)
        parts.append(
            [
                equations.processing.low_pass.apply(x, span.rate_hz)[kept]
                for x in (span.tau, span.tau - tau, v)
            ]
        )
    measured, left, speed = (np.concatenate(x) for x in zip(*parts, strict=True))
    moving = np.abs(speed) > MOVING
    out = {}
    for j, name in enumerate(chain.actuated):
        e, u = left[:, j], measured[:, j]
        inside = e[moving[:, j]]
        out[name] = TorqueError(
            rms=float(np.sqrt(np.mean(e**2))),
            rms_moving=float(np.sqrt(np.mean(inside**2))) if len(inside) else float("nan"),
            r2=float(1.0 - np.sum(e**2) / max(np.sum((u - u.mean()) ** 2), 1e-300)),
        )
    return out


def total(values: Mapping[str, float]) -> float:
    """Root of the summed squares over joints."""
    return float(np.sqrt(sum(value**2 for value in values.values())))


def payload_errors(
    pi: Array, truth: Array, size: Array, *, about_origin: bool = False
) -> tuple[float, float, float]:
    r"""Errors of mass, centre of mass and inertia tensor in percent.

    Nadeau, Giamou and Kelly (2022), eqs. (10), (11), (12).

    Mass relative to the mass; centre of mass relative to the bounding box, mean of three axes;
    inertia relative to `m/12 (delta_ij (a_i^2 + a_j^2 + a_k^2) - a_i a_j)`, mean of six entries.

    Args:
        pi: Estimated parameters, shape (10,).
        truth: True parameters, shape (10,).
        size: Bounding box, shape (3,) [m].
        about_origin: Compare the inertia about the frame's origin instead of about the COM.

    Returns:
        Three percentages.
    """
    mass, com, inertia = mass_com_inertia_from_pi(pi)
    mass_0, com_0, inertia_0 = mass_com_inertia_from_pi(truth)
    if about_origin:
        inertia, inertia_0 = inertia_matrix_from_pi(pi), inertia_matrix_from_pi(truth)
    scale = np.abs(mass_0 / 12.0 * (np.eye(3) * (size @ size) - np.outer(size, size)))
    upper = np.triu_indices(3)
    return (
        100.0 * float(abs(mass - mass_0) / mass_0),
        100.0 * float(np.mean(np.abs(com - com_0) / size)),
        100.0 * float(np.mean((np.abs(inertia - inertia_0) / scale)[upper])),
    )
