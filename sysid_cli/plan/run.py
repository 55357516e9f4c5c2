# SPDX-License-Identifier: Apache-2.0
"""The steps of every `sysid plan` command: robot and limits, search, files, summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sysid_cli.app import console, copy_json, errors, require_folder
from sysid_cli.plan.settings import PlanSettings
from sysid_cli.tables import print_table

if TYPE_CHECKING:
    from rich.table import Table

    from sysid_core.planning import MotionCheck, MotionLimits, Trajectory
    from sysid_core.report import Figure
    from sysid_core.robot import RobotModel


@dataclass(frozen=True)
class Planning:
    """What a planning command starts from.

    Attributes:
        robot: As it was typed.
        model: The robot, with locked joints held.
        limits: That the motion must keep to.
        rate_hz: Rate of the samples.
        seed: Same seed, same motion.
        progress: Takes the share that is done and what is being done.
    """

    robot: str
    model: RobotModel
    limits: MotionLimits
    rate_hz: float
    seed: int
    progress: Callable[[float, str], None]


@dataclass(frozen=True)
class Planned:
    """What a planning command found.

    Attributes:
        trajectory, check: The motion, and that it is safe.
        schema: Schema of `result`.
        result: What is peculiar to this kind of motion, as plain numbers and words.
        title, facts, remarks, figures: Contents of the report.
        tables: Further tables of the report: heading, columns, rows.
        lines: Printed at the end.
        others: Further motions to check and write, by name of their file.
    """

    trajectory: Trajectory
    check: MotionCheck
    schema: str
    result: Mapping[str, object]
    title: str
    facts: Mapping[str, object]
    remarks: Sequence[str] = ()
    figures: Sequence[tuple[Figure, str]] = ()
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[object]]]] = ()
    lines: Sequence[str | Table] = field(default_factory=tuple)
    others: Mapping[str, Trajectory] = field(default_factory=dict)


def run_plan(
    robot: str,
    out: Path,
    settings: PlanSettings,
    search: Callable[[Planning], Planned],
    load: Callable[[str], RobotModel] | None = None,
) -> None:
    """Plan a motion, write trajectory, plan.json and report, and say what was found.

    Args:
        robot: As it was typed.
        out: Folder of the results.
        settings: Samples, robot and limits.
        search: Finds the motion.
        load: The robot from its name; default: `load_robot`.
    """
    from rich.progress import Progress

    from sysid_core.robot import load_robot

    require_folder(out)
    model = settings.prepared((load or load_robot)(robot))
    limits = settings.limits_of(model)
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task(f"planning for {model.name}", total=1.0)
        planning = Planning(
            robot,
            model,
            limits,
            settings.rate_hz,
            settings.seed,
            lambda share, text: progress.update(task, completed=share, description=text),
        )
        found = search(planning)
        out.mkdir(parents=True, exist_ok=True)
        trajectory = _write(planning, found, out)
    text = json.dumps(_result(planning, found, trajectory), indent=2) + "\n"
    (out / "plan.json").write_text(text, encoding="utf-8")
    if not copy_json(text, settings.json_path):
        _show(found, trajectory, out)


def _write(planning: Planning, found: Planned, out: Path) -> Trajectory:
    """Trajectories and report; returns the trajectory as it was exported."""
    from sysid_core.planning import MotionChecker, export_trajectory
    from sysid_core.report import motion_report, save_and_list

    model, limits = planning.model, planning.limits
    trajectory = export_trajectory(model, found.trajectory, limits, out / "trajectory.npz")
    for name, other in found.others.items():
        export_trajectory(model, other, limits, out / f"{name}.npz")
    report = motion_report(
        MotionChecker(model, limits),
        trajectory,
        found.check,
        title=f"{found.title}: {model.name}",
        facts={
            "duration": f"{trajectory.duration:.1f} s",
            **found.facts,
            "seed": planning.seed,
        },
        remarks=found.remarks,
        figures=found.figures,
    )
    for heading, columns, rows in found.tables:
        report.heading(heading)
        report.table(columns, rows)
    save_and_list(report, out / "report.html")
    return trajectory


def _result(planning: Planning, found: Planned, trajectory: Trajectory) -> dict[str, object]:
    """Contents of plan.json."""
    return {
        "schema": found.schema,
        "robot": trajectory.robot,
        "urdf_hash": trajectory.urdf_hash,
        "joint_names": list(trajectory.joint_names),
        "duration": trajectory.duration,
        "seed": planning.seed,
        **found.result,
        "usage": {kind: float(share) for kind, share in found.check.usage.items()},
        "notes": list(found.check.notes),
        "limits": planning.limits.as_dict(),
    }


def _show(found: Planned, trajectory: Trajectory, out: Path) -> None:
    used = ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in found.check.usage.items())
    for line in found.lines:
        if isinstance(line, str):
            console.print(line, highlight=False, soft_wrap=True)
        else:
            print_table(line)
    minutes, seconds = divmod(round(trajectory.duration), 60)
    for line in (
        f"{trajectory.duration:.1f} s, safe: {used} of the limits",
        *([f"The robot will move for {minutes} min {seconds} s."] if minutes else []),
        *(f"note: {note}" for note in found.check.notes),
        f"{', '.join(['trajectory', *found.others])}, plan and report in {out}",
    ):
        console.print(line, highlight=False, soft_wrap=True)
