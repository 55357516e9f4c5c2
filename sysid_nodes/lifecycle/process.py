# SPDX-License-Identifier: Apache-2.0
"""How a process ends: with its parent, and on a signal at a moment of its own."""

from __future__ import annotations

import contextlib
import ctypes
import signal
from collections.abc import Callable, Iterator

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """In the child: be interrupted when the parent ends, however it ends."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


@contextlib.contextmanager
def stop_flag() -> Iterator[Callable[[], bool]]:
    """In a `with` block SIGINT and SIGTERM only set a flag; gives what says whether it is set.

    A handler that ends rclpy's context, as rclpy's own do, invalidates handles in the middle of
    their use.
    """
    stop = False

    def set_flag(number: int, frame: object) -> None:
        nonlocal stop
        stop = True

    before = {s: signal.signal(s, set_flag) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
