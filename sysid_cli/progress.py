# SPDX-License-Identifier: Apache-2.0
"""Progress of commands on standard error: a spinner, a bar, or one line per step."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.status import Status

from sysid_core.progress import watch_progress

if TYPE_CHECKING:
    from sysid_core.progress import Progress


class _Steps(Status):
    """Progress as one line per step, instead of a spinner."""

    def update(self, status: RenderableType | None = None, **options: Any) -> None:
        if status is not None:
            sys.stderr.write(f"[step] {status}\n")
            sys.stderr.flush()
        super().update(status, **options)


class Errors(Console):
    """Console for standard error; `steps` prints progress as one line per step."""

    steps = False

    def status(self, status: RenderableType, **options: Any) -> Status:
        """Show a spinner, or one line per step."""
        if not self.steps:
            return _WatchedStatus(status, console=self, **options)
        lines = _Steps(status, console=self)
        lines.update(status)
        return lines


class _WatchedStatus(Status):
    """Spinner with the share of the files read so far and the remaining time."""

    def __enter__(self) -> Status:
        self._watching = watch_progress(ReadingBar(self).show)
        self._watching.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._watching.__exit__(*error)


def shown_by(status: Status) -> Progress:
    """Return the callback that shows the progress of a workflow in words."""
    return lambda step: status.update(step.value)


class ReadingBar:
    """Progress text while a large file is read.

    Args:
        status: Status line that shows the text.
    """

    def __init__(self, status: Status) -> None:
        self._status, self._usual = status, status.status
        self._name, self._began, self._shown, self._share = "", 0.0, 0.0, 0.0

    def show(self, name: str, share: float) -> None:
        """Show the progress a few times a second, if reading takes longer than half a second."""
        now = time.monotonic()
        if name != self._name or share < self._share:
            self._name, self._began, self._shown = name, now, now + 0.5
        self._share = share
        if share >= 1.0 and self._status.status != self._usual:
            self._status.update(self._usual)
        elif now > self._shown and 0.0 < share < 1.0:
            if "━" not in str(self._status.status):
                self._usual = self._status.status
            self._shown = now + 0.25
            self._status.update(bar_text(name, share, (now - self._began) / share * (1.0 - share)))


def bar_text(name: str, share: float, left_s: float) -> str:
    """Return the progress bar as text, with the remaining time."""
    done = round(20 * share)
    left = f"{left_s:.0f} s" if left_s < 100.0 else f"{left_s / 60.0:.0f} min"
    return f"{name} {'━' * done}{'╌' * (20 - done)} {100 * share:.0f} %, {left} left"
