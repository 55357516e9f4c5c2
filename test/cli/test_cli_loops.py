# SPDX-License-Identifier: Apache-2.0
"""Closed chains on the command line."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from sysid_cli.app import app
from sysid_core.errors import ModelError, SysIdError
from sysid_core.estimation import Estimate
from sysid_core.robot.loops import load_closed_chain
from sysid_core.robot.urdf import reference_robots
from sysid_core.signals.bags import BagWriter, build_typestore
from sysid_core.simulation import ClosedChainPlant
from sysid_studies.constrained.robot import sine_trajectory
from sysid_studies.constrained.tracking import ComputedTorque, Gains, recording_of, track

runner = CliRunner()
JOINT_STATE, TIME = "sensor_msgs/msg/JointState", "builtin_interfaces/msg/Time"


def test_loops_check_prints_pure_json_and_writes_a_picture(tmp_path):
    page = tmp_path / "loops.html"
    result = runner.invoke(
        app, ["loops", "check", "own-leg", "--json", "-", "--html", str(page), "--samples", "40"]
    )
    assert result.exit_code == 0, result.output
    numbers = json.loads(result.stdout)
    assert numbers["ranks"] == {
        "open_tree": 101,
        "inertial": 98,
        "with_drives": 120,
        "with_all_joints": 156,
    }
    assert numbers["assembled_in_box"] == 40 and numbers["residual"] <= 1e-12
    assert page.read_text().count("<figure") >= 1


def test_a_missing_file_is_one_clear_error(tmp_path):
    result = runner.invoke(app, ["loops", "check", str(tmp_path / "none.yaml")])
    assert isinstance(result.exception, ModelError)
    assert "none.yaml" in str(result.exception)


@pytest.fixture(scope="module")
def leg_run():
    """The leg with other friction than described, tracked on sines."""
    leg = load_closed_chain("own-leg")
    truth = leg.with_drives({"knee": dataclasses.replace(leg.drive("knee"), F_c=1.1, F_v=0.5)})
    wish = sine_trajectory(leg, leg.box, 1.8, duration=5.0)
    return track(ClosedChainPlant(truth), ComputedTorque(leg, wish, Gains.for_chain(leg)))


def write_bag(
    path: Path, run, passive=("tarsus",), leave_out=(), seed=3, **custom_data: str
) -> Path:
    """Write a bag as a leg's driver and the logger do: joints in alphabetical order, an arm's joint
    on the same topic, and NaN as effort of joints that have an encoder but no motor.
    """
    joints = recording_of(run, np.random.default_rng(seed), passive=passive).joints
    names = sorted({*joints.names, "arm_elbow"} - set(leave_out))
    k = [joints.names.index(name) if name in joints.names else 0 for name in names]
    no_motor = np.array([name in passive for name in names])
    store = build_typestore()
    header, stamp = (store.types[f"{t}"] for t in ("std_msgs/msg/Header", TIME))
    with BagWriter(path, custom_data=custom_data) as writer:
        writer.add_topic("/leg/joint_states", JOINT_STATE)
        for i in range(0, len(run.time), 2):
            t = 1_700_000_000_000_000_000 + int(joints.stamps_ns[i])
            message = store.types[JOINT_STATE](
                header=header(stamp=stamp(sec=t // 10**9, nanosec=t % 10**9), frame_id=""),
                name=names,
                position=joints.q[i, k],
                velocity=joints.v[i, k],
                effort=np.where(no_motor, np.nan, joints.effort[i, k]),
            )
            writer.write("/leg/joint_states", bytes(store.serialize_cdr(message, JOINT_STATE)), t)
    return path


def with_tarsus_encoder(folder: Path, **changes: object) -> Path:
    source = Path(str(reference_robots()["own-leg"])).with_suffix(".yaml")
    raw = yaml.safe_load(source.read_text())
    raw |= {"measured": ["tarsus"], "urdf": str(source.with_suffix(".urdf"))} | changes
    (folder / "loops.yaml").write_text(yaml.safe_dump(raw))
    return folder / "loops.yaml"


def identify_bag(
    bag: Path,
    loops: Path | str,
    out: Path,
    *more: str,
    robot: tuple[str, ...] = ("--robot", "own-leg"),
):
    return runner.invoke(
        app,
        [
            "identify", str(bag), "--loops", str(loops), *robot,
            "--method", "irls", "--friction", "usual", "--motion-cutoff-hz", "12",
            "--fix", "inertials", "--out", str(out), "--json", "-", *more,
        ],
    )  # fmt: skip


@pytest.fixture(scope="module")
def identified(leg_run, tmp_path_factory):
    """The leg's bag, its loops file with an encoder on the tarsus, the result and its folder."""
    folder = tmp_path_factory.mktemp("tarsus")
    bag = write_bag(folder / "bag", leg_run, effort_kind="actuator_torque")
    loops = with_tarsus_encoder(folder)
    return bag, loops, folder / "out", identify_bag(bag, loops, folder / "out", robot=())


