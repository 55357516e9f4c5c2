# SPDX-License-Identifier: Apache-2.0
"""Servos of known truth, simulated by MuJoCo, and a real SO-101."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from two_joint_arm import call

import sysid_core
from sysid_core.errors import ModelError, SignalError
from sysid_core.reasons import Outcome
from sysid_core.robot import RobotModel
from sysid_core.servos import (
    Replay,
    ServoModel,
    ServoRecording,
    Term,
    identify_servos,
    read_recordings,
    save_servos,
)
from sysid_core.servos.examine import ServoReason
from sysid_core.servos.fit import COMMON, JointFit
from sysid_core.servos.joints import _kin
from sysid_core.servos.model import JointServo
from sysid_core.servos.recording import taken_by_place

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="bob">
<inertial><origin xyz="0 0 {z}"/><mass value="{mass}"/>
<inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint" type="revolute"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
<limit lower="-4" upper="4" effort="9" velocity="9"/></joint></robot>"""
KP, KV, FRICTION, DELAY = 20.0, 1.0, 0.3, 0.03  # [N m/rad, N m s/rad, N m, s]
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


def recorded(seed: int, seconds: float = 40.0, *, still: bool = False) -> ServoRecording:
    """A motion of the arm above in MuJoCo, at 50 Hz, on 12-bit encoders; its elbow may be held still."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(URDF)
    model.opt.timestep = 0.0005
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.dof_frictionloss[:] = FRICTION
    model.dof_armature[:] = 0.01
    model.dof_damping[:] = KV
    model.dof_solref[:] = (0.002, 1.0)
    model.dof_solimp[:] = (0.99, 0.999, 0.001, 0.5, 2.0)
    data = mujoco.MjData(model)
    t = np.arange(0.0, seconds, 0.02)
    frequencies = rng.uniform(0.05, 0.8, (6, 2))
    phases = rng.uniform(0, 2 * np.pi, (6, 2))
    target = 0.25 * np.sin(2 * np.pi * t[:, None, None] * frequencies + phases).sum(axis=1)
    target[:50] = target[50]
    if still:
        target[:, 1] = 0.3
    q = np.empty_like(target)
    data.qpos[:] = target[0]
    for _ in range(round(2.0 / model.opt.timestep) + 1):  # at rest before it begins
        data.qfrc_applied[:] = KP * (target[0] - data.qpos)
        mujoco.mj_step(model, data)
    start = data.time
    for k, now in enumerate(t):
        while data.time - start < now:
            held = max(int((data.time - start - DELAY) / 0.02), 0)
            data.qfrc_applied[:] = KP * (target[held] - data.qpos)
            mujoco.mj_step(model, data)
        q[k] = data.qpos
    q = np.round(q * 4096 / (2 * np.pi)) * (2 * np.pi / 4096)
    return ServoRecording(f"motion_{seed}", ("lift", "elbow"), t, q, t, target)


@pytest.fixture(scope="module")
def robot() -> RobotModel:
    return RobotModel.from_urdf(URDF)


@pytest.fixture(scope="module")
def motions() -> tuple[ServoRecording, ...]:
    return tuple(recorded(seed) for seed in range(3))


def test_stiffness_friction_and_delay_of_a_simulated_arm_are_found(
    robot: RobotModel, motions: tuple[ServoRecording, ...]
) -> None:
    result = identify_servos(motions[:2], robot)
    assert not result.findings
    for joint in result.joints:
        found, sd = joint.servo.values, joint.servo.deviations
        assert found[Term.COMPLIANCE] == pytest.approx(1 / KP, rel=0.02)
        assert found[Term.FRICTION] == pytest.approx(FRICTION / KP, rel=0.15)
        assert found[Term.DELAY] == pytest.approx(DELAY, abs=0.015)
        assert sd[Term.COMPLIANCE] < 0.2 / KP
    (unseen,) = Replay.all_of(result.model, motions[2:])
    assert Replay.overall([unseen.rms], [1.0]) < 0.004
    assert Replay.overall([unseen.command_rms], [1.0]) > 0.03


def test_the_command_states_the_error_on_recordings_that_were_not_fitted(
    motions: tuple[ServoRecording, ...], tmp_path: Path
) -> None:
    (tmp_path / "arm.urdf").write_text(URDF)
    for r in motions[1:]:
        table = np.column_stack([r.t, r.q, r.target])
        head = "time,q_lift,q_elbow,target_lift,target_elbow"
        np.savetxt(tmp_path / f"{r.name}.csv", table, delimiter=",", header=head, comments="")
    files = ("motion_1.csv", "--robot", "arm.urdf", "--unseen", "motion_2.csv", "--out", "arm")
    given = (tmp_path / x if "." in x or x == "arm" else x for x in files)
    status, output = call("servos", "identify", *given)
    stated = json.loads((tmp_path / "arm" / "result.json").read_text())["unseen"]
    assert stated["rms"] < 0.004 < 0.03 < stated["command_rms"]
    assert status == 0 and f"not fitted: {1e3 * stated['rms']:.2f} mrad" in output
    assert "Verdict: " in output
    page = (tmp_path / "arm" / "report.html").read_text()
    assert f"{1e3 * stated['rms']:.1f} mrad" in page


def test_masses_that_are_all_a_thousand_times_larger_change_only_the_stiffness(
    robot: RobotModel, motions: tuple[ServoRecording, ...]
) -> None:
    light, heavy = (identify_servos(motions[:1], r) for r in (robot, robot.with_pi(1e3 * robot.pi)))
    assert not heavy.findings
    for a, b in zip(light.joints, heavy.joints, strict=True):
        assert b.held_out == pytest.approx(a.held_out, rel=1e-3)
        factor = a.servo.values[Term.COMPLIANCE] / b.servo.values[Term.COMPLIANCE]
        assert factor == pytest.approx(1e3, rel=1e-3)


def test_slow_motions_leave_friction_that_every_servo_has_to_friction(robot: RobotModel) -> None:
    terms = {
        Term.COMPLIANCE: 0.05,
        Term.TIME_CONSTANT: 0.05,
        Term.DELAY: 0.02,
        Term.FRICTION: 0.008,
    }
    terms |= {Term.LOAD_FRICTION: 0.25, Term.BREAKAWAY: 0.01, Term.BREAKAWAY_SPEED: 0.1}
    arm = ServoModel(robot, tuple(JointServo(joint, terms) for joint in robot.joint_names))
    t, rng, tick = np.arange(0.0, 60.0, 0.04), np.random.default_rng(2), 2 * np.pi / 4096

    def motion(speed: float) -> ServoRecording:
        phase = 2 * np.pi * speed * t[:, None] * [0.3, 0.5]
        target = 0.5 * np.sin(phase) + 0.2 * np.sin(2.6 * phase)
        q = arm.simulate(t, target, t, target[0]) + rng.normal(0.0, 0.003, target.shape)
        return ServoRecording("motion", arm.joints, t, np.round(q / tick) * tick, t, target)

    slow, fast = motion(0.3), motion(2.5)
    (again,) = Replay.all_of(identify_servos([slow], robot).model, [fast])
    assert Replay.overall([again.rms], [1.0]) < 0.05 * Replay.overall([again.command_rms], [1.0])


@pytest.mark.parametrize(("term", "value"), [(Term.INVERSE_SPEED, 1 / 0.4), (Term.INTEGRAL, 3.0)])
def test_what_hobby_servos_seldom_have_is_found(
    term: Term, value: float, robot: RobotModel, motions: tuple[ServoRecording, ...]
) -> None:
    terms = {Term.TIME_CONSTANT: 0.05, Term.FRICTION: 0.01, Term.DELAY: 0.02, term: value}
    terms[Term.COMPLIANCE] = 0.05
    arm = ServoModel(robot, tuple(JointServo(joint, terms) for joint in robot.joint_names))
    seen, unseen = (replace(r, q=arm.simulate(r.t, r.target, r.t, r.q[0])) for r in motions[:2])
    result = identify_servos([seen], robot)
    for joint in result.joints:
        assert joint.servo.values[term] == pytest.approx(value, rel=0.05)
    (again,) = Replay.all_of(result.model, [unseen])
    assert Replay.overall([again.rms], [1.0]) < 0.002


@pytest.mark.parametrize("seed", [1, 5])
def test_a_limit_that_no_servo_has_is_not_found(seed: int, robot: RobotModel) -> None:
    """An acceleration limit, the first term tried, replaces inertia and backlash until these are
    tried.
    """
    rng, tick = np.random.default_rng(seed), 2 * np.pi / 4096
    ranges = {
        Term.COMPLIANCE: (0.05, 0.1),
        Term.TIME_CONSTANT: (0.03, 0.08),
        Term.FRICTION: (0.005, 0.03),
        Term.LOAD_FRICTION: (0.05, 0.3),
        Term.INERTIA: (0.0005, 0.002),
        Term.BACKLASH: (0.003, 0.01),
    }
    same = {Term.BREAKAWAY: 0.005, Term.BREAKAWAY_SPEED: 0.1, Term.DELAY: 0.02}
    servos = tuple(
        JointServo(joint, {term: rng.uniform(*limits) for term, limits in ranges.items()} | same)
        for joint in robot.joint_names
    )
    t = np.arange(0.0, 60.0, 0.02)
    frequencies = np.exp(rng.uniform(np.log(0.05), np.log(1.5), (5, 2)))
    phases = rng.uniform(0.0, 2 * np.pi, (5, 2))
    target = 0.12 * np.sin(2 * np.pi * t[:, None, None] * frequencies + phases).sum(axis=1)
    q = ServoModel(robot, servos).simulate(t, target, t, target[0], step=0.001)
    seen = ServoRecording("seen", robot.joint_names, t, np.round(q / tick) * tick, t, target)
    result = identify_servos([seen], robot)
    limits = {Term.INVERSE_ACCELERATION, Term.INVERSE_SPEED, Term.INVERSE_LIMIT, Term.INTEGRAL}
    errors = []
    for found, true in zip(result.model.servos, servos, strict=True):
        assert not limits & set(found.values)
        errors += [
            (found.values[term] - true.values[term]) / found.deviations[term]
            for term in true.values
        ]
    assert np.mean(np.abs(errors) < 2.0) > 0.9
    assert 0.3 < np.median(np.abs(errors)) < 1.0  # as a normal distribution's: 0.67


def test_what_gravity_deflects_a_light_joint_by_is_not_its_zero() -> None:
    light = re.sub('(fore.*?)value="0.3"', r'\1value="0.02"', URDF, flags=re.DOTALL)
    light = RobotModel.from_urdf(light.replace('"0.0005"', '"1e-5"').replace('"0.001"', '"1e-5"'))
    terms = {Term.COMPLIANCE: 0.1, Term.TIME_CONSTANT: 0.05, Term.FRICTION: 0.01, Term.DELAY: 0.02}
    arm = ServoModel(light, tuple(JointServo(joint, terms) for joint in light.joint_names))
    t, tick = np.arange(0.0, 20.0, 0.04), 2 * np.pi / 4096
    target = 0.5 * np.sin(np.pi * t[:, None] * [0.6, 1.0])
    q = np.round(arm.simulate(t, target, t, target[0]) / tick) * tick
    result = identify_servos([ServoRecording("motion", arm.joints, t, q, t, target)], light)
    elbow = result.model.servos[1]
    # A sixtieth of the largest torque deflects it by 2 mrad.
    for term, true in ((Term.COMPLIANCE, 0.1), (Term.ZERO, 0.0)):
        assert abs(elbow.values[term] - true) < 2.0 * elbow.deviations[term]


def test_a_base_on_a_wall_is_saved_with_its_gravity(
    robot: RobotModel, motions: tuple[ServoRecording, ...], tmp_path: Path
) -> None:
    wall = robot.with_gravity([9.81, 0.0, 0.0])
    result = identify_servos(motions[:1], wall)
    save_servos(result, tmp_path)
    r = motions[2]
    again = sysid_core.load(tmp_path).simulate(r.t_target, r.target, r.t, r.q[0])
    np.testing.assert_array_equal(again, result.model.simulate(r.t_target, r.target, r.t, r.q[0]))


def test_what_is_saved_simulates_the_same(
    robot: RobotModel, motions: tuple[ServoRecording, ...], tmp_path: Path
) -> None:
    result = identify_servos(motions[:1], robot)
    save_servos(result, tmp_path)
    r = motions[2]
    again = sysid_core.load(tmp_path).simulate(r.t_target, r.target, r.t, r.q[0])
    np.testing.assert_array_equal(again, result.model.simulate(r.t_target, r.target, r.t, r.q[0]))
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(urdf.read_text().replace('value="0.6"', 'value="0.7"'))
    with pytest.raises(ModelError, match="another version"):
        sysid_core.load(tmp_path)


def test_a_robot_without_masses_is_refused(motions: tuple[ServoRecording, ...]) -> None:
    bare = RobotModel.from_urdf(re.sub(r"<inertial>.*?</inertial>", "", URDF, flags=re.DOTALL))
    with pytest.raises(ModelError, match=r"has a mass .*<inertial>"):
        identify_servos(motions, bare)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: replace(r, target=r.target * [1, -1]), ServoReason.SIGN),
        (lambda r: replace(r, target=r.target[:, ::-1]), ServoReason.ORDER),
        (lambda r: replace(r, q=np.degrees(r.q), target=np.degrees(r.target)), ServoReason.DEGREES),
        (lambda r: replace(r, q=r.q + [0.0, 0.4]), ServoReason.ZERO),
        (lambda r: replace(r, q=r.q * [1, 0]), ServoReason.DEAD),
        (lambda r: replace(r, q=-r.q, target=-r.target), ServoReason.GRAVITY),
        (lambda r: replace(r, q=r.q * [1, -1], target=r.target * [1, -1]), ServoReason.DIRECTION),
        (lambda r: replace(r, q=r.q + [0, 0.6], target=r.target + [0, 0.6]), ServoReason.OFFSET),
        (lambda r: replace(r, q=r.q[:, ::-1], target=r.target[:, ::-1]), ServoReason.EXCHANGED),
    ],
    ids=["sign", "order", "degrees", "zero", "dead", "both signs", "sign of both", "zero of both",
         "both exchanged"],
)  # fmt: skip
def test_a_mutated_recording_is_named(
    change: object, reason: ServoReason, robot: RobotModel, motions: tuple[ServoRecording, ...]
) -> None:
    result = identify_servos([change(motions[0])], robot)  # type: ignore[operator]
    assert not result.fit_for_use
    assert reason in {finding.reason for finding in result.findings}


def test_masses_of_another_arm_are_named(motions: tuple[ServoRecording, ...]) -> None:
    other = URDF.replace('value="0.6"', 'value="0.05"').replace('xyz="0.1 0 0"', 'xyz="1.0 0 0"')
    result = identify_servos(motions[:1], RobotModel.from_urdf(other))
    assert result.outcome is not Outcome.PASS
    (finding,) = (f for f in result.findings if f.reason is ServoReason.MASSES)
    assert finding.value < 0.8


def test_what_gravity_cannot_tell_is_told(
    robot: RobotModel, motions: tuple[ServoRecording, ...]
) -> None:
    upright = RobotModel.from_urdf(URDF.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 1"/>'))
    terms = {Term.TIME_CONSTANT: 0.05, Term.FRICTION: 0.01, Term.DELAY: 0.02}
    arm = ServoModel(upright, tuple(JointServo(joint, terms) for joint in upright.joint_names))
    r = motions[0]
    seen = replace(r, q=arm.simulate(r.t, r.target, r.t, r.target[0]))
    result = identify_servos([seen], upright)
    doubts = {f.joint: f.other for f in result.findings if f.reason is ServoReason.UNTOLD}
    assert set(doubts) == {"lift", "elbow"}
    assert all("direction, zero" in doubt for doubt in doubts.values())
    assert result.fit_for_use and result.outcome is Outcome.WARN


def test_a_joint_that_was_never_sent_elsewhere_is_replayed_by_a_usual_servo(
    robot: RobotModel, motions: tuple[ServoRecording, ...]
) -> None:
    result = identify_servos([recorded(3, still=True)], robot)
    assert {f.joint for f in result.findings if f.reason is ServoReason.UNMOVED} == {"elbow"}
    assert result.outcome is Outcome.WARN
    (unseen,) = Replay.all_of(result.model, motions[2:])
    assert unseen.rms[1] < 0.5 * unseen.command_rms[1]


def test_times_in_milliseconds_are_refused(
    robot: RobotModel, motions: tuple[ServoRecording, ...]
) -> None:
    r = motions[0]
    with pytest.raises(SignalError, match="every 20 s"):
        identify_servos([replace(r, t=r.t * 1e3, t_target=r.t_target * 1e3)], robot)


def test_other_joints_than_the_robots_are_refused(motions: tuple[ServoRecording, ...]) -> None:
    with pytest.raises(SignalError, match="columns"):
        motions[0].matched(RobotModel.from_urdf("puma560"))


def test_columns_are_put_in_the_robots_order(
    robot: RobotModel, motions: tuple[ServoRecording, ...]
) -> None:
    r = motions[0]
    turned = ServoRecording(
        "x", ("ELBOW.pos", "lift.pos"), r.t, r.q[:, ::-1], r.t_target, r.target[:, ::-1]
    )
    np.testing.assert_array_equal(turned.matched(robot).q, r.q)


def test_columns_under_other_names_are_taken_by_their_place_with_a_warning(
    robot: RobotModel, motions: tuple[ServoRecording, ...]
) -> None:
    assert not taken_by_place(motions[0], robot)
    assert not taken_by_place(replace(motions[0], joints=()), robot)
    strange = [replace(r, joints=("a", "b")) for r in motions]
    result = identify_servos(strange, robot)
    assert result.outcome is Outcome.WARN
    (finding,) = (f for f in result.findings if f.reason is ServoReason.NAMES)
    assert "a, b" in finding.sentence


@pytest.mark.slow
def test_a_servo_with_a_speed_limit_is_not_outvoted_by_motions_below_it(shared_data: Path) -> None:
    # The fast half of the runs reaches the limit; the slow ones are replayed well without it.
    path = shared_data / "kscale_sts3215_pendulum" / "runs.npz"
    mass, arm, kp = 0.969, 0.15, 32
    with np.load(path) as content:
        chosen = np.isclose(content["mass"], mass) & (content["arm"] == arm)
        chosen &= (content["kp"] == kp) & (content["trajectory"] != "lift_and_drop")
        kinds, files = content["trajectory"][chosen], content["filename"][chosen]
    names = [str(np.sort(files[kinds == kind])[0]) for kind in np.unique(kinds)]
    runs = read_recordings([path], motions=[Path(name).stem for name in names])
    result = identify_servos(runs, RobotModel.from_urdf(PENDULUM.format(z=-arm, mass=mass)))
    (servo,) = result.model.servos
    assert 4.0 < 1.0 / servo.values[Term.INVERSE_SPEED] < 6.0  # [rad/s], as other gains show it
    errors = [r.rms for r in Replay.all_of(result.model, runs)]
    assert Replay.overall(errors, [r.duration for r in runs]) < 0.04


@pytest.mark.slow
def test_a_real_so101_is_replayed_from_ordinary_motion(shared_data: Path) -> None:
    motions = read_recordings([shared_data / "so101_sage" / "motions.npz"])
    # Ordinary work at 25 Hz.
    fitted = [
        replace(r, t=r.t[::2], q=r.q[::2], t_target=r.t_target[::2], target=r.target[::2])
        for r in motions
        if r.name == "random_waypoints"
    ]
    unseen = [r for r in motions if r.name in ("symmetric_motion", "triangle_wave", "wave_motion")]
    result = identify_servos(fitted, RobotModel.from_urdf("so101"))
    replays = Replay.all_of(result.model, unseen)
    assert Replay.overall([r.rms for r in replays], [r.recording.duration for r in replays]) < 0.012
    assert json.dumps([f.sentence for f in result.findings])


def test_conventions_that_gravity_does_not_check_are_shown_once_for_all_joints() -> None:
    from sysid_core.servos.examine import Finding, ServoReason, joined

    dead = Finding(ServoReason.DEAD, "roll", 0.3)
    told = [Finding(ServoReason.UNTOLD, j, 1.0, "zero") for j in ("lift", "elbow")]
    pan = Finding(ServoReason.UNTOLD, "pan", 2.0, "direction and zero")
    shown = joined([dead, told[0], pan, told[1]])
    assert [f.joint for f in shown] == ["roll", "lift, elbow", "pan"]
    assert shown[1].sentence.startswith(
        "The gravity torque on lift, elbow is too small to check the following: zero."
    )


def test_equal_drives_do_not_make_their_mean_better_known_than_one_of_them() -> None:
    fit = JointFit({Term.DELAY: 0.02}, 1.0, 100.0, COMMON, 0.0)
    prior = _kin([fit] * 6, [{Term.DELAY: 0.003}] * 6)[Term.DELAY]
    assert (prior.mean, prior.deviation) == (pytest.approx(0.02), pytest.approx(0.003))
