# SPDX-License-Identifier: Apache-2.0
"""Column maps: meaning of the columns of a table, and their YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import AliasChoices, Field, StrictBool, field_validator, model_validator

from sysid_core.errors import SignalError
from sysid_core.files import (
    Count,
    FileKind,
    FileSchema,
    Name,
    NotNegative,
    Number,
    Positive,
    Vector3,
)
from sysid_core.robot import Array, DriveTrain, FrictionTerm, RobotModel, Spring, SpringLaw
from sysid_core.signals.recording import EffortKind, JointStream

_ANGLES = {"rad": 1.0, "deg": np.pi / 180.0, "turn": 2.0 * np.pi, "m": 1.0, "mm": 1e-3}
Column = Count | Name  # its number from 0, or its name in the header
Waves = dict[str, Positive | list[Positive]]  # axis: waves per turn


class _Signal(FileSchema):
    columns: tuple[Column, ...]
    unit: str | list[str] = ""

    def scale(self, per: str) -> float | Array:
        """Factor to radians (or metres); `per` is "", "/s" or "/s^2"."""
        units = {angle + per: scale for angle, scale in _ANGLES.items()}
        named = [self.unit or "rad" + per] if isinstance(self.unit, str) else self.unit
        unknown = [unit for unit in named if unit not in units]
        if unknown:
            close = FileSchema.nearest(unknown[0], list(units))
            raise ValueError(
                f"unit {unknown[0]!r} is unknown ({f'write {close}?' if close else 'known:'}"
                f" {', '.join(units)})"
            )
        scales = np.array([units[unit] for unit in named])
        return float(scales[0]) if isinstance(self.unit, str) else scales


class _Effort(FileSchema):
    columns: tuple[Column | None, ...] = ()
    kind: EffortKind = Field(EffortKind.UNKNOWN, validate_default=True)
    unused: tuple[Name, ...] = ()
    known_torques: dict[str, Column] = Field(default_factory=dict)

    @field_validator("kind", mode="before")
    @classmethod
    def _declared(cls, kind: object) -> object:
        allowed = [k.value for k in EffortKind if k is not EffortKind.UNKNOWN]
        if kind not in allowed:
            raise ValueError(
                f"{kind!r} is not the kind of efforts; declare one of {', '.join(allowed)}"
            )
        return kind


class _Time(FileSchema):
    column: Column
    unit: Literal["s", "ms", "us", "ns"] = "s"


class _Spring(FileSchema):
    axis: Name = Field(validation_alias=AliasChoices("joint", "axis"))
    law: SpringLaw = SpringLaw.LINEAR
    preload: Number = 0.0
    stiffness: Number = 0.0
    stroke: NotNegative = 0.0
    exponent: Positive = 1.0
    anchors: tuple[Positive, Positive] | None = None
    zero: Number = 0.0
    identified: StrictBool = False

    def spring(self) -> Spring:
        """Spring that this entry of the column map describes."""
        return Spring(**dict(self))


class _Drives(FileSchema):
    gain: Literal["unknown"] | tuple[Number, ...] = ()
    gain_sd: NotNegative | tuple[NotNegative, ...] | None = None
    source: str = ""
    couplings: dict[str, dict[str, Number]] = Field(default_factory=dict)
    ripple: Waves = Field(default_factory=dict)
    runout: Waves = Field(default_factory=dict)
    speed_ripple: Waves = Field(default_factory=dict)
    speed_runout: Waves = Field(default_factory=dict)
    springs: tuple[_Spring, ...] = ()

    def relative_sd(self, n: int) -> Array | None:
        """Relative standard deviations of the gains, shape (n,)."""
        if self.gain_sd is None:
            return None
        sd = np.array(self.gain_sd, dtype=float)
        if sd.size not in (1, n) or np.any(sd >= 1.0):
            raise ValueError(
                "`gain_sd` must be relative (0.03 for 3 %), one number or one for each joint"
            )
        return np.broadcast_to(sd, (n,))

    def train(self, joints: tuple[str, ...]) -> DriveTrain:
        """Drives of the joints; gains of 1 if they are unknown or not given."""
        gains = [1.0] * len(joints) if self.gain in ("unknown", ()) else self.gain
        waves = {term.value: getattr(self, term.value) for term in FrictionTerm if term.waves}
        given = {
            kind: {axis: w if isinstance(w, list) else [w] for axis, w in axes.items()}
            for kind, axes in waves.items()
            if axes
        }
        springs = tuple(spring.spring() for spring in self.springs)
        return DriveTrain(joints, np.array(gains, dtype=float), self.couplings, given, springs)


class _Transmission(FileSchema):
    reduction: list[list[Number]]
    zero: list[Number] | None = None

    def matrices(self, n: int) -> tuple[Array, Array]:
        """`reduction`, shape (n, n), and `zero`, shape (n,)."""
        zero = np.zeros(n) if self.zero is None else np.array(self.zero)
        square = len(self.reduction) == n and all(len(row) == n for row in self.reduction)
        if not square or np.linalg.matrix_rank(self.reduction) < n or zero.shape != (n,):
            raise ValueError(
                f"`transmission.reduction` must be an invertible {n} x {n} matrix, one row per"
                f" motor, and `zero` a list of {n}: q_motor = reduction (q - zero)"
            )
        return np.array(self.reduction), zero


class ColumnFile(FileSchema):
    """Column map as in its file."""

    schema_: Literal["robot_sysid/columns/1"] = Field(alias="schema")
    description: str = ""
    delimiter: str = Field(",", min_length=1)
    header: StrictBool = False
    n_columns: Count = 0
    files: tuple[Name, ...] = ()
    rate_hz: NotNegative = 0.0
    time: _Time | None = None
    joints: tuple[Name, ...] = Field(min_length=1)
    position: _Signal = _Signal(columns=())
    velocity: _Signal = _Signal(columns=())
    acceleration: _Signal = _Signal(columns=())
    effort: _Effort | None = None
    drives: _Drives = _Drives()
    transmission: _Transmission | None = None
    mount: Vector3 | None = None
    gravity: Vector3 | None = None

    def gravity_in_base(self) -> Array | None:
        """Return the gravity in the base frame, shape (3,) [m/s^2]."""
        if self.mount is not None:
            return RobotModel.gravity_of_mount(self.mount)
        return None if self.gravity is None else np.array(self.gravity, dtype=float)

    @model_validator(mode="after")
    def _sound(self) -> ColumnFile:
        n = len(self.joints)
        if len(set(self.joints)) < n:
            raise ValueError("`joints` names a joint twice")
        for key, per in (("position", ""), ("velocity", "/s"), ("acceleration", "/s^2")):
            signal: _Signal = getattr(self, key)
            try:
                scale = signal.scale(per)
            except ValueError as err:
                raise ValueError(f"`{key}`: {err}") from err
            if isinstance(signal.unit, list) and np.size(scale) != n:
                raise ValueError(f"`{key}` has {np.size(scale)} units for {n} joints")
        for key in ("position", "velocity", "acceleration", "effort"):
            section = getattr(self, key)
            if section and section.columns and len(section.columns) != n:
                raise ValueError(f"`{key}` has {len(section.columns)} columns for {n} joints")
        current = self.effort is not None and self.effort.kind is EffortKind.MOTOR_CURRENT
        if current and not self.drives.gain:
            raise ValueError(
                "the efforts are motor currents, but there are no drive gains: give"
                " `drives: {gain: [...]}` [N m/A at the joint]; 1.0 for each joint keeps everything"
                " in amperes, `gain: unknown` lets `sysid identify --loaded` find them"
            )
        numbers = [] if self.drives.gain == "unknown" else self.drives.gain
        if current and any(gain != 1.0 for gain in numbers) and not self.drives.source.strip():
            raise ValueError(
                "`drives` gives gains and doesn't say where they come from: every mass is in"
                " proportion to them; add `source: ...` (a data sheet, a calibration, a known load)"
                " and, if known, `gain_sd`, or write `gain: unknown` and find them with"
                " `sysid identify --loaded`"
            )
        if self.transmission is not None:
            if self.drives.gain == "unknown":
                raise ValueError(
                    "`gain: unknown` cannot be combined with `transmission`: give the gains [N m/A]"
                )
            self.transmission.matrices(n)
        self.drives.train(self.joints)
        self.drives.relative_sd(n)
        self._sound_efforts()
        if self.mount is not None and self.gravity is not None:
            raise ValueError("give `mount` or `gravity`, not both")
        size = 9.81 if self.gravity is None else float(np.linalg.norm(self.gravity))
        if not 9.0 < size < 10.5:
            raise ValueError(
                f"`gravity` of {size:.3g} m/s^2 isn't that of the earth; give [x, y, z] in the base"
                " frame, such as [0, 0, -9.81]"
            )
        return self

    def _sound_efforts(self) -> None:
        effort = self.effort
        if effort is None:
            return
        for key, named in (("unused", effort.unused), ("known_torques", effort.known_torques)):
            strangers = sorted(set(named) - set(self.joints))
            if strangers:
                raise ValueError(f"`effort.{key}` names {strangers}, which are not joints")
        missing = [
            joint
            for joint, column in zip(self.joints, effort.columns, strict=False)
            if column is None and joint not in effort.unused
        ]
        if missing:
            raise ValueError(f"`effort.columns` has none for {missing}: name them in `unused`")
        if effort.known_torques and self.drives.gain == "unknown":
            raise ValueError("`effort.known_torques` [N m] need the drives' gains")


_KIND = FileKind(
    "column map", "`sysid init RECORDING --robot URDF` writes a template.", SignalError
)


@dataclass(frozen=True, eq=False)
class ColumnMap:
    r"""Column map: columns and units of a table, and the drives that produce the efforts.

    For bags, which contain joint names and units, only joints, effort kind and drives matter.

    Attributes:
        joints: Names of the n joints of the URDF, in the order of all other lists.
        position: Columns of the positions (numbers from 0, or names in the header), one per joint.
        velocity: Columns of the velocities; empty if not measured.
        acceleration: Columns of the accelerations; empty if not measured.
        effort: Columns of the efforts; empty if not measured, None for joints in `unused`.
        effort_kind: Kind of the efforts; it must be declared.
        time: Column of time; None for samples equally spaced at `rate_hz`.
        time_scale: Duration of one unit of the time column [s].
        position_scale: Size of one unit of position [rad or m]; one for all, or shape (n,).
        velocity_scale: Factor from the unit of velocity to rad/s or m/s; one for all, or shape
            (n,).
        acceleration_scale: Factor from the unit of acceleration to rad/s^2 or m/s^2; one for all,
            or shape (n,).
        rate_hz: Sampling rate if there is no time column [Hz].
        delimiter: Delimiter between columns; "whitespace" for any number of spaces or tabs.
        header: True if the first line contains names.
        n_columns: Expected number of columns; 0: any.
        files: Names of several tables in one folder, whose columns are joined: columns are numbered
            consecutively over all tables, and names have the form `file:name`.
        drives: Gains, gear ratios and couplings.
        reduction: Matrix if positions and efforts are those of the motors: `q_motor = reduction @
            (q - q_0)` and `tau = reduction^T @ (gains * effort)`, shape (n, n); None if they are
            those of the joints.
        zero: Joint positions q_0 at which the positions of the motors are zero, shape (n,) [rad or
            m].
        gains_known: False if the map contains `gain: unknown`; all gains are then 1.
        gravity: Gravity in the robot's base frame, shape (3,) [m/s^2], from `mount: [roll, pitch,
            yaw]` of the base in the world [rad] or from `gravity: [x, y, z]`; None: that of the
            URDF.
        unused: Names of joints whose efforts are not measured or are ignored; they are read as
            zero.
        known_torques: Columns of known torques that act in parallel to the drives, by joint name [N
            m or N].
        gain_sd: Relative standard deviations of the gains, shape (n,); None if not given.
    """

    SCHEMA: ClassVar[str] = "robot_sysid/columns/1"
    SECONDS: ClassVar[Mapping[str, float]] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

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
    gain_sd: Array | None = None

    @classmethod
    def load(cls, path: str | Path) -> ColumnMap:
        """Load a column map from a YAML file.

        Raises:
            SignalError: The file cannot be read, or an entry is missing or unknown.
        """
        return cls.from_dict(_KIND.read_yaml(path), str(path))

    @classmethod
    def from_dict(cls, raw: object, source: str = "given") -> ColumnMap:
        """Return the column map from plain data, such as a parsed YAML file.

        Raises:
            SignalError: An entry is missing or unknown.
        """
        file = _KIND.validated(raw, ColumnFile, source)
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
            time_scale=1.0 if file.time is None else cls.SECONDS[file.time.unit],
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
            gain_sd=file.drives.relative_sd(len(file.joints)),
        )

    def without_unused(self, stream: JointStream) -> JointStream:
        """Return a copy of joint states in which the efforts of `unused` joints count as
        unmeasured.
        """
        if stream.effort is None or not set(self.unused) & set(stream.names):
            return stream
        effort = np.array(stream.effort)
        effort[:, [name in self.unused for name in stream.names]] = 0.0
        return replace(stream, effort=effort)
