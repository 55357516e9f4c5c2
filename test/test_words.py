# SPDX-License-Identifier: Apache-2.0
"""One word for one thing (the glossary of docs/CONTRIBUTING.md), in docstrings and helps."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("sysid_core", "sysid_nodes", "sysid_demos", "sysid_monitor", "sysid_rqt")
# report, send or show, not tell; reference, not wish; span, not stretch; unmeasured, not silent.
WORDS = re.compile(
    r"\b(tells?|told|telling|wish(es|ed)?|stretch(es)?|silent(ly)?)\b", re.IGNORECASE
)
# A description that begins with "Of the" names no thing.
NAMELESS = re.compile(r"(^|:\s+)Of (?!course)")
# Rooms whose words aren't mended yet, with the most that they may have: these numbers only fall.
LEFT = {
    "sysid_core/batch": 1,
    "sysid_core/bench": 1,
    "sysid_core/certificate": 1,
    "sysid_core/controller_payload": 3,
    "sysid_core/estimation": 29,
    "sysid_core/excitation": 28,
    "sysid_core/fleet": 9,
    "sysid_core/identifiability": 2,
    "sysid_core/plausibility": 4,
    "sysid_core/robot": 10,
    "sysid_core/signals": 27,
    "sysid_core/validation": 13,
}


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
    found: dict[str, list[str]] = {}
    for file in sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*.py")):
        room = "/".join(file.relative_to(ROOT).parts[:2])
        for line in descriptions(file):
            if WORDS.search(line) or NAMELESS.search(line.strip()):
                found.setdefault(room, []).append(f"{file.relative_to(ROOT)}: {line.strip()}")
    counts = Counter({room: len(lines) for room, lines in found.items()})
    over = [
        line for room, lines in found.items() if counts[room] > LEFT.get(room, 0) for line in lines
    ]
    assert not over, "\n".join(over)
