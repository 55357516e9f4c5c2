# SPDX-License-Identifier: Apache-2.0
"""Pydantic schemas of files with their validation errors as text, and the writing of YAML."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args

import yaml
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from sysid_core.files.disk import write_text
from sysid_core.settings import Kind

ONLY_KNOWN_KEYS = ConfigDict(extra="forbid")  # `__pydantic_config__` of a dataclass in a file
MOST_FINDINGS = 3  # that an error names
_EXPECTED = ", expected "
_WANTED = {
    "finite_number": "expected a finite number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "bool_type": "expected true or false",
    "string_type": "expected text (numbers, yes and no in quotes)",
    "string_too_short": "expected a name",
    "list_type": "expected a list",
    "tuple_type": "expected a list",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
    "dataclass_type": "expected a mapping",
}


class _SafeDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """YAML writer of plain data and enumerations; equal values are written out, without anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


_SafeDumper.add_multi_representer(Kind, lambda dumper, kind: dumper.represent_str(kind.value))


def write_yaml(path: str | Path, content: object, *, head: str = "") -> None:
    """Write plain data as a YAML file, keys in the order given.

    Args:
        path: Path of the file.
        content: Plain data (numbers, texts, lists, mappings).
        head: Comment lines at the top of the file.
    """
    write_text(path, head + yaml_text(content))


def yaml_text(content: object, *, compact: bool = False) -> str:
    """Return plain data as YAML text, with keys in the given order and lists of numbers on one
    line.
    """
    style = None if compact else False
    return str(
        yaml.dump(content, Dumper=_SafeDumper, sort_keys=False, width=100, default_flow_style=style)
    )


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0.0)]
NotNegative = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0)]
Count = Annotated[int, Field(strict=True, ge=0)]
Name = Annotated[str, Field(strict=True, min_length=1, max_length=1000)]


def _radians(angle: float) -> float:
    if abs(angle) > 6.3:
        raise ValueError(f"{angle:g} is more than a turn; angles are in radians")
    return angle


Angles3 = Annotated[
    list[Annotated[Number, AfterValidator(_radians)]], Field(min_length=3, max_length=3)
]
Vector3 = Annotated[list[Number], Field(min_length=3, max_length=3)]


class FileSchema(BaseModel):
    """Schema of a mapping in a file. Unknown keys are refused, and the error names the most similar
    known key.

    With `MORE_KEYS` the file may contain further keys, unless they resemble a known key. A key
    without a value is treated as a missing key.
    """

    MORE_KEYS: ClassVar[bool] = False
    ONLY_KNOWN_KEYS: ClassVar[ConfigDict] = ONLY_KNOWN_KEYS
    model_config = ConfigDict(
        extra="ignore", frozen=True, defer_build=True, protected_namespaces=()
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, raw: Any) -> Any:
        if not isinstance(raw, Mapping):
            return raw
        fields = {
            key: field for name, field in cls.model_fields.items() for key in _keys(name, field)
        }
        schema = get_args(fields["schema"].annotation) if "schema" in fields else ()
        if schema and raw.get("schema") not in schema:
            hint = f"is not of schema {schema[0]}, but of {raw.get('schema')!r}"
            raise PydanticCustomError("unknown", "{hint}", {"hint": hint})
        for key in raw:
            if key in fields:
                continue
            alike = difflib.get_close_matches(str(key), fields, 1, 0.85)
            if alike or not cls.MORE_KEYS:
                hint = FileSchema.unknown_key(key, list(fields))
                raise PydanticCustomError("unknown", "{hint}", {"hint": hint})
        optional = {k for k, f in fields.items() if not f.is_required() and f.default is not None}
        return {k: v for k, v in raw.items() if v is not None or k not in optional}

    @staticmethod
    def unknown_key(key: object, known: Sequence[str]) -> str:
        """Return the part of an error message for an unknown key, with the most similar known key."""
        close = FileSchema.nearest(key, known)
        hint = f"write `{close}`?" if close else f"known: {', '.join(known)}"
        return f"has an unknown key {key!r} ({hint})"

    @staticmethod
    def nearest(word: object, known: Sequence[str]) -> str:
        """Return the known word that is most similar to a misspelt word; "" if none is similar."""
        close = difflib.get_close_matches(str(word), known, 1, 0.6)
        return close[0] if close else ""


def _keys(name: str, field: FieldInfo) -> list[str]:
    """Keys that fill a field of a schema."""
    if isinstance(field.validation_alias, AliasChoices):
        return [str(choice) for choice in field.validation_alias.choices]
    return [field.alias or name]


def open_entries(raw: object, place: tuple[int | str, ...] = ()) -> list[str]:
    """Return one clause for each entry that is still "?", the mark of a template for a value that a
    person must give.
    """
    if raw == "?":
        return [_path(place, "is still '?': replace it with a value")]
    inside: Iterable[tuple[int | str, object]] = ()
    if isinstance(raw, Mapping):
        inside = raw.items()
    elif isinstance(raw, list | tuple):
        inside = enumerate(raw)
    return [clause for key, value in inside for clause in open_entries(value, (*place, key))]


def findings_of(errors: Sequence[ErrorDetails], raw: Any) -> list[str]:
    """Return one clause for each place with an error. Of errors at nested places, as from the
    alternatives of a union type, only those at the innermost place are used.
    """
    places: dict[tuple[int | str, ...], list[str]] = {}
    for error in errors:
        clause = _clause(error)
        clauses = places.setdefault(_place(error, raw), [])
        if clause not in clauses:
            clauses.append(clause)
    return [
        _path(place, clauses[0]) + "".join(f" or {c.rpartition(_EXPECTED)[2]}" for c in clauses[1:])
        for place, clauses in places.items()
        if not any(other != place and other[: len(place)] == place for other in places)
    ]


def _place(error: ErrorDetails, raw: Any) -> tuple[int | str, ...]:
    """Location of an error in the data: that of pydantic without the names of union branches."""
    place: list[int | str] = []
    for part in error["loc"]:
        inside = isinstance(raw, list | tuple) and isinstance(part, int) and part < len(raw)
        if inside or (isinstance(raw, Mapping) and part in raw):
            raw = raw[part]
        elif not (error["type"] == "missing" and part == error["loc"][-1]):
            continue
        place.append(part)
    return tuple(place)


def _path(place: tuple[int | str, ...], clause: str) -> str:
    """Text with a place and its error; errors of the whole file are stated without a place."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    subject = f"`{text.lstrip('.')}`" if text else ("" if clause.startswith(":") else "it")
    return f"{subject}{'' if clause.startswith(':') else ' '}{clause}".lstrip(": ")


def _clause(error: ErrorDetails) -> str:
    """Pydantic's error as a clause that follows the name of the key."""
    given, context = error["input"], error.get("ctx", {})
    kind = error["type"]
    shown = repr(given) if len(repr(given)) < 60 else f"{repr(given)[:57]}…"
    if kind == "missing":
        return "is missing"
    if kind in ("too_short", "too_long"):
        wanted = context.get("min_length", context.get("max_length"))
        return f"has {context.get('actual_length')} entries, expected {wanted}"
    if kind == "unexpected_keyword_argument":
        return "is not a known key"
    if kind == "unknown":
        return str(context["hint"])
    if kind == "value_error":
        return f": {context['error']}"
    if kind in ("literal_error", "enum"):
        return f"is {shown}, expected {context['expected']}"
    wanted = _WANTED.get(kind) or error["msg"].replace("Input should be", "expected")
    return f"is {shown}, {wanted}"
