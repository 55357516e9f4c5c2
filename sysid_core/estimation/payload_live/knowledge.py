# SPDX-License-Identifier: Apache-2.0
"""Payload parameters that are known accurately enough, and the motion that would provide more
information.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.payload import PayloadData, PayloadSummary
from sysid_core.reasons import Reason, Severity
from sysid_core.robot import Array
from sysid_core.robot.shapes import Shape
from sysid_core.settings import Kind

# Relative standard deviations below which a quantity counts as known.
_MASS = 0.05  # an unchecked gain alone leaves 3.5 % (`SensorModel.gain`, shared by all axes)
_COM = 0.02  # of the object's largest length
_TILTED = 30.0  # [deg] about the second axis, as for a tare (`StaticPostures.tare`)
_INERTIA = 0.15  # of `m (a_j^2 + a_k^2) / 12`


class PayloadState(Kind):
    """Progress of a payload identification."""

    COLLECTING = "collecting"
    MASS_KNOWN = "mass known"
    COM_KNOWN = "COM known"
    INERTIA_KNOWN = "inertia known"
    PRIOR_DOMINATED = "prior-dominated: keep moving"


@dataclass(frozen=True, eq=False)
class PayloadKnowledge:
    """Payload estimate, and which of its parameters are known accurately enough.

    Attributes:
        estimate: Estimate of a payload.
        shape: Shape of the object, in the sensor frame; None: unknown.
    """

    estimate: Estimate
    shape: Shape | None = None

    @cached_property
    def summary(self) -> PayloadSummary:
        """Mass, centre of mass and inertia.

        Raises:
            EstimationError: The mass isn't positive.
        """
        return PayloadSummary.of(self.estimate)

    @property
    def uncertainty(self) -> tuple[float, Array, Array]:
        """Relative standard deviations: of the mass, of the COM (3,), of the inertia's diagonal."""
        summary = self.summary
        known = self.shape is not None and self.shape.fingers is None
        size = self.shape.size if known and self.shape is not None else summary.box_lengths
        scale = summary.mass / 12.0 * (size @ size - size**2)
        return (
            summary.mass_sd / summary.mass,
            summary.com_sd / size.max(),
            np.diag(summary.inertia_sd) / scale,
        )

    @property
    def state(self) -> PayloadState:
        """Progress: which parameters are known accurately enough."""
        if self.estimate["payload.m"] <= 0:
            return PayloadState.COLLECTING
        mass, com, inertia = self.uncertainty
        if mass > _MASS:
            return PayloadState.COLLECTING
        if np.max(com) > _COM:
            return PayloadState.MASS_KNOWN
        diagonal = [self.estimate.verdicts[i] for i in (4, 6, 9)]
        if ParameterVerdict.PRIOR_DOMINATED in diagonal:
            return PayloadState.PRIOR_DOMINATED
        known = np.max(inertia) <= _INERTIA and not self._warnings
        return PayloadState.INERTIA_KNOWN if known else PayloadState.COM_KNOWN

    @property
    def _warnings(self) -> list[Reason]:
        return [
            r for r in self.estimate.warnings if r.severity in (Severity.FAILURE, Severity.WARNING)
        ]

    def advice(self, data: PayloadData | None = None) -> str:
        """Return one sentence of advice: which motion gives the most information about the unknown
        parameters.

        Args:
            data: Data of the estimate; None while samples are still arriving.
        """
        state = self.state
        if state is PayloadState.COLLECTING:
            if data is None:
                return "Hold the object free of contact and keep recording."
            most, least = np.rad2deg(tilts(data))
            if least >= _TILTED:
                return (
                    f"The sensor was tilted enough ({most:.0f} and {least:.0f} degrees): the mass is limited by"
                    " the accuracy of the sensor. Tare before grasping, or calibrate its gains with a"
                    " known mass (`sysid tare --calibrate --expected-mass`)."
                )
            axis = "xyz"[int(np.argmin(np.ptp(data.gravity, axis=0)))]
            return (
                "Tilt the sensor about two horizontal axes, to separate weight and bias: so far it"
                f" turned by {most:.0f} and {least:.0f} degrees, and its {axis} axis changed its"
                " inclination least. A tare before grasping has the same effect."
            )
        _, com, inertia = self.uncertainty
        if state is PayloadState.MASS_KNOWN:
            axis = "xyz"[int(np.argmax(com))]
            return f"Tilt the sensor so that its {axis} axis becomes horizontal: the centre of mass along {axis} is the least accurate."
        if self._warnings:
            return self._warnings[0].advice
        axis = "xyz"[int(np.argmax(inertia))]
        if state is PayloadState.INERTIA_KNOWN:
            return "The accuracy is sufficient; more motion improves it further."
        return f"Turn faster, back and forth, about the sensor's {axis} axis: the inertia about this axis is the least accurate."


def tilts(data: PayloadData) -> tuple[float, float]:
    """Return the ranges of the direction of gravity in the sensor's axes, along its two principal
    axes [rad].
    """
    direction = data.gravity / np.linalg.norm(data.gravity, axis=1)[:, None]
    off = direction - direction.mean(axis=0)
    along = off @ np.linalg.svd(off, full_matrices=False)[2][:2].T
    most, least = 2.0 * np.arcsin(np.clip(0.5 * np.ptp(along, axis=0), 0.0, 1.0))
    return float(most), float(least)
