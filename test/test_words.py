# SPDX-License-Identifier: Apache-2.0
"""One word for one thing (the glossary of docs/CONTRIBUTING.md), in docstrings and helps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    "sysid_core",
    "sysid_fleet",
    "sysid_studies",
    "sysid_cli",
    "sysid_nodes",
    "sysid_demos",
    "sysid_monitor",
    "sysid_rqt",
)
# report, send or show, not tell; reference, not wish; span, not stretch; unmeasured, not silent.
WORDS = re.compile(
    r"\b(tells?|told|telling|wish(es|ed)?|stretch(es)?|silent(ly)?)\b", re.IGNORECASE
)
# A description that begins with "Of the" names no thing.
NAMELESS = re.compile(r"(^|:\s+)Of (?!course)")


def descriptions(file: Path) -> Iterator[str]:
    """Lines of docstrings, and helps of options and parameters."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from (ast.get_docstring(node) or "").splitlines()
        elif isinstance(node, ast.keyword) and node.arg == "help":
            yield from (
                part.value
                for part in ast.walk(node.value)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )


def test_descriptions_use_the_words_of_the_glossary_and_name_what_they_describe() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line in descriptions(file)
        if WORDS.search(line) or NAMELESS.search(line.strip())
    ]
    assert not found, "\n".join(found)
