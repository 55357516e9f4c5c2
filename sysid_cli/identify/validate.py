# SPDX-License-Identifier: Apache-2.0
"""`sysid validate`: an identified robot against other recordings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.app import app, copy_json, errors
from sysid_cli.identify import result
from sysid_cli.progress import shown_by
from sysid_cli.recordings import JsonPathOption
from sysid_cli.settings import command
from sysid_core import workflows
from sysid_core.workflows import ValidateSettings


@dataclass(frozen=True, kw_only=True)
class ValidateOptions:
    """Everything that `sysid validate` is given."""

    settings: ValidateSettings
    out: Annotated[Path | None, typer.Option(help="Folder for validation.json and .html.")] = None
    json_path: JsonPathOption = ""


@command(
    app,
    example="sysid validate results/ur5 examples/ur5/validate.csv --robot ur5 --columns examples/ur5/columns.yaml",
)
def validate(options: ValidateOptions) -> None:
    """Predict the efforts of recordings with an identified robot, and compare with the raw ones."""
    with errors.status("predicting efforts") as status:
        found = workflows.validate(options.settings, shown_by(status))
        if options.out is not None:
            workflows.write_validation(found, options.out)
    if not copy_json(workflows.json_text(found.to_dict()), options.json_path):
        result.print_validated(found)
    raise typer.Exit(found.verdict.exit_status)
