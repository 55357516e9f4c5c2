# SPDX-License-Identifier: Apache-2.0
"""Goals for controllers that receive whole trajectories, and the time reported by the controller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.execution.played_motion import PlayedMotion
from sysid_core.planning import Trajectory

OVERLAP = 0.1  # that a goal reaches into the past [s]
CLOCKED_STEADY = 0.98  # rate of a controller's clock from which on it counts as full


@dataclass(frozen=True, eq=False)
class Outgoing:
    """A goal for a controller that takes whole trajectories.

    Attributes:
        trajectory: It ends at rest.
        begin: When its first sample is due, on the executor's clock [s]; None: at once.
        origin: The motion's time of its first sample [s].
    """

    trajectory: Trajectory
    begin: float | None
    origin: float

    @property
    def ends(self) -> float:
        """Time of the motion at which it ends at rest [s]."""
        return float(self.trajectory.time[-1])


def at_once(motion: PlayedMotion, u: float, until: float) -> Outgoing:
    """Goal that starts on arrival, with the motion from u [s] on."""
    trajectory = motion.goal(u, until, exact=True)
    return Outgoing(trajectory, None, float(trajectory.time[0]))


def timed(motion: PlayedMotion, u: float, until: float, at: float) -> Outgoing:
    """Goal that is at u [s] at a given time of the clock [s], regardless of its arrival."""
    trajectory = motion.goal(u - OVERLAP, until)
    origin = float(trajectory.time[0])
    return Outgoing(trajectory, at + (origin - u), origin)


class ControllerClock:
    """Time of the controller, as far as it is known.

    Args:
        rate: Speed scaling that it is thought to run with.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._last: tuple[float, float] | None = None  # its time, and the stamp

    @property
    def spoken(self) -> bool:
        """True if the controller has reported its time."""
        return self._last is not None

    def take(self, u: float, stamp: float) -> None:
        """Take in its time [s] at a stamp on the executor's clock [s]."""
        before, self._last = self._last, (u, stamp)
        if before is not None and 0.02 < stamp - before[1] < 0.5:
            rate = float(np.clip((u - before[0]) / (stamp - before[1]), 0.0, 1.0))
            rate = 0.5 * (rate + self.rate)
            self.rate = 1.0 if rate > CLOCKED_STEADY else rate
