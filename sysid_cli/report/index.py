# SPDX-License-Identifier: Apache-2.0
"""`sysid report index`: one page that lists the reports of several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import console, example
from sysid_cli.report.group import report


@report.command("index", epilog=example("sysid report index results"))
def index(
    folder: Annotated[Path, typer.Argument(help="Folder with reports in it or below.")],
) -> None:
    """List all reports below a folder in its index.html: verdict, answer, time, link."""
    from sysid_core.report import write_index

    console.print(f"{write_index(folder)}", highlight=False, soft_wrap=True)
