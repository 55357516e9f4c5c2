# SPDX-License-Identifier: Apache-2.0
"""The door to MuJoCo: replay beside our own simulation, and what it says that it leaves out."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml
from two_joint_arm import call

from sysid_core.errors import EstimationError, ModelError, SignalError
from sysid_core.export import Target, write_mjcf
from sysid_core.export.readers import CReader
from sysid_core.report import moving_robot
from sysid_core.robot import RobotModel
from sysid_core.servos import Replay, ServoMjcf, ServoModel, ServoRecording, Term
from sysid_core.servos.model import JointServo
from sysid_core.simulation import SensorNoise, SimulatedRobot
from sysid_core.workflows import ServoFiles, ServoSettings, inputs_of
from sysid_core.workflows.servo_export import servo_differences

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.15 0 0"/><mass value="0.6"/>
<inertia ixx="0.001" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.1 0 0"/><mass value="0.3"/>
<inertia ixx="0.0005" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="9" velocity="9"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="9" velocity="9"/></joint></robot>"""

SERVO = {
    Term.COMPLIANCE: 0.05,
    Term.TIME_CONSTANT: 0.05,
    Term.FRICTION: 0.015,
    Term.INERTIA: 0.0005,
    Term.INVERSE_LIMIT: 5.0,
    Term.DELAY: 0.03,
}


JOINTS = ("lift", "elbow")


def model_of(**more: float) -> ServoModel:
    values = SERVO | {Term(name): x for name, x in more.items()}
    return ServoModel(RobotModel.from_urdf(URDF), tuple(JointServo(j, values) for j in JOINTS))


def commands(t: np.ndarray) -> np.ndarray:
    phase = 2 * np.pi * t[:, None] * [0.3, 0.5]
    return 0.5 * np.sin(phase) + 0.2 * np.sin(2.6 * phase)


def replayed(model: ServoModel) -> tuple[float, float]:
    """How far MuJoCo's motion and the commands are from our own simulation, as rms [rad]."""
    t = np.arange(0.0, 20.0, 0.02)
    target = commands(t)
    ours = model.simulate(t, target, t, target[0])
    recording = ServoRecording("motion", model.joints, t, ours, t, target)
    with tempfile.TemporaryDirectory() as folder:
        path = write_mjcf(Path(folder) / "arm.xml", ServoMjcf.of(model).text)
        (theirs,) = ServoMjcf.replay(path, model, [Replay(recording, ours)])
    return tuple(float(np.sqrt(np.mean(x**2))) for x in (theirs.rms, target - ours))


def test_mujoco_replays_an_arm_near_our_own_simulation() -> None:
    missed, followed = replayed(model_of())
    assert missed < 0.1 * followed


def test_a_light_damped_joint_that_moves_drags_no_sticking_one_in_mujoco(tmp_path: Path) -> None:
    robot = RobotModel.from_urdf(
        URDF.replace('axis xyz="0 1 0"', 'axis xyz="0 0 1"').replace("0.3", "0.01")
    )
    values = {t: x for t, x in SERVO.items() if t not in (Term.INERTIA, Term.DELAY)}
    model = ServoModel(robot, tuple(JointServo(j, values) for j in JOINTS))
    t = np.arange(0.0, 10.0, 0.02)
    target = np.stack([np.full(len(t), 0.012), 0.5 * np.sin(t)], axis=1)
    ours = model.simulate(t, target, t, [0.0, 0.0])
    recording = ServoRecording("motion", JOINTS, t, ours, t, target)
    path = write_mjcf(tmp_path / "arm.xml", ServoMjcf.of(model).text)
    (theirs,) = ServoMjcf.replay(path, model, [Replay(recording, ours)])
    assert np.ptp(ours[:, 0]) == 0.0 and np.ptp(ours[:, 1]) > 0.5
    assert np.ptp(theirs.q[:, 0]) < 1e-3
    assert any("Armature" in said for said in ServoMjcf.of(model).sentences)


def written_arm(folder: Path) -> Path:
    """A result of servos with a motion, and its exported file."""
    joints = [{"joint": j, "terms": {k.value: x for k, x in SERVO.items()}} for j in JOINTS]
    model = {"schema": "robot_sysid/servos/1", "urdf": "robot.urdf", "joints": joints}
    (folder / "servos.yaml").write_text(yaml.safe_dump(model))
    (folder / "robot.urdf").write_text(URDF)
    t = np.arange(0.0, 10.0, 0.02)
    target = commands(t)
    names = ",".join(["t", *(f"q_{j}" for j in JOINTS), *(f"target_{j}" for j in JOINTS)])
    table = np.column_stack([t, model_of().simulate(t, target, t, target[0]), target])
    np.savetxt(folder / "run.csv", table, delimiter=",", header=names, comments="")
    settings = ServoSettings(files=ServoFiles(recordings=(folder / "run.csv",)), robot="")
    (folder / "result.json").write_text(json.dumps({"inputs": inputs_of(settings)}))
    assert call("servos", "export", folder, "--out", folder / "arm.xml")[0] == 0
    return folder / "arm.xml"


