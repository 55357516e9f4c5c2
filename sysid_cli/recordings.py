# SPDX-License-Identifier: Apache-2.0
"""Options that commands share."""

from __future__ import annotations

from typing import Annotated

import typer

RobotOption = Annotated[str, typer.Option(help="URDF file, or a robot of example-robot-data.")]
BagRobotOption = Annotated[
    str, typer.Option(help="URDF file or name; default: the description in the bag.")
]
EffortKindOption = Annotated[
    str, typer.Option(help="What the efforts of a bag mean, where it doesn't say.")
]
JsonPathOption = Annotated[
    str, typer.Option("--json", metavar="FILE|-", help="The result as JSON; - prints it.")
]
