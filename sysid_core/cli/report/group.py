# SPDX-License-Identifier: Apache-2.0
"""The group `sysid report`."""

from __future__ import annotations

import typer

from sysid_core.cli.app import app

report = typer.Typer(help="Reports of several runs.", no_args_is_help=True)
app.add_typer(report, name="report")
