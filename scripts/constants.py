# SPDX-License-Identifier: Apache-2.0
"""Every number that a module decides by, with its comment: a page of the reference, and a test."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "robot": ("robot",),
    "signals": ("signals",),
    "identifiability": ("identifiability",),
    "planning": ("planning",),
    "estimation of chains": tuple(f"estimation/{room}" for room in ("fit", "arm", "sequential")),
}
SENSITIVITY = ROOT / "benchmarks" / "estimation" / "constants.json"


@dataclass(frozen=True)
class Number:
    """A constant of a module.

    Attributes:
        place: Module and name, such as `sysid_core/planning/limits.py:DEFAULT_VELOCITY`.
        value: As it is written.
        reason: Its comment; "" where it has none.
    """

    place: str
    value: str
    reason: str


def numbers_in(path: Path) -> Iterator[Number]:
    """Module constants in capitals whose values hold numbers, with their comments."""
    source = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        if not all(name.isupper() for name in names) or not _decides(node.value):
            continue
        last = node.end_lineno or node.lineno
        reason = " ".join(comments[i] for i in range(node.lineno, last + 1) if i in comments)
        if not reason:
            above, i = [], node.lineno - 1
            while i in comments and source.splitlines()[i - 1].startswith("#"):
                above.insert(0, comments[i])
                i -= 1
            reason = " ".join(above)
        where = path.relative_to(ROOT).as_posix()
        yield Number(f"{where}:{', '.join(names)}", ast.unparse(node.value), reason)


def _decides(value: ast.expr) -> bool:
    """True if numbers are chosen: bare ones, signed ones, and tuples or products of such."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _decides(value.operand)
    if isinstance(value, ast.BinOp):
        return _decides(value.left) and _decides(value.right)
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(_decides(x) for x in value.elts)
    named = isinstance(value, ast.Call) and ast.unparse(value.func) in ("np.deg2rad", "np.sqrt")
    return named and all(_decides(x) for x in value.args)  # type: ignore[attr-defined]


def numbers_of(folders: tuple[str, ...]) -> list[Number]:
    """Constants of some rooms of the core."""
    files = [f for folder in folders for f in sorted((ROOT / "sysid_core" / folder).rglob("*.py"))]
    return [number for file in files for number in numbers_in(file)]


def page() -> str:
    """The page's text."""
    lines = [
        "# Numbers that decide",
        "",
        "From the comments beside them; a test demands one for each.",
        "",
    ]
    lines += _measured()
    for room, folders in ROOMS.items():
        lines += ["", f"## {room.capitalize()}", "", "| constant | value | why |", "|---|---|---|"]
        for number in numbers_of(folders):
            cells = (f"`{number.place.removeprefix('sysid_core/')}`", f"`{number.value}`")
            lines.append(f"| {' | '.join((*cells, _escaped(number.reason)))} |")
    return "\n".join(lines) + "\n"


def _measured() -> list[str]:
    """Effect of halving and doubling on the error on unseen motion."""
    found = json.loads(SENSITIVITY.read_text(encoding="utf-8"))
    sets = list(found["usual"])
    usual = ", ".join(f"{name} {100 * found['usual'][name]:.1f} %" for name in sets)
    lines = [
        "## Halved and doubled",
        "",
        f"Relative change of the error on unseen motion ({usual}) when a number of the fit is halved and",
        "doubled (`benchmarks/estimation/constants.py`).",
        "",
        f"| number | value | {' | '.join(f'{name}: half, double' for name in sets)} |",
        f"|---|---|{'---|' * len(sets)}",
    ]
    for name, one in found["numbers"].items():
        shown = [", ".join(f"{100 * x:+.1f} %" for x in one["effects"][which]) for which in sets]
        lines.append(f"| `{name}` | {one['value']:g} | {' | '.join(shown)} |")
    return lines


def _escaped(text: str) -> str:
    return re.sub(r"([|<*])", r"\\\1", text)
