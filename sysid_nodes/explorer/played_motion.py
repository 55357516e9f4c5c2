# SPDX-License-Identifier: Apache-2.0
"""Motion as it was executed by the robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from robot_sysid.msg import FilteredJointState

from sysid_core.errors import SysIdError
from sysid_nodes import conversions

_PERIOD_NS = 20_000_000  # between samples that are kept
_MOVING = 0.01  # [rad/s or m/s], slower is standing still
_GAP_S = 0.1  # a longer step counts no more
Array = NDArray[Any]


class PlayedMotion:
    """Collector of the filtered joint states between `begin` and `end`."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._newest: tuple[int, Array] | None = None
        self._samples: list[tuple[int, Array]] = []
        self._keeps = False

    def of(self, names: Sequence[str]) -> None:
        """Use only samples of these joints from now on."""
        self._names, self._newest = tuple(names), None

    def take(self, message: FilteredJointState, stamp: int) -> None:
        """Add a filtered joint state with its stamp [ns]; joints of other robots are ignored."""
        if not self._names or not set(self._names) <= set(message.name):
            return
        q, v, a = conversions.filtered_arrays(message, self._names)[:3]
        self._newest = (stamp, np.array([q, v, a], dtype=float))
        if self._keeps and (not self._samples or stamp - self._samples[-1][0] >= _PERIOD_NS):
            self._samples.append(self._newest)

    def is_fresh(self, now_ns: int, age_s: float) -> bool:
        """Return True if a state has arrived within the last `age_s` seconds."""
        return self._newest is not None and now_ns - self._newest[0] < age_s * 1e9

    def reaches(self, time_ns: int) -> bool:
        """Return True if the states up to a time have arrived; they may arrive seconds late."""
        return self._newest is not None and self._newest[0] >= time_ns

    @property
    def positions(self) -> Array:
        """Newest positions, shape (n,).

        Raises:
            SysIdError: No message has arrived.
        """
        if self._newest is None:
            raise SysIdError(
                "No filtered joint states arrive.", remedy="Start the data_logger and the robot."
            )
        return np.array(self._newest[1][0])

    def begin(self) -> None:
        """Start to collect samples."""
        self._samples, self._keeps = [], True

    def end(self) -> tuple[Array, Array, Array, float]:
        """Stop collecting; returns q, v and a of the samples in motion, each of shape (K, n), and
        the duration [s].
        """
        self._keeps = False
        n = len(self._names)
        states = np.array([state for _, state in self._samples]).reshape(-1, 3, n)
        stamps = np.array([stamp for stamp, _ in self._samples], dtype=np.int64)
        steps = np.append(np.diff(stamps) * 1e-9, 0.0)[: len(stamps)]
        moving = np.any(np.abs(states[:, 1]) > _MOVING, axis=1)
        duration = float(np.sum(np.minimum(steps[moving], _GAP_S)))
        q, v, a = states[moving, 0], states[moving, 1], states[moving, 2]
        return q, v, a, duration
