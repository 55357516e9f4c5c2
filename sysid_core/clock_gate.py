# SPDX-License-Identifier: Apache-2.0
"""Conversion of message stamps to times of a process, with their checks."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from sysid_core.errors import SignalError
from sysid_core.settings import Kind

AHEAD = 0.05  # [s]: NTP keeps machines within 0.01 s, a driver's stamp may be of its period's end
BEHIND = 0.2  # [s]: a state of that age ends a motion (`stale_s` of the executor)
_MOST = 64  # publishers that are told apart, so that invented names fill no memory
FORGETS = 0.02  # [s/s] that the smallest delay rises: above any quartz's drift, so that it follows


class StampFault(Kind):
    """Kind of fault of a time stamp."""

    FUTURE = "stamp_from_the_future"
    OLD = "stamp_too_old"
    BACKWARDS = "stamp_before_the_last"


class StampError(SignalError):
    """Message with an invalid stamp; `code` is the reason."""

    def __init__(self, code: StampFault, message: str, *, remedy: str = "", **data: Any) -> None:
        super().__init__(message, remedy=remedy, code=code, **data)
        self.code = code


class ClockGate:
    """Check of the stamps of one topic (too old, in the future, decreasing), and clock offset of
    each publisher.

    The delay between a stamp and its arrival is positive if both clocks agree. A negative delay
    shows that the clock of the publisher is ahead, by at least this amount. A clock that is behind
    can't be distinguished from late messages; its offset is at most the smallest delay.

    Args:
        topic: Name of the topic, for messages.
        oldest: Largest accepted age of a message [s]; infinite: no limit.
        ahead: Largest accepted time by which a stamp lies in the future [s]; infinite: no limit.
        in_order: True to refuse a stamp that is earlier than the previous one of the same
            publisher.
    """

    def __init__(
        self,
        topic: str,
        *,
        oldest: float = float("inf"),
        ahead: float = AHEAD,
        in_order: bool = False,
    ) -> None:
        self.topic, self.oldest, self.ahead, self.in_order = topic, oldest, ahead, in_order
        self._delays: dict[Hashable, tuple[float, int]] = {}  # smallest [s], and when [ns]
        self._last: dict[Hashable, int] = {}
        self.backwards = 0  # stamps before the last of the same publisher

    @property
    def publishers(self) -> int:
        """Number of publishers that have sent a message."""
        return len(self._delays)

    @property
    def skew(self) -> dict[Hashable, float]:
        """Lower bound on the time by which each publisher's clock is ahead of this clock [s]; 0 if
        none was observed.
        """
        return {who: max(-delay, 0.0) for who, (delay, _) in self._delays.items()}

    @property
    def words(self) -> str:
        """Names of the publishers whose clock seems to differ, with the offset; empty if there are
        none.
        """
        out = []
        for who, (delay, _) in self._delays.items():
            name = f"{self.topic} ({who})" if who else self.topic
            if -delay > AHEAD:
                out.append(f"the clock of {name} is ahead by {-delay:.3g} s")
            elif delay > BEHIND:
                out.append(f"{name} arrives {delay:.3g} s after its stamps or later")
        return "; ".join(f"{one}: synchronise both machines (chrony, PTP)" for one in out)

    def stamp_at(self, now_ns: int, publisher: Hashable = "") -> int:
        """Return the stamp [ns] of a message that arrives at `now_ns` with the smallest delay.

        This is the time of the publisher's clock, up to the transport time of a message. Without a
        stamped message of this publisher, both clocks are taken as equal.
        """
        delay, _ = self._delays.get(publisher, (0.0, 0))
        return now_ns - round(delay * 1e9)

    def forget(self) -> None:
        """Delete the stored clock offsets, after a change of the clock or of the publishers."""
        self._delays.clear()
        self._last.clear()
        self.backwards = 0

    def take(self, stamp_ns: int, now_ns: int, publisher: Hashable = "") -> int:
        """Return the time of a message [ns]: its stamp, or the current time if it has none.

        Args:
            stamp_ns: Stamp of the message [ns]; 0: the message has no stamp.
            now_ns: Current time of the clock of this process [ns].
            publisher: Publisher of the message, if it is known.

        Raises:
            StampError: The stamp is invalid.
        """
        if stamp_ns == 0:
            return now_ns
        if publisher not in self._delays and len(self._delays) >= _MOST:
            publisher = ""
        delay = (now_ns - stamp_ns) * 1e-9
        smallest, at = self._delays.get(publisher, (delay, now_ns))
        smallest += FORGETS * max(now_ns - at, 0) * 1e-9
        self._delays[publisher] = (min(delay, smallest), now_ns)
        last = self._last.get(publisher, stamp_ns)
        if last - now_ns > self.ahead * 1e9:
            last = stamp_ns  # this process's clock was set back
        self.backwards += stamp_ns < last
        if -delay > self.ahead:
            raise StampError(
                StampFault.FUTURE,
                f"A stamp of {self.topic} is {-delay:.3g} s in the future.",
                remedy="Synchronise the clocks of both machines (chrony, PTP).",
                seconds=-delay,
            )
        if self.in_order and stamp_ns < last:
            raise StampError(
                StampFault.BACKWARDS,
                f"A stamp of {self.topic} is {(last - stamp_ns) * 1e-9:.3g} s before the last one.",
                remedy="Use one publisher with one clock for this topic.",
                seconds=(last - stamp_ns) * 1e-9,
            )
        if delay > self.oldest:
            raise StampError(
                StampFault.OLD,
                f"A stamp of {self.topic} is {delay:.3g} s old.",
                remedy="Send the message again; synchronise the clocks of both machines (chrony, PTP).",
                seconds=delay,
            )
        self._last[publisher] = stamp_ns
        return stamp_ns
