# SPDX-License-Identifier: Apache-2.0
"""Command groups, console, and display of errors. The module of a command is imported only when the
command is used.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup
from typer.main import get_command, get_command_name, get_group

from sysid_cli.progress import Errors
from sysid_core.errors import SysIdError
from sysid_core.files import json_text, write_json, write_text

MARKUP: Any = "markdown"  # leaves units such as [s] as they are


class LazyCommands(Mapping[str, Any]):
    """Commands of a group by name; each is imported when it is first used.

    Args:
        group: Group with which the modules register their commands.
        files: For each command or sub-group (key: its name), its module in `sysid_cli`.
    """

    def __init__(self, group: typer.Typer, files: Mapping[str, str]) -> None:
        self._group, self._files = group, files
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            import_module(f"sysid_cli.{self._files[name]}")
            self._built[name] = self._build(name)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def _build(self, name: str) -> Any:
        for group in self._group.registered_groups:
            if group.name == name and group.typer_instance is not None:
                return get_group(group.typer_instance)
        for command in self._group.registered_commands:
            if command.callback and name == (
                command.name or get_command_name(command.callback.__name__)
            ):
                alone = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)
                alone.registered_commands.append(command)
                built = get_command(alone)
                built.name = name
                return built
        raise LookupError(f"sysid_cli/{self._files[name]} registers no command '{name}'.")


def lazy_group(files: Mapping[str, str], **options: Any) -> typer.Typer:
    """Return the command group that imports its commands on demand.

    Args:
        files: For each command or sub-group (key: its name), its module in `sysid_cli`, in the order of
            the help.
        options: Options of `typer.Typer`.
    """

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands: Any = LazyCommands(made, files)

    made = typer.Typer(cls=Group, rich_markup_mode=MARKUP, **options)
    return made


def help_of(app: typer.Typer, words: list[str]) -> str | None:
    """Return the help of the command that is named by the words of a command line; None if the last word is not `--help`.

    The help is read without the parser of the command line, because the import of this parser takes
    0.1 s.
    """
    if not words or words[-1] not in ("-h", "--help"):
        return None
    command: Any = get_command(app)
    context = typer.Context(command, info_name=app.info.name, **command.context_settings)
    for word in words[:-1]:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return None
        context = typer.Context(command, parent=context, info_name=word)
    return str(command.get_help(context))


# Matrices here are small: more threads than one only wait for each other. Commands import numpy
# after this; who wants more threads sets the variables.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)

app = lazy_group(
    {
        "doctor": "doctor",
        "init": "init",
        "identifiability": "identifiability",
        "plan": "app",
        "limits": "limits",
        "identify": "identify",
        "validate": "identify",
        "export": "export",
        "loops": "loops",
        "tare": "tare",
        "payload": "payload",
        "servos": "app",
        "payload-torques": "payload_torques",
        "report": "report",
        "bag": "bag",
        "fleet": "fleet",
        "certify": "identify",
        "verify": "identify",
        "bench": "bench",
        "reproduce": "app",
        "up": "live",
        "run": "live",
        "watch": "live",
        "robot": "live",
    },
    name="sysid",
    help="Identify the inertial and friction parameters of robots and of their payloads.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0: success; 1: the result must not be used; 2: error, whose message states a remedy; 3: the result could not be judged; 130: stopped by Ctrl-C.",
)


def example(command: str) -> str:
    """Return the example command line at the end of a command's help."""
    return f"Example: {command}"


def group(name: str, about: str, command: str, files: Mapping[str, str]) -> typer.Typer:
    """Return a group of commands.

    Args:
        name: Name of the group on the command line.
        about: First line of the help of the group.
        command: Example command line at the end of the help.
        files: For each command (key: its name), its module in `sysid_cli`.
    """
    made = lazy_group(files, name=name, help=about, no_args_is_help=True, epilog=example(command))
    app.add_typer(made, name=name)
    return made


plan = group(
    "plan",
    "Plan exciting motions, and check motions.",
    "sysid plan payload xarm7 --out plan",
    {
        "arm": "plan.motions",
        "check": "plan.files",
        "show": "plan.files",
        "validation": "plan.files",
        "loops": "plan.motions",
        "payload": "plan.motions",
        "postures": "plan.motions",
        "sequential": "plan.motions",
        "servos": "plan.motions",
    },
)
servos = group(
    "servos",
    "Identify and simulate position servos without torque sensors.",
    "sysid servos identify my_dataset --robot so101.urdf --out arm",
    dict.fromkeys(("identify", "simulate", "export"), "servos"),
)
reproduce = group(
    "reproduce",
    "Reproduce the tables of the papers, and compare them with the published numbers.",
    "sysid reproduce stanford",
    dict.fromkeys(
        ("constrained", "identifiability", "cheetah3", "payload", "stanford"), "reproduce"
    ),
)

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


def run() -> None:
    """Run the command line; an error of this package is shown as one red message, with exit status
    2.
    """
    _give_memory_back()
    try:
        text = help_of(app, sys.argv[1:])
        app() if text is None else sys.stdout.write(f"{text}\n")
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


def _explain(message: str, remedy: str) -> NoReturn:
    remark("error:", message, "bold red", to=errors)
    if remedy:
        remark("what to do:", remedy, "bold", to=errors)
    sys.exit(2)
