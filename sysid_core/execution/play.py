# SPDX-License-Identifier: Apache-2.0
"""Common interface of all ways of playing a path."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sysid_core.execution.goals import Outgoing
from sysid_core.execution.played_motion import Nearest
from sysid_core.planning import Trajectory
from sysid_core.robot import Array

BEHIND = 3.0  # how far behind its command a robot is looked for [s]


class Play(ABC):
    """Execution of a path, command by command or goal by goal.

    Attributes:
        scaling: Speed scaling of the robot, as it says itself or as it plays.
        lateness: Longest time that a goal has taken to the controller in this run [s].
    """

    scaling = 1.0
    lateness = 0.0

    @property
    @abstractmethod
    def path(self) -> Trajectory:
        """Path being played."""

    @property
    @abstractmethod
    def place(self) -> float:
        """Time on the path [s]."""

    @property
    @abstractmethod
    def at_end(self) -> bool:
        """True if the last command has been given and the robot rests there."""

    @property
    @abstractmethod
    def at_rest(self) -> bool:
        """True if the commanded motion is at rest."""

    @property
    def needs_speed(self) -> bool:
        """True if a paused robot would resume by itself."""
        return False

    @property
    @abstractmethod
    def last_move(self) -> Array:
        """Difference between the last two commands, shape (n,), which the robot has not followed
        yet.
        """

    @abstractmethod
    def command(self) -> tuple[Array, Array, Array]:
        """Commands q, v and a of this instant, each (n,)."""

    @abstractmethod
    def advance(self, now: float, dt: float, scaling: float | None) -> None:
        """Advance by a time step [s] with the robot's speed scaling, if known."""

    @abstractmethod
    def expected(self, stamp: float, longest: float, q: Array | None) -> Array:
        """Commanded posture at the time of a measured state, shape (n,).

        Args:
            stamp: Stamp of the state [s].
            longest: Largest age of a state that counts [s].
            q: The state, shape (n,), where it can be used.
        """

    def outgoing(self, now: float) -> Outgoing | None:
        """Goal to be sent now, or None."""
        return None

    def clock(self, u: float, stamp: float) -> None:
        """Use the controller time [s] reported at a stamp on the clock of the executor."""
        return

    def clock_by(self, q: Array, stamp: float) -> None:
        """Determine the controller time from the commanded position, (n,), if the controller does
        not report it.
        """
        return

    def finish(self) -> None:
        """Record that the controller has finished its last goal."""
        return

    @abstractmethod
    def nearest(self, q: Array, v: Array) -> Nearest:
        """Point of the path nearest to a state of the robot, q and v of shape (n,)."""

    @abstractmethod
    def stop(self, *, soon: bool = False, clocked: bool = True) -> None:
        """Brake along the path.

        Args:
            soon: As soon as it can be done; else so that no delay on the way makes a step.
            clocked: Whether the clock can be trusted.
        """

    @abstractmethod
    def stop_at(self, where: Nearest, age: float) -> None:
        """Brake along the path from the position of the robot measured some time ago [s]."""

    @abstractmethod
    def stop_from(self, q: Array, v: Array) -> None:
        """Brake from the position of the robot off the path; q and v of shape (n,)."""
