# SPDX-License-Identifier: Apache-2.0
"""`sysid plan arm`, `payload`, `postures`, `sequential`, `servos` and `loops` plan new motions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sysid_cli.base import console, copy_json, errors, require_folder
from sysid_cli.plan import plan
from sysid_cli.settings import JsonPathOption, command
from sysid_cli.tables import print_rows
from sysid_core import workflows

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


def _run(robot: str, out: Path, settings: Any, json_path: str) -> None:
    """Plan a motion, write its files, and print the result."""
    require_folder(out)
    with errors.progress(f"planning for {robot}") as shown:
        motion = workflows.plan(robot, settings, lambda share, text: shown.update(text, share))
        motion.write(out)
    if copy_json(motion.to_dict(), json_path):
        return
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


def _add(
    kind: str,
    example: str,
    about: str,
    *,
    out: str = "",
    argument: Any = RobotArgument,
) -> None:
    """Add the command that plans one kind of motion.

    Args:
        kind: Kind of the motion, which is the name of the command.
        example: Arguments of the example command line.
        about: Help of the command.
        out: Default folder of the files; "": `KIND_motion`.
        argument: Command-line argument that names the robot.
    """
    folder = Path(out or f"{kind}_motion")

    def run(*, robot: str, out: Path = folder, settings: Any, json_path: str = "") -> None:
        _run(robot, out, settings, json_path)

    run.__name__, run.__doc__ = kind, about
    run.__annotations__ |= {
        "robot": argument,
        "out": OutOption,
        "settings": workflows.PLANS[kind],
        "json_path": JsonPathOption,
    }
    command(plan, example=f"sysid plan {kind} {example}")(run)


_WRITTEN = "A motion is written only if it passes every check"
_add(
    "arm",
    "ur5 --validation --out plan",
    "Plan a Fourier motion that minimises the expected errors of an arm's base parameters.\n\n"
    f"Ctrl-C ends the search and keeps the best motion found. {_WRITTEN}.",
)
_add(
    "payload",
    "xarm7 --ground 0 --out plan",
    "Plan a payload motion: static postures, then an oscillation of the last three joints.\n\n"
    f"{_WRITTEN}.",
)
_add(
    "postures",
    "ur5 --count 15 --out postures",
    f"Plan a motion through static postures, to identify the gravity parameters.\n\n{_WRITTEN}.",
)
_add(
    "sequential",
    "ur5 --moves 12 --out plan",
    "Plan single-joint swings in the most informative postures, for sequential identification.\n\n"
    f"{_WRITTEN} and excites every parameter.",
)
_add(
    "servos",
    "so101 --ground 0 --out plan",
    "Plan a motion for an arm with position servos: a slow and a fast pass with phases at rest.\n\n"
    f"{_WRITTEN}.",
    out="servo_motion",
)
_add(
    "loops",
    "own-leg --duration 30 --out plan",
    "Plan Fourier motions of the driven joints of a closed chain.\n\nA motion that exceeds the"
    " velocity or acceleration limits is slowed down. The motion is written only if it passes every"
    " check.",
    argument=LoopsArgument,
)
