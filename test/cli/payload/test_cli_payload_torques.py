# SPDX-License-Identifier: Apache-2.0
"""`sysid payload-torques` on a real arm's tables, and its refusals."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_cli.payload_torques import print_summary
from sysid_core.errors import ModelError, SignalError
from sysid_core.estimation import Estimate
from sysid_core.reasons import Outcome
from sysid_core.workflows import TorqueWeighingSettings, weigh_by_torques
from sysid_core.workflows.torque_weighing import judge_added, judge_truth

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_ur10e_payload_is_weighed_from_the_command_line(
    shared_data: Path, tmp_path: Path, clicks
) -> None:
    runs = shared_data / "ur10e/identification"
    done = CliRunner().invoke(
        app,
        [
            "payload-torques",
            str(runs / "ur-20_02_19_14harm50secLoad.csv"),
            "--unloaded",
            str(runs / "ur-20_02_19_14harm50sec.csv"),
            "--robot",
            str(shared_data / "ur10e/ur10e.urdf"),
            "--columns",
            str(ROOT / "config/columns/ur10e_csv.yaml"),
            "--frame",
            "tool0",
            "--target-current",
            "19-24",
            "--target-torque",
            "25-30",
            "--true-mass",
            "2.805",
            "--out",
            str(tmp_path),
            "--json",
            "-",
        ],
    )
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert abs(result["mass"] - 2.805) < 2 * result["mass_sd"]
    assert result == json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert Estimate.load(tmp_path / "estimate.yaml").robot == "ur10e"
    clicks(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "from the true 2.805 kg" in page
    assert 'src="http' not in page


def test_a_true_mass_beyond_three_deviations_is_in_the_verdict() -> None:
    example = ROOT / "examples" / "ur5"
    weighed = weigh_by_torques(
        TorqueWeighingSettings(
            loaded=(example / "gripper.csv",), unloaded=(example / "train.csv",), robot="ur5",
            frame="tool0", columns=example / "columns.yaml", true_mass=0.95,
        )
    )  # fmt: skip
    assert "true-mass-missed" not in weighed.verdict.codes
    mass, sd = (
        float(x[0]) for x in (weighed.fit.estimate.values, weighed.fit.estimate.standard_deviations)
    )
    assert judge_truth(weighed.fit.estimate, mass + 2.9 * sd).codes == ()
    judged = judge_truth(weighed.fit.estimate, mass + 3.1 * sd)
    assert judged.outcome is Outcome.WARN and judged.codes == ("true-mass-missed",)


@pytest.mark.parametrize("text", ["19", "19-23", "a-b"])
def test_wrong_column_ranges_are_refused(text: str) -> None:
    example = ROOT / "examples" / "ur5"
    settings = TorqueWeighingSettings(
        loaded=(example / "gripper.csv",), robot="ur5", frame="tool0",
        columns=example / "columns.yaml", target_current=text, target_torque=text,
    )  # fmt: skip
    with pytest.raises(SignalError, match=text):
        weigh_by_torques(settings)


def test_a_joint_is_locked_by_its_name() -> None:
    settings = TorqueWeighingSettings(
        loaded=(ROOT / "examples" / "ur5" / "gripper.csv",),
        robot="ur5",
        frame="tool0",
        lock=("finger=0.02",),
    )
    with pytest.raises(ModelError, match="'finger' fits no joint"):
        weigh_by_torques(settings)


def test_loaded_runs_that_carry_less_than_the_unloaded_ones_fail() -> None:
    assert judge_added(-2.8, 0.1).codes == ("load-negative",) and not judge_added(-2.8, 0.1).ok
    assert judge_added(2.8, 0.1).outcome is Outcome.PASS


def test_a_payload_that_the_controller_has_subtracted_is_supposed() -> None:
    found = judge_added(-0.2, 0.1)
    assert found.outcome is Outcome.WARN and "load-nothing" in found.codes


def test_what_the_verdict_has_said_is_not_said_again(capsys) -> None:
    estimate = SimpleNamespace(
        robot="arm", method="MAP", rows=list, notes=("Gains drift.", "Few data.", "Few data.")
    )
    print_summary(SimpleNamespace(estimate=estimate), None, Path("out"), said=("Gains drift.",))
    printed = capsys.readouterr().out
    assert "Gains drift." not in printed and printed.count("Few data.") == 1
