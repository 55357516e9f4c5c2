# SPDX-License-Identifier: Apache-2.0
"""`sysid doctor`: what is installed, what is missing, and what to do about it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from sysid_cli.app import app, console, example, remark
from sysid_cli.doctor.packages import (
    Check,
    check_packages,
    check_python,
    check_robots,
    check_solver,
)
from sysid_cli.doctor.ros import check_loopback, check_optional_ros, check_ros
from sysid_cli.tables import print_table


@app.command(epilog=example("sysid doctor --offline"))
def doctor(
    offline: Annotated[
        bool, typer.Option("--offline", help="Leave out ROS: for work on recordings alone.")
    ] = False,
    json_out: Annotated[
        str, typer.Option("--json", help="Also write the findings here; - for standard output.")
    ] = "",
) -> None:
    """Say what is installed, which ROS, whether DDS works, and what to do about what is missing.

    Exit status 0 if everything needed is there, else 1.
    """
    checks = [check_python(), *check_packages(), check_solver(), check_robots()]
    without_ros = all(check.ok for check in checks if check.required)
    if not offline:
        ros = check_ros()
        checks += ros
        if all(check.ok for check in ros):
            checks.append(check_loopback())
        checks += check_optional_ros()
    healthy = all(check.ok for check in checks if check.required)
    if json_out != "-":
        _show(checks, healthy, without_ros)
    if json_out:
        _write(json_out, {"healthy": healthy, "checks": [asdict(check) for check in checks]})
    raise typer.Exit(0 if healthy else 1)


def _show(checks: list[Check], healthy: bool, without_ros: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for column in ("", "what", "found"):
        table.add_column(column)
    for check in checks:
        word, style = (
            ("ok", "green") if check.ok else ("no", "red") if check.required else ("–", "yellow")
        )
        mark = Text(word, style)
        table.add_row(mark, check.name, check.found)
    print_table(table)
    for check in checks:
        if not check.ok:
            remark(f"{check.name}:", check.remedy, "bold")
    if healthy:
        console.print("Everything needed is here.", style="green")
    elif without_ros:
        console.print("Not ready for live work. Ready offline: plan, identify, weigh, validate.")
    else:
        console.print("Not ready.", style="red")


def _write(target: str, result: dict[str, Any]) -> None:
    text = json.dumps(result, indent=2)
    if target == "-":
        print(text)
    else:
        with open(target, "w", encoding="utf-8") as file:
            file.write(text + "\n")
