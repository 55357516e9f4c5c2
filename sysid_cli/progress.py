# SPDX-License-Identifier: Apache-2.0
"""Progress of commands on standard error: a spinner, a bar, or one line per step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console

from sysid_core.progress import Step, watch_progress

_PERIOD_S = 0.1  # between two states of the reading of a file
_FIRST_S = 0.5  # after which the reading of a file is shown


class Shown:
    """Progress of a command: the current step, and its share and remaining time if they are known.

    Args:
        console: Console on which the progress is shown.
        steps: True for one line per step instead of a spinner or a bar.
    """

    def __init__(self, console: Console, steps: bool) -> None:
        import rich.progress as rich  # not for a help

        self._console, self._steps, self._text = console, steps, ""
        self._spinner = (rich.SpinnerColumn(), rich.TextColumn("{task.description}"))
        self._measured = (*self._spinner, rich.BarColumn(), rich.TimeRemainingColumn())
        self.bar = rich.Progress(*self._spinner, console=console, transient=True)
        self._task = self.bar.add_task("", total=1.0)
        self._next = time.monotonic() + _FIRST_S

    def update(self, text: str, share: float | None = None) -> None:
        """Show a step.

        Args:
            text: Description of the step.
            share: Completed share of the work, 0 to 1; None: unknown.
        """
        if self._steps and text != self._text:
            self._console.print(f"[step] {text}", highlight=False, soft_wrap=True)
        self._text = text
        self._show(text, share)

    def step(self, step: Step) -> None:
        """Show the step of a workflow."""
        self.update(step.value)

    def read(self, name: str, share: float) -> None:
        """Show the completed share of a file that is being read, 0 to 1."""
        if share >= 1.0:
            self._show(self._text, None)
        elif time.monotonic() > self._next:
            self._next = time.monotonic() + _PERIOD_S
            self._show(name, share)

    def _show(self, text: str, share: float | None) -> None:
        columns = self._spinner if share is None else self._measured
        if self.bar.columns != columns:
            self.bar.columns = columns
            self.bar.reset(self._task)
        self.bar.update(self._task, description=text, completed=share)


class Errors(Console):
    """Console for standard error; `steps` prints progress as one line per step."""

    steps = False

    @contextmanager
    def progress(self, text: str) -> Iterator[Shown]:
        """Show the progress of a command that begins with a step, and of the files that it reads."""
        shown = Shown(self, self.steps)
        seen = self.is_interactive and not self.steps  # in a file, a bar leaves an empty line
        with shown.bar if seen else nullcontext(), watch_progress(shown.read):
            shown.update(text)
            yield shown
