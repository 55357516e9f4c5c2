# SPDX-License-Identifier: Apache-2.0
"""docs/equations.md: every row leads to code that names the equation's number."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

INDEX = Path(__file__).resolve().parent.parent / "docs" / "equations.md"
ROW = re.compile(r"^\| (\(\d.*?\)) \| .* \| `([\w.]+):([\w.]+)` \|$", re.MULTILINE)
NUMBERS = re.compile(r"\(?(\d+)\)?(?:\s*(?:-|–|to)\s*\(?(\d+)\)?)?")
LISTS = re.compile(
    r"(?:\beqs?\.|[Ee]quations?|problem|(?<=# ))\s*"
    r"(\(?\d+\)?(?:(?:,| and| or| to|-|–)\s*(?:and\s*)?\(?\d+\)?)*)|(\(\d+\))"
)


def equation_numbers(text: str) -> set[int]:
    """Numbers that a text names as equations: `eq. (30)`, `eqs. 27-29`, `equations (18), (20)`, `(51)`."""
    found: set[int] = set()
    for listed, bare in LISTS.findall(" ".join(text.split())):
        for first, last in NUMBERS.findall(listed or bare):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall(INDEX.read_text(encoding="utf-8"))


def test_the_index_covers_the_four_papers() -> None:
    assert sum(len(re.findall(r"\d+", numbers)) for numbers, _, _ in rows()) >= 95


@pytest.mark.parametrize(("numbers", "module", "name"), rows())
def test_the_code_of_a_row_names_its_equation(numbers: str, module: str, name: str) -> None:
    code: object = importlib.import_module(module)
    for part in name.split("."):
        code = getattr(code, part)
    target = code.fget if isinstance(code, property) else getattr(code, "func", code)
    wanted = {int(number) for number in re.findall(r"\d+", numbers)}
    missing = wanted - equation_numbers(inspect.getsource(target))  # type: ignore[arg-type]
    assert not missing, f"{module}:{name} doesn't name {sorted(missing)}"


def test_numbers_are_read_as_people_write_them() -> None:
    text = "eq. (30), (32); Equations (19), (21) behind; eqs. 27-29; (51)  # (53)-(55)"
    assert equation_numbers(text) >= {30, 32, 19, 21, 27, 28, 29, 51, 53, 55}
    assert not equation_numbers("shape (4, 4) to 7 columns")
