# SPDX-License-Identifier: Apache-2.0
"""Workflows: the same numbers from arrays, from files and from a worker process; steps in order."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from two_joint_arm import write_arm

from sysid_core.diagnosis.hypotheses import scale_fault
from sysid_core.errors import EstimationError, ModelError
from sysid_core.estimation import Estimate
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.progress import Step
from sysid_core.reasons import Outcome
from sysid_core.robot import RobotModel
from sysid_core.settings import build_settings, plain_settings
from sysid_core.signals import ColumnMap
from sysid_core.validation import Prediction, judge_identification
from sysid_core.workflows import (
    ArmData,
    IdentifiedArm,
    IdentifySettings,
    SequentialSettings,
    ValidatedArm,
    ValidateSettings,
)

FIT = FitSettings(method="wls", friction="usual", differentiate="filter", motion_cutoff_hz=12.0)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> IdentifySettings:
    """The arm's files, and what is asked of them."""
    folder = tmp_path_factory.mktemp("arm")
    write_arm(folder)
    return IdentifySettings(
        recordings=(folder / "train.csv",),
        robot=str(folder / "robot.urdf"),
        columns=folder / "columns.yaml",
        validate=(folder / "validate.csv",),
        fit=FIT,
    )


@pytest.fixture(scope="module")
def from_files(arm):
    steps: list[Step] = []
    return IdentifiedArm.from_files(arm, steps.append), steps


def test_steps_come_in_order_and_their_shares_grow(from_files) -> None:
    _, steps = from_files
    shares = [step.share for step in steps]
    assert shares == sorted(set(shares)) and shares[0] >= 0.0 and shares[-1] < 1.0
    assert {Step.READING, Step.FAULTS, Step.FITTING, Step.PREDICTING} <= set(steps)


def test_arrays_and_files_give_the_same_numbers(arm, from_files) -> None:
    found, _ = from_files
    data = _data(arm, lambda t, e: e)
    again = IdentifiedArm.of(data, FIT)
    assert (again.estimate.values == found.estimate.values).all()
    assert again.verdict == found.verdict
    assert again.errors() == found.errors()


