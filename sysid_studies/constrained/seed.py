# SPDX-License-Identifier: Apache-2.0
"""Settings of the closed-chain study, and the result for one simulated robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sysid_core.estimation import Estimate
from sysid_core.planning.closed_chain import LoopExcitation
from sysid_core.robot.loops import JointDrive
from sysid_studies.constrained.torque_errors import TorqueError
from sysid_studies.constrained.tracking import JointSensorNoise

MODELS = ("nominal", "paper", "identified", "truth")


@dataclass(frozen=True)
class ConstrainedStudyConfig:
    """Settings of the closed-chain study, such as the number of robots.

    Attributes:
        seeds: Seeds of the simulated robots, which differ in their true parameters and noise.
        trajectories: Number of trajectories for identification, per robot.
        duration: Duration of each trajectory [s].
        held_out: Duration of the held-out run [s]: slightly more than 31 segments of 0.5 s.
        speeds: Peak velocities of the tracking test [rad/s].
        tracking_duration: Duration of the tracking test [s].
        spread: Largest factor between true and nominal values of friction and drives; the smallest
            one is 1.25.
        offset: Largest ratio of the torque offset to the Coulomb friction of the joint.
        noise: Noise of the sensors.
        excitation: Settings of the search for motions, except the durations.
        excitation_bandwidth: Bandwidth of the PD control during the excitation motions [rad/s].
        tracking_bandwidth: Bandwidth of the feedback in the tracking test [rad/s].
    """

    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    trajectories: int = 3
    duration: float = 15.0
    held_out: float = 15.7
    speeds: tuple[float, ...] = (1.8, 3.0, 5.0)
    tracking_duration: float = 6.0
    spread: float = 2.0
    offset: float = 0.5
    noise: JointSensorNoise = field(default_factory=JointSensorNoise)
    excitation: LoopExcitation = field(default_factory=LoopExcitation)
    excitation_bandwidth: float = 60.0
    tracking_bandwidth: float = 30.0


@dataclass(frozen=True, eq=False)
class ConstrainedSeed:
    """Result for one simulated robot.

    Attributes:
        seed: Seed of the true parameters and of the noise.
        truth: True value by name, such as `joint.F_c`.
        nominal: Value of the description by name.
        estimates: Estimates named `paper` and `identified`.
        torque: Errors of table I by model and joint.
        integration: Errors of table II by model and joint [rad].
        tracking: Mean and largest errors of tables III and IV by speed, model and joint [deg].
        saturated: Share of samples at the torque limit with the true parameters, by speed and
            joint.
        guess_difference: Largest change of an estimate, divided by its standard deviation, if
            friction and drive parameters of the description are tripled.
    """

    seed: int
    truth: Mapping[str, float]
    nominal: Mapping[str, float]
    estimates: Mapping[str, Estimate]
    torque: Mapping[str, Mapping[str, TorqueError]]
    integration: Mapping[str, Mapping[str, float]]
    tracking: Mapping[float, Mapping[str, Mapping[str, tuple[float, float]]]]
    saturated: Mapping[float, Mapping[str, float]]
    guess_difference: float

    def errors(self, model: str) -> dict[str, float]:
        """Return the largest relative error of `F_c`, `F_v`, `I_a` over the joints."""
        values = self.nominal if model == "nominal" else self.estimates[model]
        return {
            symbol: float(
                max(
                    abs(values[name] / true - 1.0)
                    for name, true in self.truth.items()
                    if name.endswith(f".{symbol}")
                )
            )
            for symbol in JointDrive.NAMES[:3]
        }

    def within_two_sd(self, model: str) -> float:
        """Return the share of the parameters whose true value lies within two standard deviations
        of the estimate.
        """
        estimate = self.estimates[model]
        inside = [
            abs(estimate[name] - true) <= 2.0 * sd
            for name, sd in zip(estimate.names, estimate.standard_deviations, strict=True)
            if (true := self.truth.get(name)) is not None
        ]
        return float(np.mean(inside))
