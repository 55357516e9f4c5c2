# SPDX-License-Identifier: Apache-2.0
"""Noise of a wrench, estimated sample by sample."""

from __future__ import annotations

import numpy as np

from sysid_core.robot import Array

_UNKNOWN = (0.1, 0.005)  # until enough samples tell: Nadeau et al. 2022, moderate
_FOURTH = np.array([1.0, -4.0, 6.0, -4.0, 1.0])  # difference
_FEW, _ENOUGH = 20, 40  # samples


class RunningNoise:
    """Mean magnitude of the fourth differences of the wrench, which remove slow motion.

    Args:
        given: Known noise of force and torque [N, N m]; None: estimated.
    """

    def __init__(self, given: tuple[float, float] | None = None) -> None:
        self._given = given
        self._recent: list[Array] = []
        self._sum = np.zeros(2)
        self._count = 0
        self._sd: Array | None = None

    @property
    def known(self) -> bool:
        """True if there are enough samples for an estimate."""
        return self._count >= _ENOUGH

    def follow(self, wrench: Array) -> None:
        """Add one reading, shape (6,)."""
        self._recent = [*self._recent[-4:], wrench]
        if len(self._recent) == 5:
            size = np.abs(_FOURTH @ np.array(self._recent)).reshape(2, 3).mean(axis=1)
            if self._count >= _FEW:  # a step is not noise
                size = np.minimum(size, 5.0 * self._sum / self._count)
            self._sum = self._sum + size
            self._count += 1
            self._sd = None

    @property
    def sd(self) -> Array:
        """Current estimates of the standard deviations of the six axes."""
        if self._sd is None:
            self._sd = np.repeat(self._levels(), 3)
        return self._sd

    def _levels(self) -> Array:
        """Standard deviations of force and torque, shape (2,)."""
        if self._given is not None:
            return np.maximum(self._given, 1e-9)
        if self._count < _FEW:
            return np.array(_UNKNOWN)
        sd = self._sum / self._count * np.sqrt(np.pi / 2.0) / np.sqrt(70.0)
        return np.asarray(np.maximum(sd, [1e-5, 1e-6]))
