# SPDX-License-Identifier: Apache-2.0
"""How late a robot follows."""

from __future__ import annotations

import numpy as np


class Lateness:
    """By how much a robot is behind its plan: at the start, and how that grows: a straight line."""

    def __init__(self) -> None:
        self._sums = np.zeros((2, 2))
        self._right = np.zeros(2)

    def add(self, t: float, late: float) -> None:
        """Take in that it was late by some time at a time [s]."""
        row = np.array([1.0, t])
        self._sums += np.outer(row, row)
        self._right += late * row

    @property
    def at_start(self) -> float:
        """The robot's own delay [s], without what a slow player adds; zero before it has moved."""
        if np.linalg.matrix_rank(self._sums) < 2:
            return 0.0
        return float(np.linalg.solve(self._sums, self._right)[0])