def test_the_robot_of_a_loops_file_is_the_urdf_that_it_names(identified):
    _, _, folder, done = identified
    assert done.exit_code == 0, done.output
    inputs = json.loads((folder / "result.json").read_text())["inputs"]
    assert inputs["robot"].endswith("own_leg.urdf")
    assert [file["role"] for file in inputs["files"]].count("robot") == 1
    alone = runner.invoke(app, ["identify", str(folder / "result.json"), "--out", str(folder)])
    assert alone.exit_code and "--robot" in str(alone.exception) + alone.output
    assert (
        "loops of 'own-leg' are ignored"
        in runner.invoke(app, ["identifiability", "own-leg"]).output
    )


def test_an_identified_leg_is_exported_with_its_loops(identified, tmp_path):
    *_, out, _ = identified
    done = runner.invoke(app, ["export", str(out), "--to", "mjcf", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (one,) = json.loads((tmp_path / "proof.json").read_text())["exports"]
    assert max(one["largest_difference"].values()) < 1e-9  # MuJoCo's torques and ours
    plant = mujoco.MjModel.from_xml_path(str(tmp_path / one["files"][0]["path"]))
    leg = load_closed_chain("own-leg")
    assert plant.neq == len(leg.closures) and plant.njnt == leg.n
    assert {plant.actuator(i).name for i in range(plant.nu)} == set(leg.actuated)
    done = runner.invoke(app, ["verify", str(tmp_path / "proof.json")])
    assert done.exit_code == 0, done.output
    refused = runner.invoke(
        app, ["export", str(out), "--to", "mjcf,urdf", "--out", str(tmp_path / "x")]
    )
    assert "has loops" in str(refused.exception) and not (tmp_path / "x").exists()


def test_a_bag_with_a_tarsus_encoder_gives_the_drives(identified, clicks):
    *_, out, result = identified
    assert result.exit_code in (0, 3), result.output  # without another motion, little is judged
    numbers = json.loads(result.stdout)
    assert numbers["rank"] == numbers["structural_rank"] == 24
    estimate = Estimate.load(out / "estimate.yaml")
    for name, true in {"knee.F_c": 1.1, "knee.F_v": 0.5, "hip_yaw.I_a": 0.06}.items():
        sd = estimate.standard_deviations[estimate.names.index(name)]
        assert abs(estimate[name] - true) < max(3.0 * sd, 0.01 * true)
    assert numbers["joints"]["knee"]["training"]["r2"] > 0.98
    assert {"estimate.yaml", "parameters.yaml", "result.json", "report.html"} <= {
        p.name for p in out.iterdir()
    }
    clicks(out / "report.html")


def test_a_result_is_validated_on_another_bag(identified, leg_run, tmp_path):
    _, loops, out, _ = identified
    bag = write_bag(tmp_path / "again", leg_run, seed=4, effort_kind="actuator_torque")
    command = ["validate", str(out), str(bag), "--robot", "own-leg", "--out", str(tmp_path / "v")]
    result = runner.invoke(app, [*command, "--loops", str(loops), "--json", "-"])
    assert result.exit_code == 0, result.output
    numbers = json.loads(result.stdout)
    fitted = json.loads((out / "result.json").read_text())["training"][0]
    assert numbers["runs"][0]["relative_error"] == pytest.approx(
        fitted["relative_error"], rel=0.1
    )  # the same motion, measured with other noise
    assert numbers["verdict"]["outcome"] in ("pass", "warn")
    assert (tmp_path / "v" / "validation.html").exists()
    (out / "parameters.yaml").unlink()
    result = runner.invoke(app, [*command, "--loops", str(loops)])
    assert isinstance(result.exception, SysIdError) and "parameters.yaml" in str(result.exception)


@pytest.mark.parametrize(
    ("leave_out", "changes", "custom_data", "message"),
    [
        (("toe_b",), {}, {"effort_kind": "actuator_torque"}, "toe_b"),
        (("tarsus",), {}, {"effort_kind": "actuator_torque"}, "tarsus"),
        ((), {"measured": ["tarsuss"]}, {"effort_kind": "actuator_torque"}, "tarsuss"),
        ((), {"measured": ["knee"]}, {"effort_kind": "actuator_torque"}, "passive joints"),
        ((), {"actuated": ["hip_roll", "kneee"]}, {"effort_kind": "actuator_torque"}, "kneee"),
        ((), {}, {}, "not torques"),
    ],
)
def test_what_a_bag_lacks_is_named(leg_run, tmp_path, leave_out, changes, custom_data, message):
    bag = write_bag(tmp_path / "bag", leg_run, leave_out=leave_out, **custom_data)
    result = identify_bag(bag, with_tarsus_encoder(tmp_path, **changes), tmp_path / "out")
    assert isinstance(result.exception, SysIdError), result.output
    assert message in str(result.exception)
