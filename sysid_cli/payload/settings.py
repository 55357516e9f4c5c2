# SPDX-License-Identifier: Apache-2.0
"""The options of `sysid payload`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sysid_cli.sensor import SensorSettings
from sysid_core.errors import SignalError

CLOCKS = ("estimate", "as-stamped")
METHODS = ("map", "map-running", "pmd", "pmd-squared", "ols", "rtls", "geo", "lmi", "homogeneous")


@dataclass(frozen=True, kw_only=True)
class PayloadSettings:
    """Everything that `sysid payload` is given."""

    recording: Annotated[
        Path | None, typer.Argument(help="rosbag2 folder or MCAP file.", show_default=False)
    ] = None
    sensor_frame: Annotated[str, typer.Option(help="Frame of the force-torque sensor.")] = ""
    shape: Annotated[
        str,
        typer.Option(
            help="Shape of the object in the sensor frame: 'box 0.2 0.3 0.05', 'cylinder R L',"
            " 'sphere R', 'gripper OPENING' (its width only, fingers along y; metres), each with"
            " 'at X Y Z' where its centre isn't the sensor's origin;"
            " a mesh or point cloud ('[hull] FILE [scale 0.001]'), or a YAML file (see"
            " config/shapes). Without one the inertia is known less well."
        ),
    ] = ""
    repeat: Annotated[
        Path | None,
        typer.Option(help="Folder of recordings of one object: how repeatable is the answer?"),
    ] = None
    sensor_robot: SensorSettings
    method: Annotated[str, typer.Option(help=f"Estimator: {', '.join(METHODS)}.")] = "map"
    compare: Annotated[
        bool, typer.Option(help="Every other method on the same data too, for the report.")
    ] = True
    sensor: Annotated[
        str,
        typer.Option(help="Quality of the sensor: ordinary, or calibrated (gains, delay, axes)."),
    ] = "ordinary"
    calibration: Annotated[
        Path | None, typer.Option(help="Sensor calibration of an earlier tare.")
    ] = None
    clock: Annotated[
        str,
        typer.Option(
            help="Stamps of the wrench: estimate (offset and drift against the joints' clock,"
            " corrected where they are more than 5 ms) or as-stamped."
        ),
    ] = "estimate"
    flange_frame: Annotated[
        str, typer.Option(help="Frame in which the controller wants it; default: the sensor's.")
    ] = ""
    truth: Annotated[
        Path | None, typer.Option(help="YAML with `pi` (ten numbers), to compare with.")
    ] = None
    out: Annotated[Path, typer.Option(help="Folder for estimate, result and report.")] = Path(
        "results/payload"
    )
    json_out: Annotated[
        str, typer.Option("--json", help="Also write the result here; - for standard output.")
    ] = ""

    def require_complete(self) -> None:
        """Refuse what can't be answered before anything is read.

        Raises:
            SignalError: With what is missing, or the names to choose from.
        """
        if (self.recording is None) == (self.repeat is None):
            raise SignalError(
                "Exactly one of a recording and --repeat is needed.",
                remedy="Give a bag, or --repeat with a folder of bags.",
            )
        if not self.sensor_frame:
            raise SignalError("No sensor frame is given.", remedy="Say --sensor-frame FRAME.")
        for word, name, known in (("method", self.method, METHODS), ("clock", self.clock, CLOCKS)):
            if name not in known:
                raise SignalError(
                    f"No {word} '{name}'.", remedy=f"Choose one of: {', '.join(known)}."
                )
