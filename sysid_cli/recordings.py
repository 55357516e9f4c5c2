# SPDX-License-Identifier: Apache-2.0
"""Options that commands share, robots on fixed bases, and what recordings are called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.app import errors, remark
from sysid_core.errors import ModelError

if TYPE_CHECKING:
    from sysid_core.robot import RobotModel
    from sysid_core.signals import ColumnMap

RobotOption = Annotated[str, typer.Option(help="URDF file, or a robot of example-robot-data.")]
BagRobotOption = Annotated[
    str, typer.Option(help="URDF file or name; default: the description in the bag.")
]
RecordingsArgument = Annotated[
    list[Path], typer.Argument(metavar="RECORDING...", help="Tables (CSV) or rosbag2 bags.")
]
ColumnsOption = Annotated[
    Path | None, typer.Option(help="YAML: columns, units, effort kind, drive gains.")
]
EffortKindOption = Annotated[
    str, typer.Option(help="What the efforts of a bag mean, where it doesn't say.")
]
JsonPathOption = Annotated[
    str, typer.Option("--json", metavar="FILE|-", help="The result as JSON; - prints it.")
]


def load_columns(path: Path | None) -> ColumnMap | None:
    """The column map, where one is given."""
    from sysid_core.signals import ColumnMap

    return None if path is None else ColumnMap.load(path)


def load_fixed_base(robot: str, lock: Sequence[str]) -> RobotModel:
    """A robot on a fixed base, some joints locked; warnings about its URDF are printed.

    Args:
        robot: URDF file, or a robot of example-robot-data.
        lock: `JOINT` (locked at zero) or `JOINT=POSITION` [rad or m].

    Raises:
        ModelError: An unknown joint, or one with several degrees of freedom.
    """
    from sysid_core.robot import RobotModel

    model = RobotModel.from_urdf(robot)
    positions = {}
    for text in lock:
        name, _, value = text.partition("=")
        try:
            positions[name.strip()] = float(value or 0.0)
        except ValueError as err:
            raise ModelError(
                f"--lock {text}: '{value}' is no number.",
                remedy="Write --lock JOINT or --lock JOINT=POSITION (rad or m).",
            ) from err
    model = model.with_locked(positions)
    wide = [
        name
        for name, nv in zip(model.joint_names, model.degrees_of_freedom, strict=True)
        if nv != 1
    ]
    if wide:
        raise ModelError(
            f"Joints {wide} of '{model.name}' have several degrees of freedom: the robot isn't on a"
            " fixed base.",
            remedy="Robots on a fixed base are identified: fix these joints in the URDF, or lock"
            f" them: --lock {' --lock '.join(wide)}.",
        )
    for warning in model.warnings:
        remark("warning:", warning, to=errors)
    return model


def run_labels(paths: Sequence[Path]) -> list[str]:
    """What recordings are called in tables: their names, or their paths where names are alike."""
    names = [path.name for path in paths]
    return [
        name if names.count(name) == 1 else str(path)
        for name, path in zip(names, paths, strict=True)
    ]
