# SPDX-License-Identifier: Apache-2.0
"""`sysid plan arm`, `payload`, `postures`, `sequential`, `servos` and `loops` plan new motions."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from sysid_cli.app import console, copy_json, errors, plan, require_folder
from sysid_cli.settings import JsonPathOption, command
from sysid_cli.tables import print_rows
from sysid_core import workflows
from sysid_core.workflows import (
    ArmPlanSettings,
    LoopsPlanSettings,
    PayloadPlanSettings,
    PosturePlanSettings,
    SequentialPlanSettings,
    ServoPlanSettings,
)

if TYPE_CHECKING:
    from sysid_core.workflows import PlannedMotion

RobotArgument = Annotated[
    str, typer.Argument(help="URDF file, or the name of a robot, such as puma560 or ur5.")
]
LoopsArgument = Annotated[
    str,
    typer.Argument(
        help="YAML file of the kinematic loops, or `own-leg` for the included example robot."
    ),
]
OutOption = Annotated[Path, typer.Option(help="Folder for trajectory, result and report.")]
# Shares of the search: random motions are drawn; the end can be foreseen.
DRAWN, FORECAST_AT = 0.1, 0.35
REPORT_S = 5.0  # that check and report take [s]

Say = Callable[[float, str], None]


def _run(
    robot: str,
    out: Path,
    settings: Any,
    json_path: str,
    watched: Callable[[Say], Say] = lambda say: say,
) -> None:
    """Plan a motion, write its files, and print the result."""
    require_folder(out)
    with Progress(console=errors, transient=True) as bar:
        task = bar.add_task(f"planning for {robot}", total=1.0)

        def say(share: float, text: str) -> None:
            bar.update(task, completed=share, description=text)

        motion = workflows.plan(robot, settings, watched(say))
        motion.write(out)
    if not copy_json(motion.to_dict(), json_path):
        _show(motion, out)


def _with_forecast(progress: Say) -> Say:
    """Progress with the expected remaining time, which is estimated from the duration of the first
    part.
    """
    begun: tuple[float, float] | None = None  # share and time
    said = False

    def report(share: float, text: str) -> None:
        nonlocal begun, said
        if begun is None and share > DRAWN:
            begun = share, time.monotonic()
        elif begun is not None and share >= FORECAST_AT and not said:
            said = True
            rate = (share - begun[0]) / (time.monotonic() - begun[1])
            left = (1.0 - share) / max(rate, 1e-6) + REPORT_S
            errors.print(f"About {left:.0f} s left; Ctrl-C keeps the best so far.", highlight=False)
        progress(share, text)

    return report


def _show(motion: PlannedMotion, out: Path) -> None:
    found = motion.found
    if isinstance(found.result.get("steps"), list):
        _, columns, rows = found.tables[0]
        print_rows(
            columns,
            ([*map(str, row), f"{condition:.1f}"] for *row, condition in rows),
            title="Steps, from the last joint to the first",
        )
    minutes, seconds = divmod(round(found.trajectory.duration), 60)
    used = ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in found.check.usage.items())
    for line in (
        *found.lines,
        f"{found.trajectory.duration:.1f} s, {used} of the limits. {found.check.answer}",
        *([f"The robot will move for {minutes} min {seconds} s."] if minutes else []),
        *(f"note: {note}" for note in found.check.notes),
        f"{', '.join(['trajectory', *found.others])}, plan and report in {out}",
    ):
        console.print(line, highlight=False, soft_wrap=True)


@command(plan, example="sysid plan arm ur5 --validation --out plan")
def arm(
    *,
    robot: RobotArgument,
    out: OutOption = Path("arm_motion"),
    settings: ArmPlanSettings,
    json_path: JsonPathOption = "",
) -> None:
    """Plan a Fourier motion that minimises the expected errors of an arm's base parameters.

    Ctrl-C ends the search and keeps the best motion found. A motion is written only if it passes
    every check.
    """
    _run(robot, out, settings, json_path, _with_forecast)


@command(plan, example="sysid plan payload xarm7 --ground 0 --out plan")
def payload(
    *,
    robot: RobotArgument,
    out: OutOption = Path("payload_motion"),
    settings: PayloadPlanSettings,
    json_path: JsonPathOption = "",
) -> None:
    """Plan a payload motion: static postures, then an oscillation of the last three joints.

    A motion is written only if it passes every check.
    """
    _run(robot, out, settings, json_path)


@command(plan, example="sysid plan postures ur5 --count 15 --out postures")
def postures(
    *,
    robot: RobotArgument,
    out: OutOption = Path("postures_motion"),
    settings: PosturePlanSettings,
    json_path: JsonPathOption = "",
) -> None:
    """Plan a motion through static postures, to identify the gravity parameters.

    A motion is written only if it passes every check.
    """
    _run(robot, out, settings, json_path)


@command(plan, example="sysid plan sequential ur5 --moves 12 --out plan")
def sequential(
    *,
    robot: RobotArgument,
    out: OutOption = Path("sequential_motion"),
    settings: SequentialPlanSettings,
    json_path: JsonPathOption = "",
) -> None:
    """Plan single-joint swings in the most informative postures, for sequential identification.

    A motion is written only if it passes every check and excites every parameter.
    """
    _run(robot, out, settings, json_path)


@command(plan, example="sysid plan servos so101 --ground 0 --out plan")
def servos(
    *,
    robot: RobotArgument,
    out: OutOption = Path("servo_motion"),
    settings: ServoPlanSettings,
    json_path: JsonPathOption = "",
) -> None:
    """Plan a motion for an arm with position servos: a slow and a fast pass with phases at rest.

    A motion is written only if it passes every check.
    """
    _run(robot, out, settings, json_path)


@command(plan, example="sysid plan loops own-leg --duration 30 --out plan")
def loops(
    *,
    robot: LoopsArgument,
    out: OutOption = Path("loops_motion"),
    settings: LoopsPlanSettings,
    json_path: JsonPathOption = "",
) -> None:
    """Plan Fourier motions of the driven joints of a closed chain.

    A motion that exceeds the velocity or acceleration limits is slowed down. The motion is written
    only if it passes every check.
    """
    _run(robot, out, settings, json_path)
