# SPDX-License-Identifier: Apache-2.0
"""`sysid identify`: a whole robot's parameters from recordings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import app, copy_json, errors, require_folder
from sysid_cli.identify import result
from sysid_cli.progress import shown_by
from sysid_cli.recordings import JsonPathOption
from sysid_cli.settings import command
from sysid_core import workflows
from sysid_core.workflows import IdentifySettings


@dataclass(frozen=True, kw_only=True)
class IdentifyOptions:
    """Everything that `sysid identify` is given."""

    settings: IdentifySettings
    out: Annotated[Path, typer.Option(help="Folder for estimate, result and report.")]
    json_path: JsonPathOption = ""


@command(
    app,
    example="sysid identify examples/ur5/train.csv --robot ur5 --columns examples/ur5/columns.yaml --validate examples/ur5/validate.csv --out results/ur5",
)
def identify(options: IdentifyOptions) -> None:
    """Identify inertial, friction and drive parameters of a robot from recorded motion."""
    require_folder(options.out)
    with errors.status("reading recordings") as status:
        found = workflows.identify(options.settings, shown_by(status))
        files = found.write(options.out)
    result.print_remarks(found)
    text = (options.out / "result.json").read_text(encoding="utf-8")
    if not copy_json(text, options.json_path):
        result.print_identified(found)
        written = f"written to {options.out}: {', '.join(files)}"
        result.print_line(written)
    raise typer.Exit(found.verdict.exit_status)
