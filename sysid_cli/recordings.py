# SPDX-License-Identifier: Apache-2.0
"""Options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
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