def test_an_exported_file_is_judged_on_recordings(tmp_path: Path) -> None:
    mjcf, out = written_arm(tmp_path), tmp_path / "errors.json"
    judged = ("servos", "simulate", tmp_path, tmp_path / "run.csv", "--mjcf", mjcf)
    assert call(*judged, "--json", out)[0] == 0
    errors = json.loads(out.read_text())
    assert errors["rms"] < 1e-4 < errors["mjcf_rms"] < 0.1 * errors["command_rms"]
    status, output = call(*judged)
    assert status == 0 and f"in MuJoCo: {1e3 * errors['mjcf_rms']:.2f} mrad" in output
    mjcf.write_text(mjcf.read_text().replace("elbow", "wrist"))
    with pytest.raises(ModelError, match="elbow"):
        call(*judged)


def test_a_proof_compares_torques_and_motions_and_is_repeated(tmp_path: Path) -> None:
    mjcf = written_arm(tmp_path)
    proof = json.loads((tmp_path / "arm.xml.proof.json").read_text())
    (exported,) = proof["exports"]
    assert max(exported["largest_difference"].values()) < 1e-12
    errors = exported["errors"]
    assert errors["inside"] < 1e-4 < errors["exported"] < 0.02
    assert errors["apart"] == pytest.approx(errors["exported"], rel=0.01)
    assert errors["apart"] < 0.1 * errors["command"]
    status, output = call("verify", tmp_path / "arm.xml.proof.json")
    assert status == 0 and "mjcf: errors of the identified model" in output
    for edited in ({"tolerance": 1.0}, {"losses": ["none"]}):
        forged = proof | {"exports": [exported | edited]}
        (tmp_path / "arm.xml.proof.json").write_text(json.dumps(forged))
        assert call("verify", tmp_path / "arm.xml.proof.json")[0] == 1
    (tmp_path / "arm.xml.proof.json").write_text(json.dumps(proof))
    (tmp_path / "run.csv").rename(tmp_path / "moved.csv")
    with pytest.raises(EstimationError, match="was not found"):
        call("verify", tmp_path / "arm.xml.proof.json")
    output = call("servos", "export", tmp_path, "--out", mjcf)[1]
    assert "position errors are not stated" in output
    assert call("verify", tmp_path / "arm.xml.proof.json")[0] == 0
    model = yaml.safe_load((tmp_path / "servos.yaml").read_text())
    model["joints"][0]["terms"]["inertia"] = 0.001
    (tmp_path / "servos.yaml").write_text(yaml.safe_dump(model))
    assert call("verify", tmp_path / "arm.xml.proof.json")[0] == 1


@pytest.mark.parametrize("wrong", ["kp", "armature", "damping", "frictionloss", "forcerange"])
def test_a_file_with_a_wrong_term_has_other_torques(tmp_path: Path, wrong: str) -> None:
    model = model_of(breakaway=0.004)
    text = ServoMjcf.of(model).text
    changed = re.sub(
        f'{wrong}="([^"]*)"',
        f'{wrong}="0.1 1"' if "range" in wrong else f'{wrong}="0.1"',
        text,
        count=1,
    )
    path = write_mjcf(tmp_path / "arm.xml", changed)
    assert (
        changed != text and max(servo_differences(model, Target.MJCF, path, 100)[0].values()) > 1e-3
    )


