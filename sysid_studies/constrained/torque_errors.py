# SPDX-License-Identifier: Apache-2.0
"""Torque errors of a closed-chain model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.arm import ArmEquations
from sysid_core.robot.loops import ClosedChain

MOVING = 0.05  # [rad/s]: below it stiction, not the model, decides the torque


@dataclass(frozen=True)
class TorqueError:
    """Prediction error of the torque of one joint.

    Attributes:
        rms: RMS error over all samples [N m].
        rms_moving: RMS error over the samples with a joint speed above 0.05 rad/s [N m].
        r2: Coefficient of determination, the explained share of the torque variance.
    """

    rms: float
    rms_moving: float
    r2: float


def torque_errors(equations: ArmEquations, chain: ClosedChain) -> dict[str, TorqueError]:
    """Return the torque prediction errors on recordings for each actuated joint, filtered as in the
    fit.

    Args:
        equations: Equations of held-out recordings.
        chain: Model to be tested.
    """
    parts = []
    for span in equations.spans:
        q, v, a = span.motion.kinematics
        tau = chain.torques(chain.motion(q, v, a))
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
    """Return the root of the summed squares of the errors over the joints."""
    return float(np.sqrt(sum(value**2 for value in values.values())))
