# SPDX-License-Identifier: Apache-2.0
"""Detection of a payload that is picked up, put down or slips during the estimation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.kinds import Kind
from sysid_core.robot import Array

_TIME_CONSTANT_S = 0.1  # time constant of the mean [s]
_HOLD_S = 0.1  # for how long it must stay beyond the limit [s]


class ChangeKind(Kind):
    """Kind of change of the payload."""

    ATTACHED = "attached"
    DETACHED = "detached"
    SLIPPED = "slipped"


_CROSSTALK = 0.025  # [m] of a force in the torques, of which a share is an error


@dataclass(frozen=True)
class PayloadChange:
    """Detected change of the payload.

    Attributes:
        stamp_s: Time of the detection [s].
        kind: Kind of change: heavier, lighter, or same mass with another centre of mass.
        mass: Increase of the mass [kg]; negative for a decrease.
    """

    stamp_s: float
    kind: ChangeKind
    mass: float


class ChangeDetector:
    """Detector of payload changes from the residual of the wrench or of the joint torques.

    An exponentially weighted mean of the residual (Roberts 1959) is compared with its standard
    deviation, which includes noise, the uncertainty of the estimate, and a share of the signal for
    errors of gain and delay. A change is reported if the mean stays beyond the limit for several
    samples, so that spikes and impacts do not count.

    Args:
        noise_sd: Noise standard deviation of one sample of each signal, shape (n,).
        share: Model error relative to the usual size of the signal [-].
        limit: Limit of the mean residual, in standard deviations.
    """

    def __init__(
        self,
        noise_sd: ArrayLike,
        *,
        share: float = 0.02,
        limit: float = 7.0,
    ) -> None:
        self.noise_sd = np.asarray(noise_sd, dtype=float)
        self.share = share
        self.limit = limit
        self.reset()

    def reset(self) -> None:
        """Delete all samples, for example after a change."""
        self._mean = np.zeros(len(self.noise_sd))
        self._signal = np.zeros(len(self.noise_sd))
        self._last: float | None = None
        self._beyond_since: float | None = None

    @property
    def mean(self) -> Array:
        """Time average of the residual, shape (n,)."""
        return self._mean

    def update(
        self, stamp_s: float, residual: ArrayLike, predicted: ArrayLike, open_sd: ArrayLike
    ) -> bool:
        """Add one sample; returns True if the payload has changed.

        Args:
            stamp_s: Time of the sample [s], increasing.
            residual: Measured minus predicted signals, shape (n,).
            predicted: Predicted signals, shape (n,).
            open_sd: Standard deviation of the prediction due to the uncertainty of the estimate,
                shape (n,).
        """
        residual, predicted = np.asarray(residual), np.asarray(predicted)
        dt = 0.0 if self._last is None else stamp_s - self._last
        self._last = stamp_s
        a = 1.0 - np.exp(-dt / _TIME_CONSTANT_S)
        self._mean = self._mean + a * (residual - self._mean)
        slow = 1.0 - np.exp(-dt / (20.0 * _TIME_CONSTANT_S))
        self._signal = np.maximum(self._signal + slow * (np.abs(predicted) - self._signal), 0.0)
        size = np.maximum(np.abs(predicted), self._signal)
        white = self.noise_sd**2 * a / max(2.0 - a, 1e-9)
        groups = len(size) == 6  # a wrench: crosstalk within forces, within torques, and into these
        if groups:
            force, torque = np.linalg.norm(size[:3]), np.linalg.norm(size[3:])
            size = np.repeat([force, np.hypot(torque, _CROSSTALK * force)], 3)
        sd = np.sqrt(white + np.square(open_sd) + (self.share * size) ** 2 + 1e-12)
        if np.max(np.abs(self._mean) / sd) < self.limit:
            self._beyond_since = None
            return False
        if self._beyond_since is None:
            self._beyond_since = stamp_s
        return stamp_s - self._beyond_since >= _HOLD_S


def kind_of_change(mass: float, sd: float) -> ChangeKind:
    """Return the kind of a payload change: heavier, lighter, or neither, if |change| is below three
    standard deviations [kg].
    """
    if abs(mass) < 3.0 * sd:
        return ChangeKind.SLIPPED
    return ChangeKind.ATTACHED if mass > 0 else ChangeKind.DETACHED
