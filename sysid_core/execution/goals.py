# SPDX-License-Identifier: Apache-2.0
"""Goals for controllers that receive whole trajectories, and the time reported by the controller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.execution.played_motion import PlayedMotion
from sysid_core.planning import Trajectory

OVERLAP = 0.1  # that a goal reaches into the past [s]
SHORTEST = 0.02  # between two reports whose rate is taken [s]; they come every 0.05 s
STEADY = 0.995  # speed scaling of a robot that plays as fast as it is told


@dataclass(frozen=True, eq=False)
class Outgoing:
    """Goal for a controller that takes whole trajectories.

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
        """Motion time at which the goal comes to rest [s]."""
        return float(self.trajectory.time[-1])


def at_once(motion: PlayedMotion, u: float, until: float) -> Outgoing:
    """Return the goal that starts on arrival, with the motion from u [s] on."""
    trajectory = motion.goal(u, until, exact=True)
    return Outgoing(trajectory, None, float(trajectory.time[0]))


def timed(motion: PlayedMotion, u: float, until: float, at: float) -> Outgoing:
    """Return the goal that is at u [s] at a given time of the clock [s], regardless of its arrival."""
    trajectory = motion.goal(u - OVERLAP, until)
    origin = float(trajectory.time[0])
    return Outgoing(trajectory, at + (origin - u), origin)


class ControllerClock:
    """Estimate of the controller's motion time.

    The rate of this time is measured between two reports of one goal, because the controller sets
    its time to the clock whenever it accepts a goal, so that over many goals any rate would appear
    as 1.

    Args:
        rate: Speed scaling that it is thought to run with.

    Attributes:
        spoken: Whether the controller has reported its time.
        measured: Whether it is known, by its reports or by a topic, if the rate is full.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.spoken = self.measured = False
        self._first: tuple[float, float] | None = None  # time and stamp of this goal's first report

    def begin_goal(self) -> None:
        """Start a new goal, to which all further reports belong; the speed slider may move
        meanwhile.
        """
        self._first, self.measured = None, False

    def take(self, u: float, stamp: float, error: float = 0.0) -> None:
        """Use a reported controller time [s] at a stamp on the executor's clock [s], with its
        uncertainty [s].
        """
        self.spoken = True
        if self._first is None:
            self._first = u, stamp
            return
        span = stamp - self._first[1]
        if span < SHORTEST:
            return
        rate, doubt = float(np.clip((u - self._first[0]) / span, 0.0, 1.0)), 2.0 * error / span
        self.rate = 1.0 if rate > STEADY - doubt else rate
        self.measured = self.measured or doubt <= 1.0 - STEADY
