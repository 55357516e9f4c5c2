# SPDX-License-Identifier: Apache-2.0
"""Command groups, console, the output that the commands share, and the display of their errors."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from sysid_core.errors import SysIdError
from sysid_core.files import json_text, write_json, write_text
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


# Matrices here are small: more threads than one only wait for each other. Commands import numpy
# after this; who wants more threads sets the variables.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)
MARKUP: Any = "markdown"  # leaves units such as [s] as they are
_IN_ORDER = (
    "doctor", "init", "identifiability", "plan", "limits", "identify", "validate", "export",
    "loops", "tare", "payload", "servos", "payload-torques", "report", "bag", "fleet", "certify",
    "verify", "bench", "reproduce", "up", "run", "watch", "robot",
)  # fmt: skip


class _InOrder(TyperGroup):
    """Commands in the order in which people need them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=_IN_ORDER.index)


app = typer.Typer(
    cls=_InOrder,
    name="sysid",
    help="Identify the inertial and friction parameters of robots and of their payloads.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=MARKUP,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0: success; 1: the result must not be used; 2: error, whose message states a remedy; 3: the result could not be judged; 130: stopped by Ctrl-C.",
)


def example(command: str) -> str:
    """Return the example command line at the end of a command's help."""
    return f"Example: {command}"


def group(name: str, about: str, command: str) -> typer.Typer:
    """Return a group of commands.

    Args:
        name: Name of the group on the command line.
        about: First line of the help of the group.
        command: Example command line at the end of the help.
    """
    made = typer.Typer(
        name=name,
        help=about,
        no_args_is_help=True,
        epilog=example(command),
        rich_markup_mode=MARKUP,
    )
    app.add_typer(made, name=name)
    return made


# Names and paths are the user's: brackets in them are text, never markup.
console = Console(markup=False)


errors = Errors(stderr=True, markup=False)


def remark(word: str, text: str, style: str = "yellow", *, to: Console = console) -> None:
    """Print a sentence after a coloured word, such as `warning: …`."""
    to.print(Text.assemble((word, style), " ", text), highlight=False, soft_wrap=True)


def tick(ok: bool) -> Text:
    """Return the character ✓ or ✗."""
    return Text("✓", "green") if ok else Text("✗", "red")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        console.print(f"sysid {version('robot_sysid')}", highlight=False)
        raise typer.Exit


@app.callback()
def _main(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Print the progress on separate lines.")
    ] = False,
) -> None:
    errors.steps = steps


def copy_json(content: object, json_path: str) -> bool:
    """Write the output that `--json` requests; return True if it was written to standard output."""
    if json_path == "-":
        sys.stdout.write(json_text(content))
        return True
    if json_path:
        write_json(json_path, content)
    return False


def require_folder(path: Path) -> None:
    """Raise an error if the folder for the results cannot be created, before any long computation.

    Raises:
        SysIdError: The path is that of a file, or the folder cannot be written.
    """
    there = next(p for p in (path, *path.absolute().parents) if p.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        why = "can't be written to" if there.is_dir() else "is a file"
        raise SysIdError(
            f"The results cannot be written to '{path}': '{there}' {why}.",
            remedy="Give another --out.",
        )


def write_new(path: Path, text: str, force: bool) -> None:
    """Write a file.

    Raises:
        SysIdError: The file exists already, and may not be overwritten.
    """
    if path.exists() and not force:
        raise SysIdError(
            f"'{path}' exists already.", remedy="Give another --out, or --force to overwrite it."
        )
    write_text(path, text)


def run() -> None:
    """Run the command line; an error of this package is shown as one red message, with exit status
    2.
    """
    _give_memory_back()
    try:
        app()
        sys.stdout.flush()
    except BrokenPipeError:  # its reader, such as `head`, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except SysIdError as err:
        _explain(err.message, err.remedy)
    except KeyboardInterrupt:  # where typer doesn't see it
        errors.print("Stopped.")
        sys.exit(130)
    except OSError as err:  # a file or folder of the user's that can't be read or written
        if err.errno is None:
            raise
        name = "" if err.filename is None else f"'{os.fsdecode(err.filename)}': "
        _explain(
            f"{name}{err.strerror}.",
            "Free some space, or give another --out."
            if err.errno in (errno.ENOSPC, errno.EDQUOT)
            else "Check the path (file or folder as required) and your permissions.",
        )


def _give_memory_back() -> None:
    """Configure the allocator so that freed arrays of a megabyte or more are returned to the system
    immediately.

    By default glibc keeps freed blocks of up to 32 MB that lie between small arrays in use; with a
    long recording, these blocks amount to 100 MB.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        for parameter in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            libc.mallopt(parameter, 1 << 20)


def _explain(message: str, remedy: str) -> NoReturn:
    remark("error:", message, "bold red", to=errors)
    if remedy:
        remark("what to do:", remedy, "bold", to=errors)
    sys.exit(2)