def test_a_worker_process_writes_the_same_result_and_reports_steps(
    arm, from_files, tmp_path
) -> None:
    found, steps = from_files
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"settings": plain_settings(arm), "out": str(tmp_path / "out")}))
    done = subprocess.run(
        [sys.executable, "-m", "sysid_core.workflows", str(job)], capture_output=True, check=False
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == found.verdict.exit_status
    assert [e["step"] for e in events[:-1]] == [step.code for step in steps]
    assert events[-1] == {"outcome": found.verdict.outcome.value}
    values = Estimate.load(tmp_path / "out" / "estimate.yaml").values
    assert values == pytest.approx(found.estimate.values, rel=1e-12)


def test_a_workers_error_is_an_event_with_its_remedy(arm, tmp_path) -> None:
    job = tmp_path / "job.json"
    settings = plain_settings(arm) | {"recordings": [{"path": str(tmp_path / "none.csv")}]}
    job.write_text(json.dumps({"settings": settings, "out": str(tmp_path)}))
    done = subprocess.run(
        [sys.executable, "-m", "sysid_core.workflows", str(job)], capture_output=True, check=False
    )
    event = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 2 and "none.csv" in event["error"] and event["remedy"]


def test_settings_survive_plain_data_and_files_that_moved(tmp_path) -> None:
    settings = IdentifySettings(
        recordings=(tmp_path / "a.csv", tmp_path / "b.csv"),
        robot=str(tmp_path / "robot.urdf"),
        fit=FitSettings(fix=("j1", "friction"), prior_sd=0.1),
        sequential=SequentialSettings(plan=tmp_path / "plan.npz"),
    )
    plain = json.loads(json.dumps(plain_settings(settings)))
    assert build_settings(IdentifySettings, plain) == settings
    moved = {str((tmp_path / n).resolve()): Path("/x") / n for n in ("b.csv", "robot.urdf")}
    there = build_settings(IdentifySettings, plain, moved)
    assert there.recordings == (settings.recordings[0], Path("/x/b.csv"))
    assert there.robot == "/x/robot.urdf"


@pytest.mark.parametrize(
    "given",
    [
        {"method": "magic"},
        {"method": "sequential", "fix": ("j1",)},
        {"rate_hz": 0.0},
        {"torque_cutoff_hz": float("nan")},
        {"prior_sd": 0.0},
    ],
)
def test_settings_that_cant_be_are_refused(given) -> None:
    with pytest.raises(EstimationError) as caught:
        FitSettings(**given)
    assert caught.value.remedy


def _data(arm, change) -> ArmData:
    """The arm's runs with their efforts changed: (K,), (K, n) to (K, n)."""
    model, columns = RobotModel.from_urdf(arm.robot), ColumnMap.load(arm.columns)
    runs = []
    for path in (*arm.recordings, *arm.validate):
        run = ArmData.recording(path, columns)
        effort = change(run.joints.time, run.joints.effort.copy())
        runs.append(replace(run, joints=replace(run.joints, effort=effort)))
    return ArmData.of(model, runs[:1], ArmData.drives(model, columns), FIT, others=runs[1:])


def _late(time, effort, joints, by):
    for j in joints:
        effort[:, j] = np.interp(time - by, time, effort[:, j])
    return effort


def test_late_efforts_are_corrected_and_said(arm) -> None:
    found = IdentifiedArm.of(_data(arm, lambda t, e: _late(t, e, range(2), 0.05)), FIT)
    assert found.identification.processing.delay == pytest.approx(0.05, abs=0.005)
    assert "efforts-late-corrected" in found.verdict.codes
    assert found.validation[0].relative_error() < 0.05


def test_one_joint_that_is_late_is_named(arm) -> None:
    data = _data(arm, lambda t, e: _late(t, e, [1], 0.05))
    found = IdentifiedArm.of(data, FIT)
    (reason,) = (r for r in found.verdict.warnings if r.code == "joint-late")
    assert reason.data["joint"] == "j2"
    assert reason.data["ms"] == pytest.approx(50.0, abs=10.0)
    # If the efforts are in an unknown unit, nothing else is said of them.
    unit = replace(data.examination.ranked[0], hypothesis=scale_fault(0.02), probability=1.0)
    doubted = replace(data.examination, findings=(), ranked=(unit,))
    fitted = [Prediction.of(found.identification, run) for run in data.runs]
    lags = found.fit.lags
    verdict = judge_identification(found.identification, fitted, (), doubted, lags=lags)
    assert "joint-late" not in [r.code for r in verdict.reasons]
    assert verdict.not_judged[0].code == "cannot-tell"


def test_torques_beyond_the_descriptions_limit_fail(arm) -> None:
    def in_milliamperes(time, effort):
        effort[:, 1] *= 1000.0
        return effort

    found = IdentifiedArm.of(_data(arm, in_milliamperes), FIT)
    (reason,) = (r for r in found.verdict.failures if r.code == "efforts-beyond-limit")
    assert reason.data["joints"] == ("j2",)


def test_a_joint_worse_than_its_mean_on_unseen_runs_is_in_the_verdict(arm) -> None:
    data = _data(arm, lambda t, e: e)
    (other,) = data.others
    effort = other.joints.effort.copy()
    effort[:, 1] = 2.0 * np.mean(effort[:, 1]) - effort[:, 1]
    turned = replace(other, joints=replace(other.joints, effort=effort))
    found = IdentifiedArm.of(replace(data, others=(turned,)), FIT)
    (reason,) = (r for r in found.verdict.warnings if r.code == "joint-unexplained")
    assert reason.data["joints"] == ("j2",) and reason.data["r2"][0] < 0.0


@pytest.mark.parametrize("moved", [True, False])
def test_a_joint_worse_than_its_mean_on_fitted_runs_fails_if_it_moved(from_files, moved) -> None:
    found, _ = from_files
    (run,) = found.training
    predicted = run.predicted.copy()
    predicted[:, 1] = 2.0 * np.mean(run.measured[:, 1]) - predicted[:, 1]
    used = found.data.examination.used.copy()
    used[1] = moved
    verdict = judge_identification(
        found.identification,
        [replace(run, predicted=predicted)],
        [],
        replace(found.data.examination, used=used),
    )
    assert ("joint-unexplained" in [r.code for r in verdict.failures]) == moved


def test_a_fitted_recording_cannot_judge(arm, from_files, tmp_path) -> None:
    copy = tmp_path / "another_name.csv"
    copy.write_bytes(arm.recordings[0].read_bytes() + b"# written anew\n")
    with pytest.raises(EstimationError, match="cannot be used for validation"):
        IdentifiedArm.from_files(replace(arm, validate=(copy,)))
    found, _ = from_files
    found.write(tmp_path / "result")
    with pytest.raises(EstimationError, match="was fitted"):
        ValidatedArm.from_files(
            ValidateSettings(
                identified=tmp_path / "result",
                recordings=(copy,),
                robot=arm.robot,
                columns=arm.columns,
            )
        )


def test_a_run_at_rest_is_not_judged(from_files) -> None:
    found, _ = from_files
    (run,) = found.data.others
    still = replace(run.joints, q=0.0 * run.joints.q + 0.3, v=0.0 * run.joints.q)
    judged = ValidatedArm.of(found, [replace(run, joints=still)])
    assert judged.verdict.outcome is Outcome.NOT_JUDGED
    assert judged.verdict.exit_status == 3


def test_a_validation_at_rest_judges_no_export_and_leaves_the_advice(arm, tmp_path) -> None:
    data = _data(arm, lambda t, e: e)
    (run,) = data.others
    still = replace(run.joints, q=0.0 * run.joints.q + 0.3, v=0.0 * run.joints.q)
    found = IdentifiedArm.of(replace(data, others=(replace(run, joints=still),)), FIT)
    assert "runs-at-rest" in {reason.code for reason in found.verdict.not_judged}
    alone = IdentifiedArm.of(replace(data, others=()), FIT)
    assert found.description.error == alone.description.error
    assert not found.description.error.held_out
    for made in found.export(tmp_path / "exports", ["urdf"]):
        assert made.error.inside == found.description.error.inside and not made.error.held_out
    found.write(tmp_path)
    assert "Record another motion" in (tmp_path / "report.html").read_text()


def test_what_was_never_predicted_is_not_judged(from_files) -> None:
    found, _ = from_files
    verdict = judge_identification(found.identification, [], [], found.data.examination)
    assert verdict.outcome is Outcome.NOT_JUDGED and not verdict.ok


def test_a_description_without_masses_is_said_to_be_one(arm) -> None:
    data = _data(arm, lambda t, e: e)
    empty = data.model.with_pi(0.0 * data.model.pi)
    with pytest.raises(ModelError, match="has a mass"):
        IdentifiedArm.of(replace(data, model=empty), replace(FIT, method="auto"))
