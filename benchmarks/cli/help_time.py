# SPDX-License-Identifier: Apache-2.0
"""CPU seconds of every help page of `sysid`, best of five. Usage: `python benchmarks/cli/help_time.py`.

User and system time of the whole process, from the interpreter's start to its end. The goal is .4 s.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from sysid_cli.app import app

SYSID = Path(sys.executable).parent / "sysid"


def pages(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, child in getattr(command, "commands", {}).items():
        yield from pages(child, (*words, name))


def cpu_s(words: tuple[str, ...]) -> float:
    """User and system time of showing a command's help [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([SYSID, *words, "--help"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    table = Table("help of", "best of 5 [s]")
    found = {
        words: min(cpu_s(words) for _ in range(5)) for words in pages(typer.main.get_command(app))
    }
    for words, best in sorted(found.items(), key=lambda one: -one[1]):
        table.add_row(" ".join(("sysid", *words)), f"{best:.2f}")
    Console().print(table)
    print(f"{len(found)} pages, {sum(best < 0.4 for best in found.values())} below .4 s of CPU")


if __name__ == "__main__":
    main()
