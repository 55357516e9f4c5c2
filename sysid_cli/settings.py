# SPDX-License-Identifier: Apache-2.0
"""Commands whose options are the fields of a dataclass, and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from sysid_cli.app import errors
from sysid_cli.app import example as example_text
from sysid_core.errors import SignalError
from sysid_core.settings import attribute_docs, build_settings, own_fields

if TYPE_CHECKING:
    from sysid_fleet.batch.run import Progress

RobotOption = Annotated[str, typer.Option(help="URDF file, or a robot of example-robot-data.")]
BagRobotOption = Annotated[
    str, typer.Option(help="URDF file or name; default: the description in the bag.")
]
EffortKindOption = Annotated[
    str, typer.Option(help="Kind of the efforts, if the bag does not declare it.")
]
JsonPathOption = Annotated[
    str,
    typer.Option(
        "--json", metavar="FILE|-", help="File for the result (JSON); - for standard output."
    ),
]


GravityOption = Annotated[
    str,
    typer.Option(
        metavar="X,Y,Z",
        help="Gravity in the base frame [m/s^2], if the base is not mounted as in the URDF.",
    ),
]
MountOption = Annotated[
    str,
    typer.Option(
        metavar="ROLL,PITCH,YAW",
        help="Orientation of the base in the world instead [rad]: 3.14159,0,0 hangs from the"
        " ceiling.",
    ),
]


WorkersOption = Annotated[
    int, typer.Option(min=0, help="Processes on this machine; 0: one for each core.")
]
ClusterOption = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Address of your own Dask scheduler (Kubernetes, Slurm, SSH); default: DASK_SCHEDULER_ADDRESS.",
    ),
]


def command(
    group: typer.Typer, name: str | None = None, *, example: str, hidden: bool = False
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Return a decorator that makes a command of a function with one settings dataclass.

    The fields of the dataclass become options and arguments, in their order. A field that is itself
    a dataclass is replaced by its fields, so that several commands can share options.

    Args:
        group: Command group to which the command is added.
        name: Name of the command; default: the name of the function.
        example: Example command line at the end of the help.
        hidden: True to omit the command from the help of the group.
    """

    def register(run: Callable[[Any], None]) -> Callable[[Any], None]:
        (parameter,) = inspect.signature(run).parameters
        settings = get_type_hints(run)[parameter]

        def call(**given: Any) -> None:
            _require_recordings(given)
            run(build_settings(settings, given))

        call.__name__, call.__doc__ = run.__name__, run.__doc__
        options = list(_options(settings))
        call.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        call.__annotations__ = {option.name: option.annotation for option in options}
        group.command(name, epilog=example_text(example), hidden=hidden)(call)
        return run

    return register


def _require_recordings(given: Mapping[str, Any]) -> None:
    """Raise an error if none of the recordings exists, before large libraries are imported.

    Raises:
        SignalError: No recording exists at these paths.
    """
    one = given.get("recording")
    paths = [*(given.get("recordings") or ()), *([one] if isinstance(one, Path) else [])]
    if paths and not any(path.exists() for path in paths):
        raise SignalError(
            f"There is no recording '{paths[0]}'.",
            remedy=f"Give a table (CSV), a rosbag2 folder or an .mcap file; the current folder is '{Path.cwd()}'.",
        )


def _options(kind: Any) -> Iterator[inspect.Parameter]:
    docs = attribute_docs(kind)
    for field, hint in own_fields(kind):
        if is_dataclass(hint):
            yield from _options(hint)
        else:
            yield _parameter(field, hint, docs.get(field.name, ""))


def _parameter(field: Field[Any], hint: Any, about: str) -> inspect.Parameter:
    """Command-line option or argument of a dataclass field; its help is the docstring entry of the
    field.

    Required paths become arguments of the command; all other fields become options.
    """
    required = field.default is MISSING and field.default_factory is MISSING
    several = get_origin(hint) is tuple
    if get_origin(hint) is not Annotated:
        kind = list[get_args(hint)[0]] if several else hint  # type: ignore[misc]
        path = required and (get_args(hint)[0] if several else hint) is Path
        words = [f"--{field.name.replace('_', '-')}"] if hint is bool and not field.default else []
        hint = Annotated[
            kind,
            typer.Argument(metavar="RECORDING..." if several else None, help=about)
            if path
            else typer.Option(*words, help=about, show_default=not several),
        ]
    default = inspect.Parameter.empty if required else field.default
    if field.default_factory is not MISSING or (several and not required):
        default = None
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
    )


MemoryOption = Annotated[str, typer.Option(help="Memory limit of each process on this machine.")]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Resume: skip recordings that are already in the results.")
]


@contextmanager
def progress_shown(what: str, total: int) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar with the remaining time, or one line per step with `--steps`."""
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
