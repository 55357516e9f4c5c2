# SPDX-License-Identifier: Apache-2.0
"""Identification of a payload from one or several recordings with the default estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.payload import PayloadData, PayloadSummary
from sysid_core.estimation.payload_live.session import LoadChange
from sysid_core.reasons import Reason, Verdict
from sysid_core.robot import Array
from sysid_core.signals import JointStream
from sysid_core.signals.wrench import SensorCalibration

MASS_LIMIT = 0.3  # of the mass: beyond, nothing is known


@dataclass(frozen=True, eq=False)
class Weighing:
    """Result of the payload identification from one recording.

    Attributes:
        estimate: Estimate by `PayloadMAP`.
        data: Data used for the estimate, after subtraction of the tool and the bias.
        sensor_frame: Name of the sensor frame, to which the payload refers.
        calibration: Calibration of the sensor; None: not tared.
        changes: Changes of the load during the motion.
        notes: Remarks on the processing of the readings and on the sensor, one sentence each.
        doubts: Reasons to doubt the estimate, found in the raw readings and not stored in the
            estimate itself.
        running: Result of the live estimator from the same samples; None if the load was neither
            tared nor changed, or nothing was held.
        smoothed: Smoothed joint states that the estimate used; None for static postures.
        bias: Bias that was estimated together with the load, or with the lightest part of the
            recording, shape (6,) [N, N m]; None: tared.
    """

    estimate: Estimate
    data: PayloadData
    sensor_frame: str
    calibration: SensorCalibration | None = None
    changes: tuple[LoadChange, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[Reason, ...] = ()
    running: Estimate | None = None
    smoothed: JointStream | None = None
    bias: Array | None = None

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Doubts, and the bias of a sensor that was not tared."""
        if self.bias is None:
            return self.doubts
        force, torque = self.bias[:3].tolist(), self.bias[3:].tolist()
        return (*self.doubts, Reason.held("bias-estimated", force=force, torque=torque))

    @staticmethod
    def judge(
        estimate: Estimate,
        calibration: SensorCalibration | None,
        changes: Sequence[LoadChange] = (),
    ) -> Verdict:
        """Return a verdict on whether a payload estimate may be sent to a controller.

        The verdict is a failure unless the mass is positive and known to 30 % and the parameters are
        physically consistent; it contains the warnings of the estimate and of the tare.

        Args:
            estimate: Estimate of a payload.
            calibration: Calibration of the sensor; None: not tared.
            changes: Changes of the load during the motion.
        """
        reasons = []
        mass, sd = estimate.values[0], estimate.standard_deviations[0]
        if not mass > 0 or sd > MASS_LIMIT * mass:
            reasons.append(Reason.failure("mass-unknown", mass=mass, sd=sd))
        if estimate.physically_consistent is False:
            reasons.append(Reason.failure("no-body"))
        reasons += estimate.warnings
        reasons += (
            [Reason.warning("sensor-remark", text=note) for note in calibration.notes]
            if calibration
            else []
        )
        reasons += [Reason.warning("load-changed", kind=c.kind.value, mass=c.mass) for c in changes]
        if not reasons:
            reasons.append(Reason.held("wrench-explained"))
        dominated = sum(v is ParameterVerdict.PRIOR_DOMINATED for v in estimate.verdicts)
        if dominated:
            reasons.append(Reason.held("prior-dominates", count=dominated))
        return Verdict((*reasons, Reason.not_judged("force-unit-unseen")))

    @staticmethod
    def repeatability(estimates: Sequence[Estimate]) -> Repeatability:
        """Return the scatter of several weighings of the same payload.

        Raises:
            EstimationError: There are fewer than two estimates.
        """
        if len(estimates) < 2:
            raise EstimationError(
                f"{len(estimates)} result(s) are not sufficient to determine the repeatability.",
                remedy="Record the same object at least twice, better ten times.",
            )
        payloads = [PayloadSummary.of(estimate) for estimate in estimates]
        return Repeatability(
            np.array([p.mass for p in payloads]),
            np.array([p.com for p in payloads]),
            np.array([p.mass_sd for p in payloads]),
            np.array([p.com_sd for p in payloads]),
        )


@dataclass(frozen=True, eq=False)
class Repeatability:
    """Repeatability of several payload estimates of one object.

    Attributes:
        mass: Estimated masses, shape (K,) [kg].
        com: Estimated centres of mass, shape (K, 3) [m].
        mass_sd: Reported standard deviations of the masses, shape (K,) [kg].
        com_sd: Reported standard deviations of the centres of mass, shape (K, 3) [m].
    """

    mass: Array
    com: Array
    mass_sd: Array
    com_sd: Array

    @property
    def mass_scatter(self) -> float:
        """Standard deviation of the masses relative to their mean."""
        return float(self.mass.std(ddof=1) / self.mass.mean())

    def mass_tolerance(self, share: float) -> float:
        """Return the width of the mass tolerance [kg] of which six standard deviations of the
        weighing are a given share.

        The upper 95 % confidence limit of the standard deviation is used (chi-squared
        distribution), so that few results lead to a wider tolerance. A gauge is acceptable up to a
        share of 0.1 and conditionally so up to 0.3 (AIAG, Measurement Systems Analysis, 4th ed.
        2010, ch. III). The scatter contains what differed between the recordings (grasps, postures,
        tares, robots).

        Args:
            share: Ratio of six standard deviations to the tolerance [-].
        """
        freedom = len(self.mass) - 1
        lowest = 2.0 * float(scipy.special.gammaincinv(0.5 * freedom, 0.05))  # of chi squared
        return float(6.0 * self.mass.std(ddof=1) * np.sqrt(freedom / lowest) / share)

    @property
    def com_scatter(self) -> Array:
        """Standard deviation of the centres of mass, shape (3,) [m]."""
        return np.asarray(self.com.std(axis=0, ddof=1))

    @property
    def chi(self) -> float:
        """Ratio of the scatter to the stated standard deviations; 1 if these are correct."""
        z = np.hstack(
            [
                ((self.mass - self.mass.mean()) / self.mass_sd)[:, None],
                (self.com - self.com.mean(axis=0)) / self.com_sd,
            ]
        )
        return float(np.sqrt(np.sum(z**2) / (4 * (len(z) - 1))))
