# SPDX-License-Identifier: Apache-2.0
"""Payloads of arms without force-torque sensor, estimated from joint torques or currents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.controller_payload import ControllerSetting
from sysid_core.diagnosis import examine, require_fit
from sysid_core.errors import SignalError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm import Processing
from sysid_core.estimation.loaded_arm import (
    CarriedBody,
    DriveGains,
    KnownLoad,
    LoadedArm,
    PayloadFromTorques,
)
from sysid_core.estimation.payload import DensityPrior, PayloadSummary
from sysid_core.files import write_json
from sysid_core.progress import Progress, Step, silent
from sysid_core.reasons import Reason, Verdict
from sysid_core.report import ReportIndex, loaded_arm_report
from sysid_core.robot import Array, DriveTrain, FrictionModel, FrictionTerm, RobotModel
from sysid_core.robot.shapes import load_shape
from sysid_core.signals import ColumnMap, Recording, read_table
from sysid_core.validation import judge_estimate
from sysid_core.workflows.arm_data import ArmData
from sysid_core.workflows.inputs import inputs_of
from sysid_core.workflows.settings import TorqueWeighingSettings


@dataclass(frozen=True, eq=False)
class WeighedByTorques:
    """Payload estimated from joint torques.

    Attributes:
        fit: Payload with the joint torques that it explains.
        drives: Drives with the gains in use.
        gain_sd: Relative standard deviation of each drive gain, shape (n,).
        verdict: Verdict on whether the payload may be sent to a controller.
        true_mass: True mass for comparison [kg]; None: unknown.
        frame: Name of the frame that carries the payload.
    """

    fit: LoadedArm
    drives: DriveTrain
    gain_sd: Array
    verdict: Verdict
    true_mass: float | None = None
    frame: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> tuple[ControllerSetting, ...]:
        """Payload settings for the vendors' controllers; empty without a load, or if the verdict is
        fail.
        """
        estimate = self.fit.estimate
        return ControllerSetting.all_of(
            estimate.values, estimate.covariance, self.verdict, np.eye(4)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for result.json."""
        estimate, truth = self.fit.estimate, self.true_mass
        out: dict[str, Any] = {
            "verdict": self.verdict.to_dict(),
            "schema": "robot_sysid/payload_from_torques/1",
            "inputs": self.inputs,
            "estimate": estimate.to_dict(),
            "drive_gains": self.drives.gains.tolist(),
            "gain_sd": self.gain_sd.tolist(),
            "true_mass": truth,
            "mass_error_percent": None
            if truth is None
            else 100.0 * (float(estimate.values[0]) / truth - 1.0),
            "warnings": [reason.to_dict() for reason in estimate.certify()],
        }
        if estimate.values[0] > 0:
            payload = PayloadSummary.of(estimate)
            out |= {
                "mass": payload.mass,
                "mass_sd": payload.mass_sd,
                "com": payload.com.tolist(),
                "com_sd": payload.com_sd.tolist(),
                "inertia": payload.inertia.tolist(),
                "inertia_sd": payload.inertia_sd.tolist(),
                "controllers": {s.vendor: s.to_dict() for s in self.settings},
            }
        return out

    def write(self, folder: Path) -> None:
        """Write estimate.yaml, report.html and result.json."""
        folder.mkdir(parents=True, exist_ok=True)
        self.fit.estimate.save(folder / "estimate.yaml")
        report = loaded_arm_report(
            self.fit,
            self.verdict,
            frame=self.frame,
            gains=self.drives.gains.tolist(),
            gain_sd=float(self.gain_sd.max()),
            true_mass=self.true_mass,
            settings=self.settings,
        )
        ReportIndex.add(report, folder / "report.html")
        write_json(folder / "result.json", self.to_dict())


