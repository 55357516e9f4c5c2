# SPDX-License-Identifier: Apache-2.0
"""Workflows: the same numbers from arrays, from files and from a worker process; steps in order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sysid_core.errors import EstimationError
from sysid_core.estimation import Estimate
from sysid_core.robot import RobotModel
from sysid_core.settings import build_settings, plain_settings
from sysid_core.signals import ColumnMap
from sysid_core.workflows import (
    ArmData,
    FitSettings,
    IdentifySettings,
    SequentialSettings,
    Step,
    drives_of,
    identify,
    identify_data,
    load_recording,
)

EXAMPLES = Path(__file__).parents[2] / "examples" / "ur5"
FIT = FitSettings(method="wls", friction="usual", differentiate="filter", motion_cutoff_hz=12.0)
SETTINGS = IdentifySettings(
    recordings=(EXAMPLES / "train.csv",),
    robot="ur5",
    columns=EXAMPLES / "columns.yaml",
    validate=(EXAMPLES / "validate.csv",),
    fit=FIT,
)


@pytest.fixture(scope="module")
def from_files():
    steps: list[Step] = []
    return identify(SETTINGS, steps.append), steps


def test_steps_come_in_order_and_their_shares_grow(from_files) -> None:
    _, steps = from_files
    shares = [step.share for step in steps]
    assert shares == sorted(set(shares)) and shares[0] >= 0.0 and shares[-1] < 1.0
    assert {Step.READING, Step.FAULTS, Step.FITTING, Step.PREDICTING} <= set(steps)


def test_arrays_and_files_give_the_same_numbers(from_files) -> None:
    found, _ = from_files
    model, columns = RobotModel.from_urdf("ur5"), ColumnMap.load(EXAMPLES / "columns.yaml")
    run, other = (load_recording(EXAMPLES / f"{n}.csv", columns) for n in ("train", "validate"))
    data = ArmData.of(model, [run], drives_of(model, columns), FIT, others=[other])
    again = identify_data(data, FIT)
    assert (again.estimate.values == found.estimate.values).all()
    assert again.verdict == found.verdict
    assert again.errors() == found.errors()


def test_a_worker_process_writes_the_same_result_and_reports_steps(from_files, tmp_path) -> None:
    found, steps = from_files
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"settings": plain_settings(SETTINGS), "out": str(tmp_path / "out")}))
    done = subprocess.run(
        [sys.executable, "-m", "sysid_core.workflows", str(job)], capture_output=True, check=False
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == found.verdict.exit_status
    assert [e["step"] for e in events[:-1]] == [step.code for step in steps]
    assert events[-1] == {"outcome": found.verdict.outcome.value}
    values = Estimate.load(tmp_path / "out" / "estimate.yaml").values
    assert values == pytest.approx(found.estimate.values, rel=1e-12)


def test_a_workers_error_is_an_event_with_its_remedy(tmp_path) -> None:
    job = tmp_path / "job.json"
    settings = plain_settings(SETTINGS) | {"recordings": [{"path": str(tmp_path / "none.csv")}]}
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
