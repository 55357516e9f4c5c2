# SPDX-License-Identifier: Apache-2.0
"""The column map: what a table of numbers holds, in which units, behind which drives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.files import FileKind, read_yaml, validated
from sysid_core.robot import Array, DriveTrain
from sysid_core.signals.column_file import Column, ColumnFile
from sysid_core.signals.recording import EffortKind, JointStream

COLUMNS_SCHEMA = "robot_sysid/columns/1"
_KIND = FileKind(
    "column map", "`sysid init RECORDING --robot URDF` writes one to start from.", SignalError
)
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclass(frozen=True, eq=False)
class ColumnMap:
    r"""Where a table keeps what, in which units; and the drives that the efforts belong to.

    For bags, which name their own contents, only joints, effort kind and drives matter.

    Attributes:
        joints: Names of the URDF's joints, in the order of all lists here.
        position: Columns (numbers from 0, or names in the header).
        velocity: Columns; empty where not measured.
        acceleration: Columns; empty where not measured.
        effort: Columns; empty where not measured, None for joints in `unused`.
        effort_kind: What the effort means; declared, never guessed.
        time: Column of time; None where samples are equally spaced at `rate_hz`.
        time_scale: Seconds per unit of the time column.
        position_scale: Radians (or metres) per unit of position; one for all, or shape (n,).
        velocity_scale: rad/s per unit of velocity, likewise.
        acceleration_scale: rad/s^2 per unit of acceleration, likewise.
        rate_hz: Sampling rate where there is no time column.
        delimiter: Between columns; "whitespace" for any number of spaces or tabs.
        header: Whether the first line holds names.
        n_columns: Expected number of columns; 0 takes what comes.
        files: Names of several tables in one folder, side by side: columns are numbered through,
            named columns are `file:name`.
        drives: Gains, gear ratios and couplings.
        reduction: Where positions and efforts are the motors': `q_motor = reduction @ (q - q_0)`
            and `tau = reduction^T @ (gains * effort)`, shape (n, n); None for the joints' own.
        zero: q_0, joint angles where the motors' positions are zero, shape (n,).
        gains_known: False where the map says `gain: unknown`: the drives' gains are all 1 then.
        gravity: In the robot's base frame, shape (3,) [m/s^2], from `mount: [roll, pitch, yaw]` of
            the base in the world [rad] or from `gravity: [x, y, z]`; None: as the URDF says.
        unused: Joints whose efforts aren't measured or don't count: they read as zero.
        known_torques: Joint to the column of a torque that acts beside its drive [N m, N].
        gain_source: Where the gains come from, in words; "" where the map doesn't say.
        gain_sd: Relative standard deviation of the gains, shape (n,); None where not given.
    """

    joints: tuple[str, ...]
    position: tuple[Column, ...]
    velocity: tuple[Column, ...]
    acceleration: tuple[Column, ...]
    effort: tuple[Column | None, ...]
    effort_kind: EffortKind
    time: Column | None
    time_scale: float
    position_scale: float | Array
    velocity_scale: float | Array
    acceleration_scale: float | Array
    rate_hz: float
    delimiter: str
    header: bool
    n_columns: int
    files: tuple[str, ...]
    drives: DriveTrain
    reduction: Array | None
    zero: Array
    gains_known: bool = True
    gravity: Array | None = None
    unused: tuple[str, ...] = ()
    known_torques: Mapping[str, Column] = field(default_factory=dict)
    gain_source: str = ""
    gain_sd: Array | None = None

    @classmethod
    def load(cls, path: str | Path) -> ColumnMap:
        """Read a column map (YAML).

        Raises:
            SignalError: It can't be read, or something in it is missing or unknown.
        """
        return cls.from_dict(read_yaml(path, _KIND), str(path))

    @classmethod
    def from_dict(cls, raw: object, source: str = "given") -> ColumnMap:
        """Build from plain data, such as a parsed YAML file.

        Raises:
            SignalError: Something in it is missing or unknown.
        """
        file = validated(raw, ColumnFile, _KIND, source)
        kind = EffortKind.UNKNOWN if file.effort is None else file.effort.kind
        reduction, zero = None, np.zeros(len(file.joints))
        if file.transmission is not None:
            reduction, zero = file.transmission.matrices(len(file.joints))
            if kind is EffortKind.MOTOR_CURRENT:
                kind = EffortKind.ACTUATOR_TORQUE  # `read_table` applies gains and reduction
        return cls(
            joints=file.joints,
            position=file.position.columns,
            velocity=file.velocity.columns,
            acceleration=file.acceleration.columns,
            effort=() if file.effort is None else file.effort.columns,
            effort_kind=kind,
            time=None if file.time is None else file.time.column,
            time_scale=1.0 if file.time is None else SECONDS[file.time.unit],
            position_scale=file.position.scale(""),
            velocity_scale=file.velocity.scale("/s"),
            acceleration_scale=file.acceleration.scale("/s^2"),
            rate_hz=file.rate_hz,
            delimiter=file.delimiter,
            header=file.header,
            n_columns=file.n_columns,
            files=file.files,
            drives=file.drives.train(file.joints),
            reduction=reduction,
            zero=zero,
            gains_known=file.drives.gain != "unknown",
            gravity=file.gravity_in_base(),
            unused=() if file.effort is None else file.effort.unused,
            known_torques={} if file.effort is None else file.effort.known_torques,
            gain_source=file.drives.source,
            gain_sd=file.drives.relative_sd(len(file.joints)),
        )

    def without_unused(self, stream: JointStream) -> JointStream:
        """Joint states with the efforts of `unused` joints as drivers that measure none give them."""
        if stream.effort is None or not set(self.unused) & set(stream.names):
            return stream
        effort = np.array(stream.effort)
        effort[:, [name in self.unused for name in stream.names]] = 0.0
        return replace(stream, effort=effort)
