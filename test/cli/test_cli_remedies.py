"""Every error that the core raises on purpose ends with the next step."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from sysid_core import errors

CORE = Path(errors.__file__).parent
NAMES = {name for name, value in vars(errors).items() if isinstance(value, type)}
FILES = sorted(CORE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(CORE)))
def test_every_error_says_what_to_do(file: Path) -> None:
    without = [
        f"line {node.lineno}: {ast.unparse(node.exc)[:80]}"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and getattr(node.exc.func, "id", "") in NAMES
        and not any(keyword.arg == "remedy" for keyword in node.exc.keywords)
    ]
    assert not without
