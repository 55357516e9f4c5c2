# SPDX-License-Identifier: Apache-2.0
"""Measure the tables of an evidence page again, and state date, commit, machine and command below each.

    python scripts/evidence.py docs/evidence/servos.md "python benchmarks/servos/deviations.py 5"

The page states the command in the line below each table. The tables that the command prints
(Markdown, or rich's boxes) replace those of the page in their order.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path

BORDER = r"[|┃│]"


def tables(text: str) -> list[str]:
    """Tables in an output, as Markdown."""
    found: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if re.match(BORDER, line.strip()):
            cells = [c.strip() for c in re.split(BORDER, line.strip())[1:-1]]
            if not all(set(cell) <= set("-: ") and cell for cell in cells):
                found[-1].append(cells)
        elif found[-1] and not set(line.strip()) & set("─━"):
            found.append([])
    return [
        "\n".join("| " + " | ".join(r) + " |" for r in (t[0], ["---"] * len(t[0]), *t[1:]))
        for t in found
        if t
    ]


def replaced(page: str, command: str, printed: list[str], where: str) -> str:
    """The page with the tables of a command exchanged, and the line below each renewed."""
    place = re.compile(rf"(?:^\|.*\n)+\n\*[^*\n]*: `{re.escape(command)}`\*", re.MULTILINE)
    if len(place.findall(page)) != len(printed):
        raise SystemExit(
            f"`{command}` printed {len(printed)} tables; the page has {len(place.findall(page))}"
            f" with this command below them."
        )
    new = iter(printed)
    return place.sub(lambda _: f"{next(new)}\n\n*{where}: `{command}`*", page)


def provenance() -> str:
    """Date, commit and kind of machine."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    machine = platform.machine().replace("_", "-")
    return f"{datetime.date.today().isoformat()}, {commit}, {os.cpu_count()} {machine} cores"


def main() -> None:
    """Run the command and rewrite the page."""
    page, command = Path(sys.argv[1]), sys.argv[2]
    done = subprocess.run(
        shlex.split(command), env={**os.environ, "COLUMNS": "400"}, stdout=subprocess.PIPE,
        text=True, check=True,
    )  # fmt: skip
    text = replaced(page.read_text("utf-8"), command, tables(done.stdout), provenance())
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
