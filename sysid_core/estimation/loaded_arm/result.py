# SPDX-License-Identifier: Apache-2.0
"""Payload estimate from joint torques, with the torques that it explains."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.estimation.estimate import Estimate
from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class ExtraTorque:
    """Contribution of the payload to the joint torques along one loaded recording.

    Attributes:
        time: Shape (K,) [s].
        measured: Torque minus what the unloaded arm needs, shape (K, n) [N m].
        predicted: By the estimated payload, shape (K, n) [N m].
    """

    time: Array
    measured: Array
    predicted: Array


@dataclass(frozen=True, eq=False)
class LoadedArm:
    """Estimated payload with the joint torques that it explains.

    Attributes:
        estimate: Estimate of the payload.
        joint_names: Columns of the torques.
        extra: One entry for each loaded recording.
        added: Mass that the loaded recordings carry more than the unloaded ones, by least squares
            alone, and its standard deviation [kg]; negative where they carry less.
    """

    estimate: Estimate
    joint_names: tuple[str, ...]
    extra: tuple[ExtraTorque, ...]
    added: tuple[float, float]