def test_actuators_for_isaac_lab_are_those_of_the_mjcf(tmp_path: Path) -> None:
    plant = mujoco.MjModel.from_xml_path(str(written_arm(tmp_path)))
    made = yaml.safe_load((tmp_path / "arm_actuators.yaml").read_text())
    assert made["delays"] == dict.fromkeys(JOINTS, SERVO[Term.DELAY])
    for joint, row in made["actuators"].items():
        dof, drive = plant.joint(joint).dofadr[0], plant.actuator(joint)
        assert row["stiffness"] == pytest.approx(drive.gainprm[0], rel=1e-12)
        assert row["effort_limit_sim"] == pytest.approx(drive.forcerange[1], rel=1e-12)
        assert row["armature"] == pytest.approx(plant.dof_armature[dof], rel=1e-12)
        assert row["friction"] == row["dynamic_friction"]
        assert row["friction"] == pytest.approx(plant.dof_frictionloss[dof], rel=1e-12)
        assert row["viscous_friction"] == pytest.approx(plant.dof_damping[dof], rel=1e-12)
        assert row["damping"] == 0.0


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_commands_with_the_torques_of_the_c_code_lead_servos_along_a_motion(tmp_path: Path) -> None:
    written_arm(tmp_path)
    status, output = call("servos", "export", tmp_path, "--out", tmp_path / "arm.c")
    assert status == 0 and "arm_actuators.yaml" in output
    for proof in ("arm.c.proof.json", "arm.xml.proof.json"):  # of both files
        assert call("verify", tmp_path / proof)[0] == 0
    values = yaml.safe_load((tmp_path / "arm_actuators.yaml").read_text())["actuators"]
    K = np.array([values[joint]["stiffness"] for joint in JOINTS])
    t = np.arange(0.0, 10.0, 0.01)
    w = 2 * np.pi * np.array([0.3, 0.5])
    q, v = 0.4 * np.sin(w * t[:, None]), 0.4 * w * np.cos(w * t[:, None])
    target = q + CReader(tmp_path / "arm.c", 2, 2).torques(q, v, -(w**2) * q) / K

    def missed(target: np.ndarray) -> float:
        off = model_of().simulate(t, target, t, q[0])[100:] - q[97:-3]  # after a delay of 30 ms
        return float(np.sqrt(np.mean(off**2)))

    assert missed(target) < 0.1 * missed(q)


def test_friction_of_loads_and_of_rest_is_held_by_a_constant() -> None:
    model = model_of(load_friction=0.3, breakaway=0.005, breakaway_speed=0.1)
    loads = model.tree.loads(np.zeros((1, 2))).gravity(np.zeros((1, 2)))[0]
    known = tuple(replace(s, load=abs(x)) for s, x in zip(model.servos, loads, strict=True))
    missed, followed = replayed(replace(model, servos=known))
    assert (
        missed < 0.15 * followed
    )  # gravity's torque varies between a half and the whole of its mean
    assert missed < 0.5 * replayed(model)[0]


def test_what_mujoco_cannot_hold_is_said() -> None:
    out = ServoMjcf.of(model_of(breakaway=0.004, inverse_acceleration=0.02))
    assert out.lost["lift"] == {Term.INVERSE_ACCELERATION: 0.02}
    assert out.constant["lift"] == {Term.BREAKAWAY: 0.004}
    assert any("profile's acceleration" in s and "lift 0.02" in s for s in out.sentences)
    assert any("at rest" in s and "constant" in s for s in out.sentences)


def test_a_stiffness_that_gravity_does_not_show_is_assumed_aloud_or_refused() -> None:
    robot = RobotModel.from_urdf(URDF)
    loose = JointServo("elbow", {Term.TIME_CONSTANT: 0.05})
    out = ServoMjcf.of(ServoModel(robot, (JointServo("lift", SERVO), loose)))
    assert out.assumed == {"elbow": pytest.approx(20.0)}
    with pytest.raises(ModelError, match="stiffness"):
        ServoMjcf.of(ServoModel(robot, (loose,)))


def test_a_page_shows_the_measured_arm_within_the_simulated_one() -> None:
    robot = RobotModel.from_urdf(URDF)
    q = np.zeros((5, 2))
    figure = moving_robot(robot, np.arange(5.0), q, beside=q + [0.0, 0.3])
    simulated, measured = figure.frames[-1]["data"]
    np.testing.assert_allclose(simulated["z"][[0, 1]], measured["z"][[0, 1]])
    turned = moving_robot(robot, np.arange(5.0), q + [0.0, 0.3]).frames[-1]["data"][0]
    np.testing.assert_array_equal(measured["z"], turned["z"])


def test_a_simulated_servo_arm_sags_lags_and_plays_as_its_terms_say() -> None:
    plant = ServoMjcf.plant(model_of(zero=0.01, backlash=0.005))
    targets = np.array([0.2, 0.3])
    plant.reset(targets)
    late = [plant.step(targets + 0.1).q for _ in range(10)]  # 20 ms of 30 ms of dead time
    sent = plant.mj_data.ctrl.copy()
    for _ in range(2000):
        rests = plant.step(targets + 0.1)
    np.testing.assert_allclose(sent, targets + 0.09)
    assert np.abs(late[-1] - targets).max() < 0.02
    off = rests.q - (targets + 0.09)
    assert off[0] > 0.03 and np.abs(rests.v).max() < 1e-3  # gravity pulls the lifted arm down
    with pytest.raises(SignalError, match="no efforts"):
        robot = SimulatedRobot(plant, targets, SensorNoise(), np.random.default_rng(0))
        robot.command_effort(targets)
