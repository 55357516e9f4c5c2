# SPDX-License-Identifier: Apache-2.0
"""Faults of recordings and descriptions are found by what they do to the torques."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sysid_core.diagnosis import (
    collect_samples,
    compare_with_torques,
    effort_faults,
    estimate_gravity,
    examine,
    judge_carried_mass,
    mount_of,
    require_fit,
    stream_faults,
    wrong_scale,
)
from sysid_core.errors import ModelError, SignalError
from sysid_core.judgement import Judgement, Outcome
from sysid_core.robot import DriveTrain, RobotModel, gravity_of_mount, with_gravity
from sysid_core.signals import EffortKind, JointStream, Recording

RATE = 100.0


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf("ur5")


def record(model: RobotModel, seconds: float = 20.0, seed: int = 3) -> Recording:
    """A run of an arm whose masses differ from the URDF's by 10 %, with friction and noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    A, B = rng.normal(size=(2, 5, model.nv)) * 0.35
    wave, quad = np.sin(t[:, None] * w), np.cos(t[:, None] * w)
    q, v, a = (
        wave @ A + quad @ B,
        (quad * w) @ A - (wave * w) @ B,
        -((wave * w**2) @ A) - (quad * w**2) @ B,
    )
    true = model.with_pi(model.pi * rng.uniform(0.9, 1.1, (model.n_bodies, 1)))
    tau = true.inverse_dynamics(q, v, a) + np.tanh(v / 0.01) * 2.0 + 1.5 * v + 0.2 * a
    tau += 0.2 * rng.normal(size=tau.shape)
    stamps = np.round(t * 1e9).astype(np.int64)
    stream = JointStream(model.joint_names, stamps, q, v, None, tau, EffortKind.LINK_TORQUE)
    return Recording(stream, source="simulated")


@pytest.fixture(scope="module")
def run(model: RobotModel) -> Recording:
    return record(model)


def changed(run: Recording, **columns: object) -> Recording:
    return replace(run, joints=replace(run.joints, **columns))


def judged(model: RobotModel, run: Recording) -> Judgement:
    return examine(model, [run], DriveTrain.direct(model.joint_names), count=150).judgement


def test_data_and_description_that_agree_pass(model, run):
    assert judged(model, run).outcome is Outcome.PASS


@pytest.mark.parametrize("mount", [(np.pi, 0.0, 0.0), (0.6, 0.3, 0.0)])
def test_gravity_is_found_from_the_torques(model, mount):
    true = gravity_of_mount(mount)
    run = record(with_gravity(model, true))
    found = estimate_gravity(collect_samples(model, [run], DriveTrain.direct(model.joint_names)))
    angle = np.arccos(np.clip(found.gravity @ true / 9.81**2, -1.0, 1.0))
    assert np.degrees(angle) < 0.5
    assert found.differs
    assert "--gravity" in judged(model, run).failures[0]


def test_a_mount_and_its_gravity_belong_together():
    gravity = gravity_of_mount((0.4, -0.7, 1.0))
    np.testing.assert_allclose(gravity_of_mount(mount_of(gravity)), gravity, atol=1e-12)
    with pytest.raises(ModelError, match="three angles"):
        gravity_of_mount((0.0, np.nan, 0.0))
    with pytest.raises(ModelError, match="can't be"):
        with_gravity(RobotModel.from_urdf("ur5"), (0.0, 0.0, 98.1))


def swapped(values: np.ndarray, i: int, j: int) -> np.ndarray:
    out = values.copy()
    out[:, [i, j]] = out[:, [j, i]]
    return out


def negated(values: np.ndarray, j: int) -> np.ndarray:
    out = values.copy()
    out[:, j] *= -1.0
    return out


