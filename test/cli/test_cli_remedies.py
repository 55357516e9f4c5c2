# SPDX-License-Identifier: Apache-2.0
"""Every error that is raised on purpose ends with the next step."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from sysid_core import errors

ROOT = Path(errors.__file__).parents[1]
NAMES = {name for name, value in vars(errors).items() if isinstance(value, type)}
NAMES |= {"LiveError", "NotTakenError"}
FOLDERS = ("sysid_core", "sysid_nodes", "sysid_demos", "sysid_monitor")
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
LEAST = 18  # letters of its own: what passes another error on has that one's remedy


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_every_error_says_what_to_do(file: Path) -> None:
    without = [
        f"line {node.lineno}: {ast.unparse(node.exc)[:80]}"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and getattr(node.exc.func, "id", "") in NAMES
        and not any(keyword.arg == "remedy" for keyword in node.exc.keywords)
        and own_words(node.exc) > LEAST
    ]
    assert not without


def own_words(call: ast.Call) -> int:
    """Number of characters of the literal text in a message."""
    texts = (n.value for a in call.args for n in ast.walk(a) if isinstance(n, ast.Constant))
    return sum(len(text) for text in texts if isinstance(text, str))
