# SPDX-License-Identifier: Apache-2.0
r"""Calibration of a force-torque sensor: bias and tool between its reading and the wrench of the
load.

The sensor reads, in its own axes and about its own origin,

    w = A(a, omega, alpha) (pi_tool + pi_object) + b

with `A` of `sysid_core.robot.wrench_regressor`. In a static posture, only gravity g_S remains:
`f = -m g_S + b_f` and `tau = g_S x (m c) + b_tau` (Nadeau et al. 2022, appendix A). The bias is
constant in the axes of the sensor while gravity turns with the posture, so that a few tilted
postures separate the two even while a load is held.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import AfterValidator, Field, StrictFloat

from sysid_core.errors import SignalError
from sysid_core.files import Count, FileKind, FileSchema, Number, write_yaml
from sysid_core.robot import (
    FrameMotion,
    is_physically_consistent,
    pi_from_mass_com_inertia,
    skew,
    wrench_regressor,
)
from sysid_core.signals.recording import Array, frozen_array
from sysid_core.signals.wrench.dress_pack import DressPack

SCHEMA = "robot_sysid/sensor_calibration/1"
_FILE = FileKind(
    "sensor calibration", "Give the file that a tare saved, or tare again.", SignalError
)
WRENCH_AXES = ("fx", "fy", "fz", "tx", "ty", "tz")


@dataclass(frozen=True, eq=False)
class SensorCalibration:
    """Result of a tare, which can be saved and reused.

    Attributes:
        frame: Frame of the sensor.
        bias: Reading without any load, force then torque, shape (6,) [N, N m].
        tare_load: Load `[m, m cx, m cy, m cz]` during the tare, shape (4,) [kg, kg m].
        covariance: Covariance of `[tare_load, bias]`, shape (10, 10).
        tool_pi: Inertial parameters of the known load to subtract (gripper, adapter), shape (10,).
        noise: Standard deviation of one sample per axis, shape (6,) [N, N m]; zero if unknown.
        residual_rms: RMS residual of the tare per axis, shape (6,) [N, N m].
        misalignment: Angle between the axes of the sensor in the description and those measured
            from gravity [rad]; NaN if not checked.
        delay: Delay of the wrench relative to the joint positions [s], and its standard deviation
            [s] (infinite if it was not estimated).
        n_postures: Number of static postures used.
        stamp_ns: Time of the last posture [ns]; 0 if unknown.
        temperature: Temperature of the sensor during the tare [°C]; NaN if unknown.
        source: Name of the data source.
        notes: Remarks, one sentence each.
        matrix: Correction matrix of readings minus bias, shape (6, 6); identity if not calibrated.
        mounting_left: Standard deviation of the mounting error that remains after the correction by
            `matrix` [rad]; NaN if not calibrated.
        tilt_left: Standard deviation of the remaining tilt of gravity in the robot's description
            [rad].
        gain_left: Standard deviations of the remaining error of the gain common to all forces (NaN
            without a known mass), and of each entry of their gain matrix [-].
        dress_pack: Pull of cables and hoses to subtract; None if not calibrated.
    """

    AXES: ClassVar[tuple[str, ...]] = WRENCH_AXES

    frame: str
    bias: Array
    tare_load: Array
    covariance: Array
    tool_pi: Array = field(default_factory=lambda: np.zeros(10))
    noise: Array = field(default_factory=lambda: np.zeros(6))
    residual_rms: Array = field(default_factory=lambda: np.zeros(6))
    misalignment: float = float("nan")
    delay: tuple[float, float] = (0.0, float("inf"))
    n_postures: int = 0
    stamp_ns: int = 0
    temperature: float = float("nan")
    source: str = ""
    notes: tuple[str, ...] = ()
    matrix: Array = field(default_factory=lambda: np.eye(6))
    mounting_left: float = float("nan")
    tilt_left: float = float("nan")
    gain_left: tuple[float, float] = (float("nan"), float("nan"))
    dress_pack: DressPack | None = None

    def __post_init__(self) -> None:
        shapes = {
            "bias": (6,),
            "tare_load": (4,),
            "covariance": (10, 10),
            "tool_pi": (10,),
            "noise": (6,),
            "residual_rms": (6,),
            "matrix": (6, 6),
        }
        for key, shape in shapes.items():
            value = frozen_array(getattr(self, key))
            if value.shape != shape or not np.all(np.isfinite(value)):
                raise SignalError(
                    f"'{key}' of a sensor calibration must be finite and of shape {shape}, not"
                    f" {value.shape}.",
                    remedy="Repeat the tare with at least three tilted postures.",
                )
            object.__setattr__(self, key, value)

    def of_opposite_sign(self) -> SensorCalibration:
        """Return the calibration for readings of the opposite sign (the wrench of the load on the
        sensor).
        """
        turn = np.append(np.ones(4), -np.ones(6))
        return dataclasses.replace(
            self,
            bias=-self.bias,
            covariance=self.covariance * np.outer(turn, turn),
            matrix=-self.matrix,
        )

    def net(self, wrench: Array, R_WS: Array, p_WS: Array | None) -> Array:
        """Return the readings without bias and dress pack, gains corrected: the wrench of tool and
        object.

        Computed sample by sample, so that live and recorded readings in blocks of any size give the
        same last digits.

        Args:
            wrench: Readings, shape (K, 6) [N, N m].
            R_WS: Orientation of the sensor, shape (K, 3, 3).
            p_WS: Position of the origin of the sensor, shape (K, 3) [m]; required only with a dress
                pack.

        Returns:
            Wrench of tool and object, shape (K, 6) [N, N m].
        """
        net = (self.matrix @ (wrench - self.bias)[:, :, None])[:, :, 0]
        if self.dress_pack is not None:
            assert p_WS is not None
            net = net - self.dress_pack.wrench(R_WS, p_WS)
        return np.asarray(net)

    @property
    def bias_sd(self) -> Array:
        """Standard deviation of the bias, shape (6,)."""
        return np.sqrt(np.diag(self.covariance)[4:])

    def age_s(self, now_ns: int) -> float:
        """Return the time since the tare [s]; infinite if its stamp is unknown or in the future."""
        if not 0 < self.stamp_ns <= now_ns:
            return float("inf")
        return (now_ns - self.stamp_ns) * 1e-9

    @property
    def tare_mass(self) -> tuple[float, float]:
        """Mass on the sensor during the tare, with its standard deviation [kg]."""
        return float(self.tare_load[0]), float(np.sqrt(self.covariance[0, 0]))

    @property
    def tare_com(self) -> tuple[Array, Array]:
        """Centre of mass of the load during the tare, in the sensor frame, with its standard
        deviation, each (3,) [m].
        """
        mass = self.tare_load[0]
        if mass <= 0:
            return np.full(3, np.nan), np.full(3, np.inf)
        com = self.tare_load[1:] / mass
        jacobian = np.column_stack([-com, np.eye(3)]) / mass
        return com, np.sqrt(np.diag(jacobian @ self.covariance[:4, :4] @ jacobian.T))

    def with_tool(self, tool_pi: ArrayLike) -> SensorCalibration:
        """Return a copy with a known load to subtract, `pi` in the sensor frame, shape (10,).

        Raises:
            SignalError: The parameters are not physically consistent.
        """
        tool_pi = np.asarray(tool_pi, dtype=float)
        if tool_pi.shape != (10,) or not bool(is_physically_consistent(tool_pi)):
            raise SignalError(
                "The tool's parameters are not those of a body.",
                remedy="Give [m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the sensor's"
                " origin in its axes; `pi_from_mass_com_inertia` computes them.",
            )
        return dataclasses.replace(self, tool_pi=tool_pi)

    def with_load_as_tool(self) -> SensorCalibration:
        """Return a calibration in which the load during the tare (the empty gripper) is the known
        tool. The tool is treated as a point mass, because a tare does not determine the inertia,
        which matters only in fast motion.

        Raises:
            SignalError: The mass from the tare is not positive.
        """
        mass = self.tare_load[0]
        if mass <= 0:
            raise SignalError(
                f"The tare found a load of {mass:.4g} kg, which can't be a tool.",
                remedy="Tare again with the tool mounted.",
            )
        centre = self.tare_load[1:] / mass
        return self.with_tool(pi_from_mass_com_inertia(mass, centre, np.zeros((3, 3))))

    def save(self, path: str | Path) -> None:
        """Write the calibration to a YAML file."""
        raw: dict[str, object] = {"schema": SCHEMA}
        for name in _File.model_fields:
            if name not in ("schema_", "dress_pack"):
                raw[name] = np.asarray(getattr(self, name)).tolist()
        if self.dress_pack is not None:
            pack = self.dress_pack
            raw["dress_pack"] = {"origin": pack.origin.tolist(), "pull": pack.pull.tolist()}
        write_yaml(path, raw)

    @classmethod
    def load(cls, path: str | Path) -> SensorCalibration:
        """Read a calibration written by `save`.

        Raises:
            SignalError: The file is of another kind, or a field is missing.
        """
        file = _FILE.read_schema(path, _File)
        values = {name: getattr(file, name) for name in _File.model_fields if name != "schema_"}
        try:
            if file.dress_pack is not None:
                pack = file.dress_pack
                values["dress_pack"] = DressPack(np.array(pack.origin), np.array(pack.pull))
            found = cls(**values)
            return found.with_tool(found.tool_pi) if np.any(found.tool_pi) else found
        except SignalError as err:
            raise _FILE.refusal(path, err.message, err.remedy) from err

    def compensate(self, wrench: ArrayLike, motion: FrameMotion) -> Array:
        """Return the wrench of the object alone: reading minus bias, with corrected gains, minus
        the wrench of the known tool.

        Args:
            wrench: Readings, shape (K, 6) [N, N m].
            motion: Motion of the sensor frame at the same instants, K samples.

        Returns:
            Wrench of the object, shape (K, 6) [N, N m].

        Raises:
            SignalError: The numbers of readings and of motion samples differ.
        """
        wrench = np.asarray(wrench, dtype=float)
        if wrench.shape != (len(motion.a), 6):
            raise SignalError(
                f"Wrench of shape {wrench.shape} and {len(motion.a)} samples of motion don't match.",
                remedy="Resample both to common instants first.",
            )
        tool = wrench_regressor(motion.a, motion.omega, motion.alpha) @ self.tool_pi
        return self.net(wrench, motion.R_WF, motion.p_WF) - tool

    @staticmethod
    def static_regressor(gravity_S: ArrayLike) -> Array:
        r"""Return the regressor G of the wrench of a load at rest: `w = G(g_S) @ [m, m cx, m cy, m
        cz]`.

        Args:
            gravity_S: Gravity in the sensor's axes, shape (..., 3) [m/s^2].

        Returns:
            Regressor G, shape (..., 6, 4).
        """
        gravity_S = np.asarray(gravity_S, dtype=float)
        G = np.zeros((*gravity_S.shape[:-1], 6, 4))
        G[..., :3, 0] = -gravity_S
        G[..., 3:, 1:] = skew(gravity_S)
        return G


def _variances(rows: list[list[float]]) -> list[list[float]]:
    if len(rows) != 10 or any(len(row) != 10 for row in rows):
        raise ValueError("must be 10 x 10")
    if np.any(np.diag(rows) < 0.0):
        raise ValueError("has a negative variance")
    return rows


_Six = Annotated[list[Number], Field(min_length=6, max_length=6)]


class _DressPack(FileSchema):
    origin: Annotated[list[Number], Field(min_length=3, max_length=3)]
    pull: Annotated[
        list[Annotated[list[Number], Field(min_length=4, max_length=4)]],
        Field(min_length=6, max_length=6),
    ]


class _File(FileSchema):
    schema_: Literal["robot_sysid/sensor_calibration/1"] = Field(alias="schema")
    frame: str
    bias: _Six
    tare_load: Annotated[list[Number], Field(min_length=4, max_length=4)]
    covariance: Annotated[list[list[Number]], AfterValidator(_variances)]
    tool_pi: Annotated[list[Number], Field(min_length=10, max_length=10)]
    noise: _Six
    residual_rms: _Six
    misalignment: StrictFloat
    delay: tuple[Number, StrictFloat]
    n_postures: Count
    stamp_ns: Count = 0
    temperature: StrictFloat = float("nan")
    mounting_left: StrictFloat = float("nan")
    tilt_left: StrictFloat = float("nan")
    gain_left: tuple[StrictFloat, StrictFloat] = (float("nan"), float("nan"))
    matrix: Annotated[list[_Six], Field(min_length=6, max_length=6)] = Field(
        default_factory=lambda: np.eye(6).tolist()
    )
    dress_pack: _DressPack | None = None
    source: str
    notes: tuple[str, ...]
