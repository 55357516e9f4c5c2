# SPDX-License-Identifier: Apache-2.0
"""`sysid identifiability` analyses the structural identifiability of a robot's parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.base import app, console, copy_json, errors, remark
from sysid_cli.settings import JsonPathOption, MountOption, command
from sysid_cli.tables import print_list, print_table
from sysid_core.errors import IdentifiabilityError

if TYPE_CHECKING:
    from sysid_core.report import IdentifiabilityPage
    from sysid_core.robot import RobotModel, Rotor


@command(app, example="sysid identifiability ur5 --html results/ur5_identifiability.html")
def identifiability(
    *,
    robot: Annotated[str, typer.Argument()],
    floating_base: bool = False,
    gravity: Annotated[tuple[float, float, float] | None, typer.Option(metavar="X Y Z")] = None,
    mount: MountOption = "",
    no_gravity: bool = False,
    static: bool = False,
    rotors: Path | None = None,
    mimic: str = "coupled",
    every: Annotated[bool, typer.Option("--all")] = False,
    json_path: JsonPathOption = "",
    html_path: Annotated[Path | None, typer.Option("--html", metavar="FILE")] = None,
) -> None:
    """Compute exactly which inertial parameters of a robot are identifiable.

    Args:
        robot: URDF file, reference robot (puma560, scara, cheetah3-leg, stanford, tx40,
            own-leg, two-link-parallel, two-link-perpendicular), or a robot of example-robot-data.
        floating_base: Analyse the robot with a floating base, whose base link moves freely.
        gravity: Gravity in the base frame [m/s²]; default: that of the robot.
        no_gravity: Analyse the robot without gravity.
        static: Analyse static postures only.
        rotors: YAML file with the list `rotors: [{joint, ratio, axis, position}]`; default: the
            rotors of the reference robot, or those of the transmissions in the URDF.
        mimic: Treatment of mimic joints: 'coupled' to the joints that they follow, or
            'independent'.
        every: Print all identifiable combinations of parameters.
        html_path: Write an HTML page.
    """
    from sysid_core.identifiability.rpna import structural_identifiability
    from sysid_core.report import IdentifiabilityPage, ReportIndex
    from sysid_core.robot import RobotModel
    from sysid_core.robot.loops import LoopsFile

    if sum((no_gravity, gravity is not None, bool(mount))) > 1:
        raise IdentifiabilityError(
            "Give only one of --gravity, --mount and --no-gravity.",
            remedy="Give one of them.",
        )
    if mimic not in ("coupled", "independent"):
        raise IdentifiabilityError(
            f"The value '{mimic}' of --mimic is invalid.",
            remedy="Choose 'coupled' or 'independent'.",
        )
    model = RobotModel.from_urdf(
        robot, floating_base=floating_base, gravity=(0.0, 0.0, 0.0) if no_gravity else gravity
    )
    model = model.mounted(mount=mount)
    if robot in LoopsFile.references():
        remark(
            "warning:",
            f"The loops of '{robot}' are ignored: this is its open chain. To analyse the closed"
            f" chain, run `sysid loops check {robot}`.",
            to=errors,
        )
    found = _rotors(robot, model, rotors)
    answer = structural_identifiability(model, static=static, rotors=found, mimic=mimic)
    weightless = None
    if answer.gravity.any() and not static:
        weightless = structural_identifiability(
            model, gravity=(0.0, 0.0, 0.0), rotors=found, mimic=mimic
        )
    page = IdentifiabilityPage(answer, weightless)
    if html_path is not None:
        ReportIndex.add(page.report(), html_path)
    if json_path and copy_json(answer.to_dict(), json_path):
        return
    _show(page, every)


def _rotors(robot: str, model: RobotModel, path: Path | None) -> tuple[Rotor, ...]:
    from sysid_core.robot import Rotor

    if path is not None:
        return Rotor.load(path)
    described = (r for r in Rotor.in_urdf(model.urdf_xml) if r.joint in model.joint_names)
    return Rotor.of_reference(robot) or tuple(described)


def _show(page: IdentifiabilityPage, whole: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from sysid_core.identifiability.rpna import combination_text

    for line in page.sentences():
        console.print(line, highlight=False, soft_wrap=True)
    for warning in page.answer.warnings:
        remark("warning:", warning, to=errors)
    headings, rows = page.table(console.width)
    table = Table(box=SIMPLE_HEAD, padding=0)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("", "body") else "center")
    for row in rows:
        table.add_row(*row, end_section=row[0] in ("Ixy", "Im"))
    print_table(table)
    console.print(page.LEGEND, style="dim", soft_wrap=True)
    together = [r for r in page.answer.regroupings if len(r.terms) > 1]
    if together:
        console.print("Identifiable only in combination:", style="bold")
    lines = [
        Text.assemble(f"  {combination_text(r.terms)}\n", (f"    {r.meaning}", "dim"))
        for r in together
    ]
    print_list(lines, most=5, whole=whole)
