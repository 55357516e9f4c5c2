# SPDX-License-Identifier: Apache-2.0
"""Settings and kinds: plain data for result files, processes and options; members that are texts."""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

from typing_extensions import Self

from sysid_core.errors import SysIdError


class Kind(str, Enum):
    """Enumeration whose members are texts."""

    __str__ = str.__str__

    @classmethod
    def named(cls, text: str, of: str, error: type[SysIdError]) -> Self:
        """Return the enum member with the given text.

        Args:
            text: A member or its value.
            of: Subject of the error message, such as "the method".
            error: Class of the error.

        Raises:
            SysIdError: There is no such member; the remedy lists them.
        """
        if text not in [member.value for member in cls]:
            raise error(
                f"{of} is '{text}', which is unknown.",
                remedy=f"Choose one of: {', '.join(member.value for member in cls)}.",
            )
        return cls(text)


Settings = TypeVar("Settings")

_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.+?)(?=^ {4}\w|^\S|\Z)", re.MULTILINE | re.DOTALL)


def own_fields(kind: Any) -> Iterator[tuple[Field[Any], Any]]:
    """Yield the fields of a dataclass with their types."""
    hints = get_type_hints(kind, include_extras=True)
    return ((field, hints[field.name]) for field in fields(kind))


def attribute_docs(kind: type) -> dict[str, str]:
    """Return the descriptions of a dataclass's attributes, from `Attributes` of its docstring and
    its bases'.
    """
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        _, _, section = inspect.cleandoc(one.__doc__ or "").partition("Attributes:\n")
        found |= {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(section)}
    return found


def words(text: str) -> tuple[str, ...]:
    """Return the words of an option, separated by commas, without spaces around them."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def numbers(
    text: str, counts: tuple[int, ...], option: str, error: type[SysIdError]
) -> list[float]:
    """Parse the numbers of an option, separated by commas.

    Args:
        text: Text of the option.
        counts: Permitted numbers of values.
        option: Name of the option.
        error: Class of the error.

    Raises:
        SysIdError: The number of values is not permitted, or a value is not a finite number.
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in counts or not all(map(math.isfinite, values)):
        raise error(
            f"{option} '{text}' is not a list of {' or '.join(map(str, counts))} numbers.",
            remedy="Write them with commas between: 0.1,0.2,0.3.",
        )
    return values


def bounded(default: Any, least: float, most: float = math.inf) -> Any:
    """Return the field of a dataclass with the bounds of its values; None satisfies all bounds."""
    return field(default=default, metadata={"bounds": (least, most)})


def require_bounds(settings: Any, error: type[SysIdError]) -> None:
    """Raise an error for settings outside the bounds of their fields (see `bounded`), and for NaN.

    Args:
        settings: Dataclass of the settings.
        error: Class of the raised error.

    Raises:
        SysIdError: A setting is outside its bounds; the error names the first one.
    """
    for one in fields(settings):
        least, most = one.metadata.get("bounds", (-math.inf, math.inf))
        value = getattr(settings, one.name)
        if one.metadata and value is not None and not least <= value <= most:
            raise error(
                f"{one.name} is {value:g}.",
                remedy=f"It must be at least {least:g}"
                + (f" and at most {most:g}." if most < math.inf else "."),
            )


def build_settings(
    kind: type[Settings], given: Mapping[str, Any], places: Mapping[str, Path] | None = None
) -> Settings:
    """Return the settings from values by name, including nested dataclasses.

    Args:
        kind: Dataclass of the settings.
        given: Values by name, or the result of `plain_settings`; unknown names are ignored, and
            None stands for the default.
        places: Present paths of files, by their paths in `given`.
    """

    def now(value: Any) -> Any:
        if isinstance(value, Mapping):
            return (places or {}).get(value["path"], Path(value["path"]))
        if isinstance(value, list | tuple):
            return [now(x) for x in value]
        if places and isinstance(value, str) and value and os.path.realpath(value) in places:
            return str(places[os.path.realpath(value)])
        return value

    values: dict[str, Any] = {}
    for one, hint in own_fields(kind):
        if isinstance(hint, type) and is_dataclass(hint):
            values[one.name] = build_settings(hint, given, places)
        elif given.get(one.name) is not None or _required(one):
            value = now(given[one.name])
            values[one.name] = tuple(value) if get_origin(hint) is tuple else value
    return kind(**values)


def plain_settings(settings: Any) -> dict[str, Any]:
    """Return the settings as plain data, which `build_settings` converts back; paths are `{path:
    ...}`.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, Path):
            return {"path": os.path.realpath(value)}
        return [plain(x) for x in value] if isinstance(value, list | tuple) else value

    out: dict[str, Any] = {}
    for one, _ in own_fields(type(settings)):
        value = getattr(settings, one.name)
        nested = is_dataclass(value) and not isinstance(value, type)
        out |= plain_settings(value) if nested else {one.name: plain(value)}
    return out


def _required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING
