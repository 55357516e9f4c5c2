# SPDX-License-Identifier: Apache-2.0
"""The robot's own speed scaling: a pendant's slider, a paused program."""

from __future__ import annotations

import math

from sysid_core.errors import SysIdError

NO_SCALING = "none"
_STALE_S = 1.0


class SpeedScaling:
    """The newest value of a topic in percent, as a share.

    Args:
        topic: Its name; `none` for a robot without a slider, empty where nobody says.
    """

    def __init__(self, topic: str) -> None:
        self.topic = "" if topic == NO_SCALING else topic
        self._fixed = 1.0 if topic == NO_SCALING else None
        self._seen: tuple[float, float] | None = None

    def take(self, percent: float, now: float) -> None:
        """Take in a value that came at a time [s].

        Raises:
            SysIdError: It is no percentage.
        """
        if not math.isfinite(percent) or not 0.0 <= percent <= 100.5:
            raise SysIdError(
                f"{self.topic} says {percent} %, which is no speed scaling.",
                remedy="Give the topic with the driver's speed scaling in per cent.",
            )
        self._seen = (min(percent / 100.0, 1.0), now)

    def value(self, now: float) -> float | None:
        """Share of full speed at a time [s]; None where nobody says, or said it long ago."""
        if self._seen is not None and now - self._seen[1] <= _STALE_S:
            return self._seen[0]
        return self._fixed
