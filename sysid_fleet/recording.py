# SPDX-License-Identifier: Apache-2.0
"""Estimates of friction and load from one recording of ordinary work."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from sysid_core.diagnosis import require_fit
from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import ArmEquations, Identification
from sysid_core.estimation.fit import LeastSquares
from sysid_core.files import hash_of
from sysid_core.robot import RobotModel
from sysid_core.signals import ColumnMap, Recording, interpolate_at
from sysid_core.signals.bags import StoredBag
from sysid_core.signals.wrench import SensorCalibration
from sysid_core.validation import Prediction
from sysid_core.workflows import ArmData
from sysid_fleet.batch.sources import Source, local_copy
from sysid_fleet.registry import Robot, Tool, settings_hash

_SLOW = 0.05  # [rad/s]: slower, the load's weight is all that the sensor feels
_LEAST, _MOST = 50, 400  # samples
_LONGEST_GAP = 0.1  # [s]
_DISTINCT = 1e-3  # of the largest singular value: postures tell weight and bias apart
_TEMPERATURE = "sensor_msgs/msg/Temperature"


def sensor_values(
    model: RobotModel, run: Recording, mass: float | None
) -> dict[str, tuple[float, float, str, str]]:
    """Return the bias of every axis of the sensor, and its gain relative to a known mass, from slow
    samples.

    Args:
        model: Robot model with the sensor frame.
        run: Recording.
        mass: Known mass on the sensor [kg]; None: the gain is not estimated.

    Returns:
        Value, standard deviation, unit and verdict by name; empty without a sensor, or if the
        postures do not separate weight and bias.
    """
    if run.wrench is None or not model.pin_model.existFrame(run.wrench.frame):
        return {}
    stream = run.joints.ordered(model.joint_names)
    when = stream.stamps_ns
    wrench = run.wrench
    v = np.gradient(stream.q, stream.time, axis=0) if stream.v is None else stream.v
    inside = (when >= wrench.stamps_ns[0]) & (when <= wrench.stamps_ns[-1])
    slow = np.flatnonzero(np.all(np.abs(v) < _SLOW, axis=1) & inside)
    if len(slow) < _LEAST:
        return {}
    still = len(slow) * float(np.median(np.diff(stream.time)))  # [s]
    slow = slow[:: max(1, len(slow) // _MOST)]
    readings, near = interpolate_at(
        when[slow], wrench.stamps_ns, wrench.wrench, max_gap_s=_LONGEST_GAP
    )
    slow, readings = slow[near], readings[near]
    if len(slow) < _LEAST:
        return {}
    data, frame = model.pin_model.createData(), model.frame_id(wrench.frame)
    gravity = np.empty((len(slow), 3))
    for k, q in enumerate(stream.q[slow]):
        pin.framesForwardKinematics(model.pin_model, data, q)
        gravity[k] = data.oMf[frame].rotation.T @ model.gravity
    load = SensorCalibration.static_regressor(gravity)  # (K, 6, 4)
    A = np.concatenate([load, np.broadcast_to(np.eye(6), (len(slow), 6, 6))], axis=2)
    A = A.reshape(-1, 10)
    sizes = np.linalg.svd(A / np.linalg.norm(A, axis=0), compute_uv=False)
    if sizes[-1] < _DISTINCT * sizes[0]:
        return {}
    x, *_ = np.linalg.lstsq(A, readings.ravel(), rcond=None)
    left = (readings.ravel() - A @ x).reshape(-1, 6)
    repeats = max(1.0, len(slow) / still)  # samples within a second repeat each other
    rows = np.repeat(np.std(left, axis=0)[None, :], len(slow), axis=0).ravel() + 1e-12
    P = np.linalg.pinv((A / rows[:, None]).T @ (A / rows[:, None])) * repeats
    sd = np.sqrt(np.diag(P))
    out = {
        f"sensor.bias_{axis}": (float(x[4 + k]), float(sd[4 + k]), unit, "identifiable")
        for k, (axis, unit) in enumerate(
            zip(SensorCalibration.AXES, ["N"] * 3 + ["N m"] * 3, strict=True)
        )
    }
    if mass:
        out["sensor.gain"] = (float(x[0]) / mass, float(sd[0]) / mass, "1", "identifiable")
    return out


def temperature_of(path: Path, topic: str) -> float | None:
    """Return the mean temperature of a bag's `sensor_msgs/Temperature` topic [deg C]; None without
    messages.
    """
    if not topic:
        return None
    bag = StoredBag.open(path)
    names = {stored.name for stored in bag.topics_of(_TEMPERATURE)}
    found = [float(m.temperature) for _, m in bag.decoded(topic)] if topic in names else []
    finite = [value for value in found if np.isfinite(value)]
    return float(np.mean(finite)) if finite else None


LOAD = ("m", "mx", "my", "mz")
_MOVING = 0.05  # [rad/s]
_CALENDAR = 946684800.0  # [s] the year 2000: stamps before count from some start
_DATE = re.compile(r"(20\d\d)-?([01]\d)-?([0-3]\d)(?:[T_-]?([0-2]\d)[-:]?([0-5]\d))?")


@dataclass(frozen=True)
class Task:
    """Recording with the data of its robot.

    Attributes:
        source: Source of the recording.
        robot: Robot of the registry.
        tool: Tool of the registry; None: no tool.
    """

    source: Source
    robot: Robot
    tool: Tool | None


@lru_cache(maxsize=16)
def calibrated(
    calibration: str, description: str, columns: str, settings: str
) -> tuple[Identification, ColumnMap | None]:
    """Return the calibrated robot, cached as long as the hash of its `settings` stays the same."""
    known = Identification.load(calibration, RobotModel.from_urdf(description))
    return known, ColumnMap.load(columns) if columns else None


def recording_rows(task: Task) -> list[dict[str, Any]]:
    """Return the estimates of the friction of every joint and of the load on the last body, from
    one recording.

    Masses of the links, rotor inertias and further friction terms keep their calibrated values,
    because short ordinary motions do not determine them, and because the estimates of different
    recordings then remain comparable.

    Args:
        task: Recording with its robot.

    Raises:
        SysIdError: The recording cannot be used.
    """
    robot = task.robot
    settings = settings_hash(robot, task.tool)
    known, columns = calibrated(robot.calibration, robot.description, robot.columns, settings)
    with local_copy(task.source.address) as path:
        run = ArmData.recording(path, columns, robot.effort_kind)
        require_fit(known.model, run)
        digest = hash_of(path)
        temperature = temperature_of(path, robot.temperature) if ArmData.is_bag(path) else None
    found, estimate = fit_recording(known, run)
    last = f"{known.model.body_names[-1]}."
    values = {
        name.replace(last, "load.") if name.startswith(last) else name: (
            *(value, sd, unit, verdict.value),
        )
        for name, value, sd, unit, verdict in zip(
            estimate.names,
            estimate.values.tolist(),
            estimate.standard_deviations.tolist(),
            estimate.units,
            estimate.verdicts,
            strict=True,
        )
    }
    values.update(friction_at(known, estimate, robot.speed))
    values.update(sensor_values(known.model, run, task.tool.mass if task.tool else None))
    common = {
        "time": begin_of(run, task.source),
        "temperature": temperature,
        "warm_up": warm_up(run),
        "outcome": "pass",
        "error": Prediction.of(found, run).relative_error(),
        "data_hash": digest,
        "model_hash": known.model.urdf_hash,
        "settings_hash": settings,
        "version": version("robot_sysid"),
    }
    return [
        {
            **common,
            "parameter": name,
            "value": value,
            "deviation": sd if np.isfinite(sd) else None,
            "unit": unit,
            "verdict": verdict,
        }
        for name, (value, sd, unit, verdict) in values.items()
    ]


def fit_recording(known: Identification, run: Recording) -> tuple[Identification, Estimate]:
    """Fit friction and load of a recording to a calibrated robot.

    Raises:
        EstimationError: No joint moves.
    """
    equations = ArmEquations.build(known.model, [run], known.friction, known.processing)
    last = known.model.body_names[-1]
    free = {f"{last}.{symbol}" for symbol in LOAD}
    free |= {f"{axis}.{s}" for axis in known.friction.drives.axis_names for s in _FREE}
    regression = replace(equations.regression(known.pi.ravel()), prior=known.parameters)
    fixed = [name for name in regression.names if name not in free]
    if len(fixed) == len(regression.names):
        raise EstimationError(
            f"The calibration of '{known.model.name}' has no friction terms.",
            remedy="Calibrate with --friction usual, geared or auto.",
        )
    estimate = LeastSquares("joint", fixed=fixed).fit(regression)
    parameters = regression.full_parameters(estimate, fixed)
    return replace(known, estimate=estimate, parameters=parameters), estimate


_FREE = ("F_c", "F_v", "beta")


def friction_at(
    known: Identification, estimate: Estimate, speed: float
) -> dict[str, tuple[float, float, str, str]]:
    """Return the friction `F_c + F_v v` of every axis at a given speed, which is more accurate than
    each of its two correlated terms.
    """
    out = {}
    covariance = estimate.covariance
    for axis in known.friction.drives.axis_names:
        index = [
            (estimate.names.index(f"{axis}.{symbol}"), factor)
            for symbol, factor in (("F_c", 1.0), ("F_v", speed))
            if f"{axis}.{symbol}" in estimate.names
        ]
        if not index:
            continue
        rows, weights = [i for i, _ in index], np.array([w for _, w in index])
        value = float(weights @ estimate.values[rows])
        variance = float(weights @ covariance[np.ix_(rows, rows)] @ weights)
        out[f"{axis}.friction"] = (value, float(np.sqrt(variance)), "N m", "identifiable")
    return out


def begin_of(run: Recording, source: Source) -> datetime:
    """Start time of a recording: from its stamps, from a date in its name, or from the time of the
    file.

    Raises:
        SignalError: None of these contains the time.
    """
    stamp = int(run.joints.stamps_ns[0]) * 1e-9
    if stamp > _CALENDAR:
        return datetime.fromtimestamp(stamp, timezone.utc)
    for found in reversed(list(_DATE.finditer(source.address))):  # the file's before its folders'
        year, month, day, hour, minute = (int(x or 0) for x in found.groups())
        with suppress(ValueError):  # the 30th of February
            return datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
    try:
        return datetime.fromtimestamp(float(source.stamp.partition("/")[2]), timezone.utc)
    except (ValueError, OverflowError) as err:
        raise SignalError(
            f"The time of the recording '{source.address}' is unknown.",
            remedy="Record with wall-clock stamps, or name files by date: 2026-03-31_0210.",
        ) from err


def warm_up(run: Recording) -> float:
    """Return the time in motion before the middle of the recording [s], as a measure of the
    temperature of the drives.
    """
    stream = run.joints
    v = np.gradient(stream.q, stream.time, axis=0) if stream.v is None else stream.v
    moving = np.any(np.abs(v) > _MOVING, axis=1)
    half = len(moving) // 2
    return float(np.sum(np.diff(stream.time)[: half - 1][moving[: half - 1]])) if half > 1 else 0.0
