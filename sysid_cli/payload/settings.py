# SPDX-License-Identifier: Apache-2.0
"""The options of `sysid payload`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_cli.sensor import SensorSettings
from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.signals import WrenchColumns
    from sysid_core.signals.wrench import WrenchAxes

CLOCKS = ("estimate", "as-stamped")
METHODS = ("map", "map-running", "pmd", "pmd-squared", "ols", "rtls", "geo", "lmi", "homogeneous")


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """Columns of a table with a wrench; what isn't given is found by name."""

    wrench_columns: Annotated[
        str, typer.Option(help="Of a table: six columns, force then torque, with commas.")
    ] = ""
    joint_columns: Annotated[
        str, typer.Option(help="Of a table: positions, in the order of the robot's joints.")
    ] = ""
    pose_columns: Annotated[
        str,
        typer.Option(
            help="Of a table without a robot: the sensor's pose in a base whose z axis points up:"
            " x,y,z and a quaternion or rotation vector; or the quaternion alone."
        ),
    ] = ""
    rotation: Annotated[
        str, typer.Option(help="What the rotation's columns are: auto, xyzw, wxyz, rotvec, rpy.")
    ] = "auto"
    time_column: Annotated[str, typer.Option(help="Of a table: the time.")] = ""
    rate: Annotated[
        float, typer.Option(min=0.0, help="Rows per second of a table without time.")
    ] = 0.0
    still: Annotated[
        bool, typer.Option("--still", help="Each row of the table is a still posture.")
    ] = False
    wrench_axes: Annotated[
        str,
        typer.Option(help="Whose axes the wrench has: sensor, base (UR's TCP force), or auto."),
    ] = "auto"

    @property
    def columns(self) -> WrenchColumns:
        """Which columns are what.

        Raises:
            SignalError: There is no such rotation.
        """
        from sysid_core.signals import RotationFormat, WrenchColumns

        def names(text: str) -> tuple[str, ...]:
            return tuple(part.strip() for part in text.split(",") if part.strip())

        return WrenchColumns(
            time=self.time_column,
            rate_hz=self.rate,
            wrench=names(self.wrench_columns),
            joints=names(self.joint_columns),
            pose=names(self.pose_columns),
            rotation=RotationFormat.named(self.rotation, "The rotation's format", SignalError),
            still=self.still,
        )

    @property
    def axes(self) -> WrenchAxes:
        """Whose axes the wrench has.

        Raises:
            SignalError: Nobody's.
        """
        from sysid_core.signals.wrench import WrenchAxes

        return WrenchAxes.named(self.wrench_axes, "The wrench's axes", SignalError)


@dataclass(frozen=True, kw_only=True)
class PayloadSettings:
    """Everything that `sysid payload` is given."""

    recording: Annotated[
        Path | None,
        typer.Argument(
            help="rosbag2 folder, MCAP file, or a table (CSV, NPZ, Parquet, MAT).",
            show_default=False,
        ),
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
    table: TableSettings
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
        if not self.sensor_frame and self.sensor_robot.robot:
            raise SignalError("No sensor frame is given.", remedy="Say --sensor-frame FRAME.")
        for word, name, known in (("method", self.method, METHODS), ("clock", self.clock, CLOCKS)):
            if name not in known:
                raise SignalError(
                    f"No {word} '{name}'.", remedy=f"Choose one of: {', '.join(known)}."
                )
