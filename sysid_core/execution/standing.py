# SPDX-License-Identifier: Apache-2.0
"""Detection of a robot at rest."""

from __future__ import annotations

import numpy as np

from sysid_core.execution.states import ExecutorSettings
from sysid_core.robot import Array


class Standing:
    """Detector of a robot that has been at rest at its goal for a while.

    Args:
        settings: How long, how slow, and after which time it is given up.
    """

    def __init__(self, settings: ExecutorSettings) -> None:
        self._settings = settings
        self.forget()

    def forget(self) -> None:
        """Restart the waiting time."""
        self._waiting_since: float | None = None
        self._since: float | None = None
        self.distance = 0.0  # from where it should be, at the last look [rad or m]

    def look(self, now: float, q: Array, v: Array, goal: Array, tolerance: float) -> bool:
        """True if the robot has been at rest long enough; q, v, goal of shape (n,)."""
        self._waiting_since = now if self._waiting_since is None else self._waiting_since
        self.distance = float(np.max(np.abs(q - goal)))
        if self.distance > tolerance or np.max(np.abs(v)) > self._settings.rest_velocity:
            self._since = None
        elif self._since is None:
            self._since = now
        return self._since is not None and now - self._since >= self._settings.settle_time

    def takes_too_long(self, now: float) -> bool:
        """True if the robot should already be at rest."""
        waited = 0.0 if self._waiting_since is None else now - self._waiting_since
        return self._since is None and waited > self._settings.settle_timeout
