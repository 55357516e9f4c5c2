# SPDX-License-Identifier: Apache-2.0
"""A motion that somebody watches in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from sysid_nodes.client.live_client import LiveClient


def execute_watched(
    client: LiveClient,
    console: Console,
    file: Path,
    *,
    timeout_s: float,
    speed_scale: float = 1.0,
    enough: Callable[[], bool] = lambda: False,
    describe: Callable[[Any], str] = lambda feedback: f"{feedback.state} {feedback.segment}",
) -> Any:
    """Have a trajectory executed and show how far it is; returns the executor's result.

    Raises:
        LiveError: Refused or aborted; the message is the executor's.
    """
    columns = (
        TextColumn("{task.description:34}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("checking", total=1.0)

        def show(feedback: Any) -> None:
            progress.update(task, description=describe(feedback), completed=feedback.progress)

        result = client.execute(
            str(file), show, timeout_s=timeout_s, speed_scale=speed_scale, enough=enough
        )
        progress.update(task, description="done", completed=1.0)
    return result
