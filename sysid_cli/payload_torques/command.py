# SPDX-License-Identifier: Apache-2.0
"""`sysid payload-torques`: what an arm without force-torque sensor carries."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from sysid_cli.app import app, copy_json, errors, require_folder
from sysid_cli.mounting import mounted
from sysid_cli.payload_torques.gains import gain_deviations, target_gains
from sysid_cli.payload_torques.result import print_summary, result_dict
from sysid_cli.payload_torques.settings import PayloadTorquesSettings
from sysid_cli.recordings import load_columns
from sysid_cli.settings import command
from sysid_core.reasons import Verdict, failure, text_of, warning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sysid_core.estimation.loaded_arm import LoadedArm
    from sysid_core.robot import Array, DriveTrain, RobotModel
    from sysid_core.signals import ColumnMap, Recording


@dataclass(frozen=True, eq=False)
class _Data:
    """The arm, its drives and its runs.

    Attributes:
        model: The robot, mounted.
        drives: With the gains in use.
        gain_sd: Relative standard deviation of each gain, shape (n,).
        loaded: Runs with the payload.
        unloaded: Runs without.
    """

    model: RobotModel
    drives: DriveTrain
    gain_sd: Array
    loaded: Sequence[Recording]
    unloaded: Sequence[Recording]


@command(
    app,
    "payload-torques",
    example="sysid payload-torques loaded.mcap --unloaded bare.mcap --robot robot.urdf --frame tool0 --out results/load",
)
def payload_torques(settings: PayloadTorquesSettings) -> None:
    """Weigh a payload by joint torques or currents, as the difference to the unloaded arm."""
    from sysid_cli.verdict import print_verdict

    require_folder(settings.out)
    columns = load_columns(settings.columns)
    model = mounted(_robot(settings.robot), settings.gravity, settings.mount, columns)
    drives = _drives(settings, model, columns)
    with errors.status("reading recordings") as status:
        data = _load(settings, model, drives, columns)
        status.update("weighing the payload")
        fit = _fit(settings, data)
        status.update("looking for faults of data and description")
        verdict = _judge(settings, data, fit)
    truth = settings.true_mass if math.isfinite(settings.true_mass) else None
    text = _write(settings, data, fit, verdict, truth)
    if copy_json(text, settings.json_path):
        raise typer.Exit(verdict.exit_status)
    print_verdict(verdict)
    print_summary(fit, truth, settings.out, said=tuple(map(text_of, verdict.notable)))
    raise typer.Exit(verdict.exit_status)


def _robot(name: str) -> RobotModel:
    from sysid_core.robot import RobotModel

    return RobotModel.from_urdf(name)


def _by_targets(settings: PayloadTorquesSettings) -> bool:
    """Whether the gains are the controller's own."""
    return bool(settings.target_current or settings.target_torque)


def _drives(
    settings: PayloadTorquesSettings, model: RobotModel, columns: ColumnMap | None
) -> DriveTrain:
    from sysid_core.workflows import drives_of

    return drives_of(model, columns, gains=not _by_targets(settings))


def _load(
    settings: PayloadTorquesSettings,
    model: RobotModel,
    drives: DriveTrain,
    columns: ColumnMap | None,
) -> _Data:
    """Gains, then all runs, which must fit the robot."""
    from sysid_core.diagnosis import require_fit
    from sysid_core.workflows import load_recording

    def read(paths: Sequence[Path]) -> list[Recording]:
        return [load_recording(path, columns, settings.effort_kind) for path in paths]

    if _by_targets(settings):
        some = settings.unloaded or settings.loaded
        current, torque = settings.target_current, settings.target_torque
        drives = drives.with_gains(target_gains(model, some, columns, current, torque))
    sd = gain_deviations(model, columns, settings.gain_sd)
    data = _Data(model, drives, sd, read(settings.loaded), read(settings.unloaded))
    for run in (*data.loaded, *data.unloaded):
        require_fit(model, run)
    return data


def _fit(settings: PayloadTorquesSettings, data: _Data) -> LoadedArm:
    """The payload as the difference between loaded and unloaded torques."""
    from sysid_core.estimation import Estimate
    from sysid_core.estimation.arm import Processing
    from sysid_core.estimation.loaded_arm import PayloadFromTorques, torque_streams
    from sysid_core.estimation.payload import DensityPrior
    from sysid_core.robot import FrictionModel
    from sysid_core.robot.shapes import load_shape
    from sysid_core.workflows import friction_terms

    model = data.model
    friction = FrictionModel(data.drives, friction_terms(settings.friction))
    processing = Processing(rate_hz=settings.rate_hz, motion_cutoff_hz=settings.motion_cutoff_hz)
    loaded, unloaded = (
        [(s, run) for run in some for s in torque_streams(model, run, friction, processing)]
        for some in (data.loaded, data.unloaded)
    )
    return PayloadFromTorques(
        model,
        settings.frame,
        friction=friction,
        gain_sd=data.gain_sd,
        reach=settings.reach,
        size=settings.size,
        density=DensityPrior(load_shape(settings.shape)) if settings.shape else None,
    ).compare(
        [s for s, _ in loaded],
        [s for s, _ in unloaded],
        identified=Estimate.load(settings.arm) if settings.arm else None,
        source=", ".join(str(path) for path in settings.loaded),
        runs=[run for _, run in loaded],
    )


def _judge(settings: PayloadTorquesSettings, data: _Data, fit: LoadedArm) -> Verdict:
    from sysid_core.diagnosis import examine, judge_carried_mass
    from sysid_core.estimation.loaded_arm import with_load
    from sysid_core.validation import judge_estimate

    verdict = judge_estimate(fit.estimate) + judge_added(*fit.added)
    for run in data.loaded:
        q = run.joints.ordered(data.model.joint_names).q
        verdict += judge_carried_mass(data.model, settings.frame, fit.estimate.values, q)
    carrying = with_load(data.model, settings.frame, fit.estimate.values)
    for robot, runs in ((carrying, data.loaded), (data.model, data.unloaded)):
        if runs:
            verdict = verdict + examine(robot, runs, data.drives).verdict
    return verdict


def judge_added(mass: float, sd: float) -> Verdict:
    """Fail where loaded runs carry less than unloaded ones, warn where nothing; in kg."""
    if mass < -3.0 * sd:
        return Verdict((failure("load-negative", mass=-mass, sd=sd),))
    if mass > 3.0 * sd:
        return Verdict()
    return Verdict((warning("load-nothing", mass=mass, sd=sd),))


def _write(
    settings: PayloadTorquesSettings,
    data: _Data,
    fit: LoadedArm,
    verdict: Verdict,
    truth: float | None,
) -> str:
    """Estimate, report and result; returns the result's text."""
    from sysid_core.report import loaded_arm_report, payload_sentence, save_and_list

    out, gains = settings.out, data.drives.gains.tolist()
    out.mkdir(parents=True, exist_ok=True)
    fit.estimate.save(out / "estimate.yaml")
    report = loaded_arm_report(fit, gains=gains, gain_sd=float(data.gain_sd.max()), true_mass=truth)
    report.judged(verdict, payload_sentence(fit.estimate))
    save_and_list(report, out / "report.html")
    result = result_dict(fit, gains, data.gain_sd.tolist(), truth)
    text = json.dumps({"verdict": verdict.to_dict()} | result, indent=2)
    (out / "result.json").write_text(text + "\n", encoding="utf-8")
    return text
