# SPDX-License-Identifier: Apache-2.0
"""Speed of simulated time, given by the wall clock or by the client that moves the robot."""

from __future__ import annotations

import math

from sysid_core.execution import ExecutorState

CATCH_UP_S = 0.02  # at a time; commands come in between
_AHEAD_S = 0.02  # of a streamed command; the next one is due long before
# Of a state of the executor, which reports each 0.1 s, and aborts after a stall of 0.25 s:
_REPORTED_S = 0.15
_MOVING = {  # states in which it reports steadily
    ExecutorState.MOVING_TO_START,
    ExecutorState.EXECUTING,
    ExecutorState.SETTLING,
    ExecutorState.ABORTING,
}


class WallPace:
    """Simulated time that follows the wall clock.

    Args:
        wall: Current time of the wall clock [s].
        simulated: Current simulated time [s].
    """

    def __init__(self, wall: float, simulated: float) -> None:
        self._began = wall - simulated

    def due(self, wall: float, simulated: float) -> float:
        """Return the duration of physics to be simulated now [s].

        Args:
            wall: Time of the wall clock [s].
            simulated: Simulated time [s].
        """
        return min(wall - self._began - simulated, CATCH_UP_S)

    def commanded(self, stream: str, wall: float, simulated: float, *, last: bool = False) -> None:
        """Record that a streamed command has arrived; simulated time does not wait for the next
        one.
        """


class LockStep(WallPace):
    """Simulated time that waits for the node that moves the robot, and is never faster than the
    wall clock.

    Simulated time waits for the next command of a stream, and for the next state of an executor
    whose trajectories the robot plays by itself. A slow computer thus slows the simulation down
    instead of making the client late. If the client has ended, time continues after a while, and
    the robot behaves as without commands.

    Args:
        wall: Current time of the wall clock [s].
        simulated: Current simulated time [s].
        patience: Longest wait for a late command [s of the wall clock].
        pace: Largest ratio of simulated time to the time of the wall clock.
    """

    def __init__(self, wall: float, simulated: float, patience: float, pace: float = 1.0) -> None:
        super().__init__(wall, simulated)
        self._pace = pace
        self._patience = patience
        self._allowed, self._before = simulated, wall  # the time that may be reached, and when
        self._streams: dict[
            str, tuple[float, float]
        ] = {}  # wall time of the newest, and how far time may run

    def due(self, wall: float, simulated: float) -> float:
        """Return the duration of physics to be simulated now [s]; time lost in a stall is not
        caught up.
        """
        allowed = self._allowed + self._pace * (wall - self._before)
        self._allowed, self._before = min(allowed, simulated + CATCH_UP_S), wall
        end = self._allowed
        for stream, (heard, until) in list(self._streams.items()):
            if wall - heard > self._patience:
                del self._streams[stream]
            else:
                end = min(end, until)
        return max(end - simulated, 0.0)

    def commanded(self, stream: str, wall: float, simulated: float, *, last: bool = False) -> None:
        """Record that a streamed command has arrived; simulated time waits for the next one unless
        this is the last.
        """
        self._streams[stream] = (wall, math.inf if last else simulated + _AHEAD_S)

    def reported(self, state: str, wall: float, stamp: float) -> None:
        """Record that the executor has reported its state; during motion, simulated time waits for
        the next report.

        Args:
            state: State of the executor.
            wall: Time of the wall clock [s].
            stamp: Simulated time at which the executor made the report [s], which is earlier than
                the time at which the report arrives.
        """
        moves = state in _MOVING
        self._streams["executor"] = (wall, stamp + _REPORTED_S if moves else math.inf)
