# SPDX-License-Identifier: Apache-2.0
"""Commands whose options are the fields of a dataclass: each is named, typed and described once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from sysid_cli.app import example as example_text
from sysid_core.errors import SignalError

Settings = TypeVar("Settings")

WorkersOption = Annotated[
    int, typer.Option(min=0, help="Processes on this machine; 0: one for each core.")
]
ClusterOption = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Your own Dask scheduler (Kubernetes, Slurm, SSH) instead; or DASK_SCHEDULER_ADDRESS.",
    ),
]


def command(
    group: typer.Typer, name: str | None = None, *, example: str, hidden: bool = False
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Make a command of a function of one settings dataclass.

    Its fields become the options and arguments, in their order; those of a field that is a
    dataclass itself stand in its place, so that commands share lists of options.

    Args:
        group: That gets the command.
        name: Name of the command; default: the function's.
        example: Command line that the help ends with.
        hidden: Whether the help of the group leaves it out.
    """

    def register(run: Callable[[Any], None]) -> Callable[[Any], None]:
        (parameter,) = inspect.signature(run).parameters
        settings = get_type_hints(run)[parameter]

        def call(**given: Any) -> None:
            _require_recordings(given)
            run(build_settings(settings, given))

        call.__name__, call.__doc__ = run.__name__, run.__doc__
        options = [_parameter(field, hint) for field, hint in _options(settings)]
        call.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        call.__annotations__ = {option.name: option.annotation for option in options}
        group.command(name, epilog=example_text(example), hidden=hidden)(call)
        return run

    return register


def _require_recordings(given: Mapping[str, Any]) -> None:
    """Refuse recordings none of which is there, before anything heavy is imported.

    Raises:
        SignalError: There is none at these paths.
    """
    one = given.get("recording")
    paths = [*(given.get("recordings") or ()), *([one] if isinstance(one, Path) else [])]
    if paths and not any(path.exists() for path in paths):
        raise SignalError(
            f"There is no recording '{paths[0]}'.",
            remedy=f"Give a table (CSV), a rosbag2 folder or an .mcap file; this is '{Path.cwd()}'.",
        )


def build_settings(kind: type[Settings], given: Mapping[str, Any]) -> Settings:
    """Settings of the options that were given, those of nested dataclasses too."""
    values: dict[str, Any] = {}
    for field, hint in _own(kind):
        if isinstance(hint, type) and is_dataclass(hint):
            values[field.name] = build_settings(hint, given)
        elif given[field.name] is not None or field.default_factory is MISSING:
            values[field.name] = given[field.name]
    return kind(**values)


def options_of(settings: Any) -> dict[str, Any]:
    """What `build_settings` makes the same settings of, as plain data; paths are `{path: ...}`."""

    def plain(value: Any) -> Any:
        if isinstance(value, Path):
            return {"path": str(value.resolve())}
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    out: dict[str, Any] = {}
    for field, _ in _own(type(settings)):
        value = getattr(settings, field.name)
        nested = is_dataclass(value) and not isinstance(value, type)
        out |= options_of(value) if nested else {field.name: plain(value)}
    return out


def _own(kind: Any) -> Iterator[tuple[Field[Any], Any]]:
    hints = get_type_hints(kind, include_extras=True)
    return ((field, hints[field.name]) for field in fields(kind))


def _options(kind: Any) -> Iterator[tuple[Field[Any], Any]]:
    for field, hint in _own(kind):
        if is_dataclass(hint):
            yield from _options(hint)
        else:
            yield field, hint


def _parameter(field: Field[Any], hint: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    if field.default_factory is not MISSING:
        default = None
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
    )