FAULTS = {
    "The efforts of all joints have the opposite sign": lambda s: {"effort": -s.effort},
    "The effort of 'elbow_joint' has the opposite sign": lambda s: {"effort": negated(s.effort, 2)},
    "The position of 'shoulder_lift_joint' counts": lambda s: {
        "q": negated(s.q, 1),
        "v": negated(s.v, 1),
    },
    "The efforts are in another order": lambda s: {"effort": swapped(s.effort, 1, 2)},
    "columns of 'shoulder_lift_joint' and 'elbow_joint' are exchanged": lambda s: {
        key: swapped(getattr(s, key), 1, 2) for key in ("q", "v", "effort")
    },
    "The zero of 'shoulder_lift_joint' is off: -90°": lambda s: {
        "q": s.q + np.eye(6)[1] * np.pi / 2
    },
    "milliamperes or N mm": lambda s: {"effort": 1000.0 * s.effort},
    "kgf m (0.102 to the N m) or motor currents declared": lambda s: {"effort": s.effort / 9.81},
    "kgf cm (10.2 to the N m) or lbf in (8.85": lambda s: {"effort": 8.85 * s.effort},
    "The torque of 'elbow_joint' is": lambda s: {"effort": s.effort * (1.0 + 4.0 * np.eye(6)[2])},
    "2 times as fast as they should": lambda s: {"stamps_ns": 2 * s.stamps_ns, "v": None},
    "is no model": lambda s: {"effort": np.random.default_rng(0).normal(size=s.effort.shape)},
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(model, run, sentence):
    found = judged(model, changed(run, **FAULTS[sentence](run.joints)))
    assert found.outcome is Outcome.FAIL
    assert sentence in found.text


@pytest.mark.parametrize("joint", [0, 2])
def test_a_joint_without_efforts_is_left_out_of_all_comparisons(model, run, joint):
    efforts = negated(run.joints.effort, 1) * (np.arange(6) != joint)
    assert "'shoulder_lift_joint'" in judged(model, changed(run, effort=efforts)).text


def test_gravity_compensated_efforts_are_named(model, run):
    s = run.joints
    weight = model.inverse_dynamics(s.q, 0.0 * s.q, 0.0 * s.q)
    found = judged(model, changed(run, effort=s.effort - weight))
    assert found.outcome is Outcome.FAIL
    assert "lack the robot's weight" in found.text


def test_spikes_saturation_and_dead_channels_are_seen_without_a_model(run):
    s = run.joints
    effort = np.array(s.effort)
    effort[700, 1] = 1e6
    effort[:, 2] = np.clip(effort[:, 2], -4.0, None)
    effort[:, 3] = 1.0
    found = effort_faults(replace(s, effort=effort))
    with pytest.raises(SignalError, match="No joint has an effort that varies"):
        dead_run = Recording(replace(s, effort=np.ones_like(effort)))
        collect_samples(RobotModel.from_urdf("ur5"), [dead_run], DriveTrain.direct(s.names))
    (saturated, dead), (spikes,) = found.failures, found.warnings
    assert "1 efforts of 'shoulder_lift_joint' are spikes" in spikes and "irls" in spikes
    assert "'elbow_joint' is at -4" in saturated and "constant at 1" in dead
    assert not effort_faults(s).reasons


def test_velocities_ten_percent_off_are_refused(model, run):
    require_fit(model, run)
    with pytest.raises(SignalError, match="times the derivative"):
        require_fit(model, changed(run, v=1.3 * run.joints.v))
    with pytest.raises(SignalError, match="has no efforts"):
        require_fit(model, changed(run, effort=None))
    with pytest.raises(SignalError, match=r"1e\+308 in row 8"):
        require_fit(
            model,
            changed(
                run, effort=run.joints.effort + 1e308 * (np.arange(len(run.joints)) == 7)[:, None]
            ),
        )


def test_what_nothing_can_be_learned_from_is_said(run):
    s = run.joints
    assert not stream_faults(s)
    assert "Only 40 samples" in stream_faults(s.select(slice(40)))[0]
    assert "No joint moves" in stream_faults(replace(s, q=0.0 * s.q))[0]
    names = ("joint1",) * 6
    assert "Several joints are called joint1" in stream_faults(replace(s, names=names))[0]
    q = np.array(s.q)
    q[:200] = np.nan
    assert "10 % of the positions are NaN" in stream_faults(replace(s, q=q))[0]


def test_judgements_add_up():
    doubt, failure = Judgement((), ("slow",)), Judgement(("wrong sign",), ("slow",))
    assert (doubt + failure).reasons == ("wrong sign", "slow")
    assert doubt.outcome is Outcome.WARN and doubt.exit_status == 0
    assert failure.outcome is Outcome.FAIL and failure.exit_status == 1
    assert Judgement(basis="held out").text == "pass: held out"


def ar5(data: Path) -> tuple[RobotModel, Recording]:
    folder = data / "rokae_ar5_real"
    model = RobotModel.from_urdf(folder / "AR5-5_07R-W4C4A2.urdf")
    rows = np.loadtxt(folder / "dynamics_identification_data_real.csv", delimiter=",", skiprows=1)
    stamps = np.round(rows[:, 0] * 1e9).astype(np.int64)
    q, v, tau = rows[:, 1:8], rows[:, 8:15], rows[:, 22:29]
    stream = JointStream(model.joint_names, stamps, q, v, None, tau, EffortKind.LINK_TORQUE)
    return model, Recording(stream, source="ar5")


def test_the_real_arm_on_its_side_is_found_out(shared_data):
    """Rokae AR5: gravity along +x, where its URDF says -z; 1.2 degrees off the axis by the data."""
    model, run = ar5(shared_data)
    drives = DriveTrain.direct(model.joint_names)
    found = estimate_gravity(collect_samples(model, [run], drives))
    assert found.differs
    assert np.degrees(np.arccos(found.gravity[0] / 9.81)) < 1.5
    assert np.degrees(found.angle_sd) < 0.1
    assert found.unexplained < 0.01 < 0.3 < found.unexplained_before
    assert "mounted" in judged(model, run).failures[0]
    assert judged(with_gravity(model, found.gravity), run).ok


def test_one_wrong_scale_is_named_by_free_masses_alone(model, run):
    samples = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=150)
    assert wrong_scale(samples) is None
    tau = samples.tau * (1.0 + 4.0 * np.eye(6)[1])
    found = wrong_scale(replace(samples, tau=tau))
    assert found is not None
    assert "'shoulder_lift_joint' is about" in found.text
    assert found.hypothesis.amount == pytest.approx(5.0, rel=0.25)


