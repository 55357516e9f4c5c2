# SPDX-License-Identifier: Apache-2.0
"""Docstrings of exported names: every array has a shape, every number a unit, every field and every error is described."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOORS = sorted((ROOT / "sysid_core").rglob("__init__.py"))
ARRAY = re.compile(r"Array|ndarray")
# A number has a unit in brackets, or its description says that it has none.
UNIT = re.compile(
    r"\[|relative|ratio|share|fraction|factor|probabilit|odds|log|tolerance|number", re.I
)
SHAPE = re.compile(r"shape|\((?:\.\.\.|[\w +*]+),[^)]*\)|\(\w,?\)")


def exported() -> Iterator[tuple[str, Any]]:
    """Every exported class and function, and the public methods and properties of the classes."""
    seen = set()
    for door in DOORS:
        module = importlib.import_module(".".join(door.parent.relative_to(ROOT).parts))
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if id(thing) in seen or not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            seen.add(id(thing))
            yield name, thing
            for key, member in list(vars(thing).items()) if inspect.isclass(thing) else ():
                member = (
                    getattr(member, "__func__", None) or getattr(member, "fget", None) or member
                )
                member = getattr(member, "func", member)
                if not key.startswith("_") and inspect.isfunction(member):
                    yield f"{name}.{key}", member


def entries(doc: str, *titles: str) -> dict[str, str]:
    """Entries of the sections with these titles, by name."""
    found: dict[str, str] = {}
    names: list[str] = []
    for title in titles:
        section = re.search(rf"^{title}:\n((?: .*\n?|\n)*)", doc, re.MULTILINE)
        for line in section[1].splitlines() if section else ():
            if entry := re.match(r" {4}(\w[\w, ]*): (.*)", line):
                names = re.split(r", *", entry[1])
                found |= dict.fromkeys(names, entry[2])
            elif line.strip():
                found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found


def lacking(thing: Any) -> Iterator[str]:
    """What the docstring of a function or dataclass lacks."""
    doc = inspect.getdoc(thing) or ""
    if dataclasses.is_dataclass(thing):
        described = entries(doc, "Attributes", "Args")
        for field in dataclasses.fields(thing):
            text = described.get(field.name, "")
            if field.name.startswith("_"):
                continue
            if not text:
                yield f"{field.name} is not described"
            elif ARRAY.search(str(field.type)) and not SHAPE.search(text) and text[:5] != "As in":
                yield f"{field.name} has no shape: {text}"
            elif re.match(r"float\b", str(field.type)) and not UNIT.search(text):
                yield f"{field.name} has no unit: {text}"
    if not inspect.isfunction(thing):
        return
    described = entries(doc, "Args")
    for name, parameter in inspect.signature(thing).parameters.items():
        if described and name not in ("self", "cls", *described) and name not in doc:
            yield f"{name} is not described"
        text = described.get(name, doc)
        if ARRAY.search(str(parameter.annotation)) and not SHAPE.search(text):
            yield f"{name} has no shape"
    if ARRAY.search(str(thing.__annotations__.get("return", ""))) and not SHAPE.search(
        doc.split("Args:")[0] + doc.partition("Returns:")[2]
    ):
        yield "the result has no shape"
    body = inspect.getsource(thing).split('"""')[-1]
    if re.search(r"^\s+raise \w+Error\(", body, re.MULTILINE) and "Raises:" not in doc:
        yield "the errors are not described"


def test_arrays_have_shapes_and_fields_and_errors_are_described() -> None:
    found = [(name, text) for name, thing in exported() for text in lacking(thing)]
    assert found == []
    assert len(list(exported())) > 1000
