# SPDX-License-Identifier: Apache-2.0
"""Progress reports while large files are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Report = Callable[[str, float], None]

_WATCHER: ContextVar[Report | None] = ContextVar("watcher", default=None)


@contextmanager
def watch_progress(report: Report) -> Iterator[None]:
    """Context manager that reports the progress of reading to `report`: name and fraction from 0 to
    1.
    """
    token = _WATCHER.set(report)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def report_progress(name: str, share: float) -> None:
    """Report progress to the enclosing `watch_progress`, if there is one."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(name, share)