def test_a_wrong_clock_is_named_by_free_masses_alone(model, run):
    samples = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=150)
    found = wrong_scale(samples.scaled(rate=2.0), gains_known=False)
    assert found is not None
    assert "time stamps seem to advance at" in found.text
    assert found.hypothesis.amount == pytest.approx(0.5, rel=0.1)


def test_a_load_that_the_description_lacks_is_named(model, run):
    s = run.joints
    a = np.gradient(s.v, 1.0 / RATE, axis=0)
    load = np.zeros((model.n_bodies, 10))
    load[-1] = [3.0, 0.3, 0.45, 0.3, 0.15, 0.1, 0.1, 0.0, 0.0, 0.0]
    loaded = model.with_pi(model.pi + load).inverse_dynamics(s.q, s.v, a)
    more = loaded - model.inverse_dynamics(s.q, s.v, a)
    carrying = changed(run, effort=s.effort + more)
    assert compare_with_torques(model, carrying, 3.0).outcome is Outcome.PASS
    assert "kgf (9.8 times)" in compare_with_torques(model, carrying, 3.0 / 9.81).text
    unknown = changed(carrying, effort_kind=EffortKind.UNKNOWN)
    assert not compare_with_torques(model, unknown, 3.0 / 9.81).reasons
    found = judged(model, carrying)
    assert "kg more at 'wrist_3_link'" in found.text
    found = judged(model.with_pi(model.pi + load), run)
    assert "kg less at 'wrist_3_link'" in found.text and "subtracted the payload" in found.text


def test_a_load_that_the_joints_can_not_carry_has_another_unit(model, run):
    load = np.array([1.117, 0.0, 0.0, 0.1, 0.01, 0.01, 0.01, 0.0, 0.0, 0.0])
    assert judge_carried_mass(model, "tool0", load, run.joints.q).ok
    found = judge_carried_mass(model, "tool0", load * 1000.0 / 9.81, run.joints.q)
    assert "can't have carried 114 kg" in found.text and "gram-force" in found.text
