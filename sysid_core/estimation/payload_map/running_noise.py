# SPDX-License-Identifier: Apache-2.0
"""Noise of a wrench that arrives sample by sample."""

from __future__ import annotations

import numpy as np

from sysid_core.robot import Array

_UNKNOWN = (0.1, 0.005)  # until enough samples tell: Nadeau et al. 2022, moderate
_FEW, _ENOUGH = 20, 40  # samples


class RunningNoise:
    """Mean size of the wrench's fourth differences, which no slow motion survives.

    Args:
        given: Noise of force and torque [N, N m], where it is known.
    """

    def __init__(self, given: tuple[float, float] | None = None) -> None:
        self._given = given
        self._recent: list[Array] = []
        self._sum = np.zeros(2)
        self._count = 0

    @property
    def known(self) -> bool:
        """Whether enough samples have been seen."""
        return self._count >= _ENOUGH

    def follow(self, wrench: Array) -> None:
        """Take one reading, shape (6,)."""
        self._recent = [*self._recent[-4:], wrench]
        if len(self._recent) == 5:
            d = np.abs(np.diff(np.array(self._recent), n=4, axis=0)[0])
            size = np.array([d[:3].mean(), d[3:].mean()])
            if self._count >= _FEW:  # a step is not noise
                size = np.minimum(size, 5.0 * self._sum / self._count)
            self._sum = self._sum + size
            self._count += 1

    @property
    def sd(self) -> Array:
        """Standard deviations of the six axes, as known by now."""
        if self._given is not None:
            return np.repeat(np.maximum(self._given, 1e-9), 3)
        if self._count < _FEW:
            return np.repeat(_UNKNOWN, 3)
        sd = self._sum / self._count * np.sqrt(np.pi / 2.0) / np.sqrt(70.0)
        return np.repeat(np.maximum(sd, [1e-5, 1e-6]), 3)
