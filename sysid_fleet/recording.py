# SPDX-License-Identifier: Apache-2.0
"""One recording of ordinary work: what it says of friction and of the load, as rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.batch import Source, hash_of, local_copy
from sysid_core.diagnosis import require_fit
from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import (
    ArmEquations,
    Identification,
    full_parameters,
    load_identification,
)
from sysid_core.estimation.fit import LeastSquares
from sysid_core.robot import RobotModel
from sysid_core.signals import ColumnMap, Recording
from sysid_core.validation import predict_recording
from sysid_core.workflows import is_bag, load_recording
from sysid_fleet.registry import Robot, Tool, settings_hash
from sysid_fleet.sensor import sensor_values, temperature_of

LOAD = ("m", "mx", "my", "mz")
_MOVING = 0.05  # [rad/s]
_CALENDAR = 946684800.0  # [s] the year 2000: stamps before count from some start
_DATE = re.compile(r"(20\d\d)-?([01]\d)-?([0-3]\d)(?:[T_-]?([0-2]\d)[-:]?([0-5]\d))?")


@dataclass(frozen=True)
class Task:
    """A recording with what is known of its robot.

    Attributes:
        source: Where it is.
        robot: Robot of the registry.
        tool: Tool of the registry; None: without.
    """

    source: Source
    robot: Robot
    tool: Tool | None


@lru_cache(maxsize=16)
def calibrated(
    calibration: str, description: str, columns: str
) -> tuple[Identification, ColumnMap | None]:
    """A robot as it was calibrated; kept, since a worker sees the same robots again and again."""
    folder = Path(calibration)
    known = load_identification(
        folder / "parameters.yaml",
        RobotModel.from_urdf(description),
        Estimate.load(folder / "estimate.yaml"),
    )
    return known, ColumnMap.load(columns) if columns else None


def recording_rows(task: Task) -> list[dict[str, Any]]:
    """Friction of every joint, and the load on the last body, from one recording.

    Masses of the links, rotor inertias and further friction terms keep their calibrated values:
    short ordinary motions don't show them, and what is estimated stays comparable.

    Args:
        task: The recording.

    Raises:
        SysIdError: It can't be used.
    """
    robot = task.robot
    known, columns = calibrated(robot.calibration, robot.description, robot.columns)
    with local_copy(task.source.address) as path:
        run = load_recording(path, columns, robot.effort_kind)
        require_fit(known.model, run)
        digest = hash_of(path)
        temperature = temperature_of(path, robot.temperature) if is_bag(path) else None
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
        "error": predict_recording(found, run).relative_error(),
        "data_hash": digest,
        "model_hash": known.model.urdf_hash,
        "settings_hash": settings_hash(robot, task.tool),
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
    """The calibrated robot with the recording's friction and load, and the estimate of those.

    Raises:
        EstimationError: Nothing moves.
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
    parameters = full_parameters(regression, estimate, fixed)
    return replace(known, estimate=estimate, parameters=parameters), estimate


_FREE = ("F_c", "F_v", "beta")


def friction_at(
    known: Identification, estimate: Estimate, speed: float
) -> dict[str, tuple[float, float, str, str]]:
    """`F_c + F_v v` of every axis at a speed: better known than its parts, which trade off."""
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
    """When a recording began: by its stamps, by a date in its name, or by the file's time.

    Raises:
        SignalError: None of them says.
    """
    stamp = int(run.joints.stamps_ns[0]) * 1e-9
    if stamp > _CALENDAR:
        return datetime.fromtimestamp(stamp, timezone.utc)
    if found := _DATE.search(source.address):
        year, month, day, hour, minute = (int(x or 0) for x in found.groups())
        return datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
    try:
        return datetime.fromtimestamp(float(source.stamp.partition("/")[2]), timezone.utc)
    except (ValueError, OverflowError) as err:
        raise SignalError(
            f"Nothing says when '{source.address}' was recorded.",
            remedy="Record with wall-clock stamps, or name files by date: 2026-03-31_0210.",
        ) from err


def warm_up(run: Recording) -> float:
    """Time in motion before the middle of the recording [s]: how warm the drives may be."""
    stream = run.joints
    v = np.gradient(stream.q, stream.time, axis=0) if stream.v is None else stream.v
    moving = np.any(np.abs(v) > _MOVING, axis=1)
    half = len(moving) // 2
    return float(np.sum(np.diff(stream.time)[: half - 1][moving[: half - 1]])) if half > 1 else 0.0
