# SPDX-License-Identifier: Apache-2.0
"""Command groups, console, and output that the commands share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from sysid_cli.progress import Errors
from sysid_core.errors import SysIdError
from sysid_core.files import json_text, write_json, write_text

# Matrices here are small: more threads than one only wait for each other. Commands import numpy
# after this; who wants more threads sets the variables.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

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
