# SPDX-License-Identifier: Apache-2.0
"""Decorator that makes a command of a function, and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import MISSING, Field, field, is_dataclass, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer
from typing_extensions import (
    get_type_hints,
)  # in Python 3.10, that of typing takes None as a default for a type

from sysid_cli.base import errors
from sysid_cli.base import example as example_text
from sysid_core.errors import SignalError
from sysid_core.settings import attribute_docs, build_settings, own_fields

if TYPE_CHECKING:
    from sysid_fleet.batch.run import Progress

PathOption = Annotated[Path, typer.Option()]  # of a path that must be given
BagRobotOption = Annotated[
    str,
    typer.Option(
        help="URDF file, or a robot of example-robot-data; default: the description in the bag."
    ),
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
        help="Roll, pitch and yaw of the base in the world [rad], as an alternative to gravity: 3.14159,0,0 for a robot"
        " on the ceiling.",
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
    group: typer.Typer, name: str | None = None, *, example: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a command of a function.

    The parameters of the function become options and arguments, in their order, described in `Args`
    of its docstring. A parameter that is a dataclass is replaced by its fields, described in
    `Attributes`, so that several commands can share options.

    Args:
        group: Command group to which the command is added.
        name: Name of the command; default: the name of the function.
        example: Example command line at the end of the help.
    """

    def register(run: Callable[..., None]) -> Callable[..., None]:
        about, _, entries = inspect.cleandoc(run.__doc__ or "").partition("\n\nArgs:\n")
        # Not that of `typing`, which in Python 3.10 makes a default of None a part of the type.
        hints = get_type_hints(run, include_extras=True)
        parameters = inspect.signature(run).parameters.values()
        given_of = [
            (p.name, hints[p.name], field(default=MISSING if p.default is p.empty else p.default))
            for p in parameters
        ]
        settings = make_dataclass(run.__name__, given_of, kw_only=True)
        settings.__doc__ = f"{about}\n\nAttributes:\n{entries}"

        def call(**given: Any) -> None:
            _require_recordings(given)
            run(**vars(build_settings(settings, given)))

        call.__name__, call.__doc__ = run.__name__, about
        options = list(_options(settings))
        call.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        call.__annotations__ = {option.name: option.annotation for option in options}
        group.command(name, epilog=example_text(example))(call)
        return run

    return register


def _require_recordings(given: Mapping[str, Any]) -> None:
    """Raise an error if none of the recordings exists, before large libraries are imported.

    Raises:
        SignalError: No recording exists at these paths.
    """
    one = given.get("recording")
    paths = [p for p in (*(given.get("recordings") or ()), one) if isinstance(p, Path)]
    if paths and not any(path.exists() for path in paths):
        raise SignalError(
            f"There is no recording '{paths[0]}'.",
            remedy=f"Give a table (CSV), a rosbag2 folder or an .mcap file; the current folder is '{Path.cwd()}'.",
        )


def _options(kind: Any) -> Iterator[inspect.Parameter]:
    docs = attribute_docs(kind)
    for one, hint in own_fields(kind):
        if is_dataclass(hint):
            yield from _options(hint)
        else:
            yield _parameter(one, hint, docs.get(one.name, ""))


def _parameter(field: Field[Any], hint: Any, about: str) -> inspect.Parameter:
    """Command-line option or argument of a dataclass field; its help is the docstring entry of the
    field.

    Required paths become arguments of the command; all other fields become options, unless their
    annotation contains a typer parameter.
    """
    required = field.default is MISSING and field.default_factory is MISSING
    kind, *more = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    several = get_origin(kind) is tuple and get_args(kind)[-1] is ...
    if several:
        kind = list[get_args(kind)[0]]  # type: ignore[misc]
    if more:
        info = copy(more[0])
        info.help = info.help or about
    elif required and kind in (Path, list[Path]):
        info = typer.Argument(metavar="RECORDING..." if several else None, help=about)
    else:
        words = [f"--{field.name.replace('_', '-')}"] if kind is bool and not field.default else []
        info = typer.Option(*words, help=about, show_default=not several)
    default = inspect.Parameter.empty if required else field.default
    if field.default_factory is not MISSING or (several and not required):
        default = None
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, info],
    )


MemoryOption = Annotated[str, typer.Option(help="Memory limit of each process on this machine.")]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Resume: skip recordings that are already in the results.")
]


@contextmanager
def progress_shown(what: str, total: int) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of jobs, with the remaining time if their number is known."""
    with errors.progress(what) as shown:

        def show(state: Progress) -> None:
            failed = f", {state.failed} failed" if state.failed else ""
            text = f"{what}: {state.done} of {total or '?'}{failed}"
            shown.update(text, state.done / total if total else None)

        yield show
