# SPDX-License-Identifier: Apache-2.0
"""Commands whose files are imported on demand, so that the help of one does not import all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_command_name, get_group

MARKUP: Any = "markdown"  # leaves units such as [s] as they are


class LazyCommands(Mapping[str, Any]):
    """Commands of a group by name; each is imported when it is first used.

    Args:
        group: Group that their files register them with.
        files: Module of each command or sub-group, below `sysid_cli`.
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
    """Command group that imports its commands on demand.

    Args:
        files: Module of each command or sub-group, below `sysid_cli`, in the help's order.
        options: Those of `typer.Typer`.
    """

    class Group(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands: Any = LazyCommands(group, files)

    group = typer.Typer(cls=Group, rich_markup_mode=MARKUP, **options)
    return group


def help_of(app: typer.Typer, words: list[str]) -> str | None:
    """Help of the command named by the words; None unless they end with `--help`.

    The command line's parser, which isn't needed for it, imports libraries for .1 s.
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
