# SPDX-License-Identifier: Apache-2.0
"""Options and progress that commands over many recordings share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import errors

if TYPE_CHECKING:
    from sysid_core.batch import Progress

MemoryOption = Annotated[str, typer.Option(help="Limit of each process on this machine.")]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on: what is in the results already isn't done again.")
]


@contextmanager
def progress_shown(what: str, total: int) -> Iterator[Callable[[Progress], None]]:
    """A bar with the time that is left; with `--steps` lines."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import (
        Progress as Bar,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=errors, transient=True, disable=errors.steps) as bar:
        task = bar.add_task(what, total=total or None, left="")

        def show(state: Progress) -> None:
            left = "" if state.left != state.left else f"about {state.left:.0f} s left"
            failed = f", {state.failed} failed" if state.failed else ""
            bar.update(task, completed=state.done, left=left + failed)
            if errors.steps:
                errors.print(f"[step] {what}: {state.done} of {total or '?'}{failed}; {left}")

        yield show