def weigh_by_torques(
    settings: TorqueWeighingSettings, progress: Progress = silent
) -> WeighedByTorques:
    """Estimate a payload from joint torques, as the difference from the unloaded arm.

    Args:
        settings: Settings of recordings, robot and fit.
        progress: Function called with each step.

    Raises:
        SysIdError: A file cannot be read, or a recording does not belong to the robot.
    """
    progress(Step.READING)
    columns = None if settings.columns is None else ColumnMap.load(settings.columns)
    gravity = None if columns is None else columns.gravity
    model = RobotModel.from_urdf(settings.robot).holding(lock=settings.lock)
    model = model.mounted(settings.gravity, settings.mount, gravity)
    current, torque = settings.target_current, settings.target_torque
    drives = ArmData.drives(model, columns, gains=not (current or torque))
    if current or torque:
        some = settings.unloaded or settings.loaded
        found = _target_gains(model, some, columns, current, torque)
        drives = drives.with_gains(found.gains)
        gain_sd = np.hypot(  # the map's deviations are those of its own gains
            _gain_deviations(model, None, settings.gain_sd), found.sd / found.gains
        )
    else:
        gain_sd = _gain_deviations(model, columns, settings.gain_sd)

    def read(paths: Sequence[Path]) -> list[Recording]:
        return [ArmData.recording(path, columns, settings.effort_kind) for path in paths]

    loaded, unloaded = read(settings.loaded), read(settings.unloaded)
    for run in (*loaded, *unloaded):
        require_fit(model, run)
    progress(Step.FITTING)
    friction = FrictionModel(drives, FrictionTerm.listed(settings.friction))
    processing = Processing(rate_hz=settings.rate_hz, motion_cutoff_hz=settings.motion_cutoff_hz)
    carrying, bare = (
        [
            (s, run)
            for run in some
            for s in KnownLoad.torque_streams(model, run, friction, processing)
        ]
        for some in (loaded, unloaded)
    )
    fit = PayloadFromTorques(
        model,
        settings.frame,
        friction=friction,
        gain_sd=gain_sd,
        density=DensityPrior(load_shape(settings.shape)) if settings.shape else None,
    ).compare(
        [s for s, _ in carrying],
        [s for s, _ in bare],
        identified=Estimate.load(settings.arm) if settings.arm else None,
        source=", ".join(str(path) for path in settings.loaded),
        runs=[run for _, run in carrying],
    )
    progress(Step.PREDICTING)
    verdict = judge_estimate(fit.estimate) + judge_added(*fit.added)
    carried = CarriedBody(model, settings.frame, fit.estimate.values)
    for run in loaded:
        verdict += carried.judged(run.joints.ordered(model.joint_names).q)
    for robot, runs in ((carried.robot, loaded), (model, unloaded)):
        if runs:
            verdict = verdict + examine(robot, runs, drives).verdict
    progress(Step.WRITING)
    truth = settings.true_mass if np.isfinite(settings.true_mass) else None
    if truth is not None:
        verdict += judge_truth(fit.estimate, truth)
    return WeighedByTorques(
        fit, drives, gain_sd, verdict, truth, settings.frame, inputs_of(settings)
    )


def judge_truth(estimate: Estimate, mass: float) -> Verdict:
    """Judge the estimated mass by the true one [kg]: warning if they differ by more than 3 standard
    deviations.
    """
    value, sd = float(estimate.values[0]), float(estimate.standard_deviations[0])
    if abs(value - mass) <= 3.0 * sd:
        return Verdict()
    off = {"off": value / mass - 1.0, "deviations": abs(value - mass) / sd}
    return Verdict((Reason.warning("true-mass-missed", mass=value, sd=sd, truth=mass, **off),))


def judge_added(mass: float, sd: float) -> Verdict:
    """Judge the mass in the loaded recordings minus that in the unloaded recordings [kg]: failure
    if it is negative, warning if it does not differ from zero.
    """
    if mass < -3.0 * sd:
        return Verdict((Reason.failure("load-negative", mass=-mass, sd=sd),))
    if mass > 3.0 * sd:
        return Verdict()
    return Verdict((Reason.warning("load-nothing", mass=mass, sd=sd),))


def _gain_deviations(model: RobotModel, columns: ColumnMap | None, given: float | None) -> Array:
    """Relative standard deviation of each gain, (n,): the given one, that of the column map, or 5
    %.
    """
    if given is None and columns is not None and columns.gain_sd is not None:
        return np.array([columns.gain_sd[columns.joints.index(j)] for j in model.joint_names])
    return np.full(model.nv, 0.05 if given is None else given)


def _target_gains(
    model: RobotModel,
    recordings: Sequence[Path],
    columns: ColumnMap | None,
    current: str,
    torque: str,
) -> DriveGains:
    """Drive gains that the controller itself uses, from the first recording, in the order of the
    robot's joints.
    """
    if columns is None or not (current and torque):
        raise SignalError(
            "Gains from the controller's targets need a table, a column map and both"
            " --target-current and --target-torque.",
            remedy="For the UR10e tables: --target-current 19-24 --target-torque 25-30.",
        )
    streams = [
        read_table(
            recordings[0], replace(columns, effort=_column_range(text, len(columns.joints)))
        ).joints.ordered(model.joint_names)
        for text in (current, torque)
    ]
    (desired, v), torques = (streams[0].effort, streams[0].v), streams[1].effort
    if desired is None or torques is None or v is None:
        raise SignalError(
            f"'{recordings[0]}' has no velocities.",
            remedy="Record the velocities: they separate the controller's friction compensation from its model torque.",
        )
    return DriveGains.from_targets(desired, torques, v)


def _column_range(text: str, n: int) -> tuple[int, ...]:
    """Columns `19-24`, both ends included."""
    try:
        first, last = (int(part) for part in text.split("-"))
    except ValueError as err:
        raise SignalError(
            f"'{text}' is not a range of columns.", remedy="Write FIRST-LAST, such as 19-24."
        ) from err
    if last - first + 1 != n:
        raise SignalError(
            f"The range {text} contains {last - first + 1} columns, but the robot has {n} joints.",
            remedy="Count the columns from 0, and include both ends in the range.",
        )
    return tuple(range(first, last + 1))
