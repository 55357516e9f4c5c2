# SPDX-License-Identifier: Apache-2.0
"""Faults of recordings and descriptions are found by their effect on the torques."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sysid_core.diagnosis import (
    Examination,
    collect_samples,
    compare_with_torques,
    estimate_gravity,
    examine,
    require_fit,
)
from sysid_core.diagnosis.candidates import candidates
from sysid_core.diagnosis.composed import composed_faults
from sysid_core.diagnosis.evidence import Evidence, evidence
from sysid_core.diagnosis.examination import Finding
from sysid_core.diagnosis.explain import Explanation, either, explanations, is_decided
from sysid_core.diagnosis.fitness import stream_faults
from sysid_core.diagnosis.hypotheses import (
    AS_DECLARED,
    Fault,
    Hypothesis,
    apparent_density,
    clock_fault,
    gain_fault,
    mass_fault,
    mount_of,
    scale_fault,
    sign_fault,
    zero_angle,
)
from sysid_core.diagnosis.next_motion import next_motion
from sysid_core.diagnosis.samples import LAGS
from sysid_core.diagnosis.sift import Sift, evidence_of
from sysid_core.diagnosis.stream_checks import effort_faults
from sysid_core.errors import ModelError, SignalError
from sysid_core.estimation.arm_fit import FitSettings
from sysid_core.estimation.loaded_arm import CarriedBody
from sysid_core.reasons import Outcome, Reason, Verdict
from sysid_core.robot import DriveTrain, RobotModel
from sysid_core.robot.loops import DrivenRobot, load_closed_chain
from sysid_core.signals import ColumnMap, EffortKind, JointStream, Recording
from sysid_core.signals.bags import read_bag
from sysid_core.workflows import ArmData, IdentifiedArm

RATE = 100.0


@pytest.fixture(scope="module")
def model() -> RobotModel:
    """An arm of four joints: each joint less halves the time of an examination."""
    return RobotModel.from_urdf("ur5").with_locked(("wrist_2_joint", "wrist_3_joint"))


def record(
    model: RobotModel, seconds: float = 20.0, seed: int = 3, spread: float = 0.1
) -> Recording:
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
    true = model.with_pi(model.pi * rng.uniform(1.0 - spread, 1.0 + spread, (model.n_bodies, 1)))
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


def judged(model: RobotModel, run: Recording, count: int = 150) -> Verdict:
    return examine(model, [run], DriveTrain.direct(model.joint_names), count=count).verdict


def test_data_and_description_that_agree_pass(model, run):
    assert judged(model, run).outcome is Outcome.PASS


@pytest.mark.parametrize("mount", [(np.pi, 0.0, 0.0), (0.6, 0.3, 0.0)])
def test_gravity_is_found_from_the_torques(model, mount):
    true = RobotModel.gravity_of_mount(mount)
    run = record(model.with_gravity(true))
    found = estimate_gravity(collect_samples(model, [run], DriveTrain.direct(model.joint_names)))
    angle = np.arccos(np.clip(found.gravity @ true / 9.81**2, -1.0, 1.0))
    assert np.degrees(angle) < 0.5
    assert judged(model, run).failures[0].code == "mounting"


def test_a_mount_and_its_gravity_belong_together():
    gravity = RobotModel.gravity_of_mount((0.4, -0.7, 1.0))
    np.testing.assert_allclose(RobotModel.gravity_of_mount(mount_of(gravity)), gravity, atol=1e-12)
    with pytest.raises(ModelError, match="three angles"):
        RobotModel.gravity_of_mount((0.0, np.nan, 0.0))
    with pytest.raises(ModelError, match="impossible"):
        RobotModel.from_urdf("ur5").with_gravity((0.0, 0.0, 98.1))


def swapped(values: np.ndarray, i: int, j: int) -> np.ndarray:
    out = values.copy()
    out[:, [i, j]] = out[:, [j, i]]
    return out


def negated(values: np.ndarray, j: int) -> np.ndarray:
    out = values.copy()
    out[:, j] *= -1.0
    return out


FAULTS = {
    "effort-signs": lambda s: {"effort": -s.effort},
    "effort-sign elbow_joint": lambda s: {"effort": negated(s.effort, 2)},
    "position-sign shoulder_lift_joint": lambda s: {
        "q": negated(s.q, 1),
        "v": negated(s.v, 1),
    },
    "effort-order": lambda s: {"effort": swapped(s.effort, 1, 2)},
    "joint-order": lambda s: {key: swapped(getattr(s, key), 1, 2) for key in ("q", "v", "effort")},
    "zero-angle shoulder_lift_joint": lambda s: {"q": s.q + np.eye(4)[1] * np.pi / 2},
    "effort-unit": lambda s: {"effort": 1000.0 * s.effort},
    "effort-scale": lambda s: {"effort": 0.1 * s.effort},  # no arm is as light as that
    "gain elbow_joint": lambda s: {"effort": s.effort * (1.0 + 4.0 * np.eye(4)[2])},
    "stamps": lambda s: {"stamps_ns": 2 * s.stamps_ns, "v": None},
    "no-model": lambda s: {"effort": np.random.default_rng(0).normal(size=s.effort.shape)},
}


@pytest.fixture(scope="module")
def verdict_on(model: RobotModel, run: Recording) -> Callable[[str], Verdict]:
    """The verdict on the recording with one of `FAULTS`."""
    return cache(lambda fault: judged(model, changed(run, **FAULTS[fault](run.joints))))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(verdict_on, fault):
    found = verdict_on(fault)
    code, _, joint = fault.partition(" ")
    reasons = {reason.code: reason for reason in found.failures}
    assert code in reasons
    if joint:
        assert reasons[code].data["joint"] == joint
    if code != "no-model":
        assert reasons[code].data["odds"] > 20.0


def test_the_size_of_a_gain_is_found_at_once(verdict_on):
    """Few samples show the factor only roughly, and the remaining error would look like a second
    fault.
    """
    (found,) = verdict_on("gain elbow_joint").failures
    assert found.data["factor"] == pytest.approx(5.0, rel=0.1)


def test_masses_off_by_one_factor_hide_no_other_fault(model, run):
    light = model.with_pi(model.pi / 3.0)
    assert judged(light, run).codes == ("cannot-tell",)
    tilted = light.with_gravity(RobotModel.gravity_of_mount((0.4, 0.0, 0.0)))
    assert [reason.code for reason in judged(tilted, run).failures] == ["mounting"]


def test_wrong_signs_of_several_efforts_are_one_fault(model, run):
    flipped = changed(run, effort=run.joints.effort * [1.0, -1.0, -1.0, -1.0])
    (found,) = judged(model, flipped).failures
    assert (found.code, found.data["joints"]) == ("effort-signs", model.joint_names[1:])
    assert "of shoulder_lift_joint, elbow_joint, wrist_1_joint are reversed" in found.text


@pytest.mark.parametrize("joints", [(1, 2), (1, 2, 3)])
def test_reversed_positions_of_several_joints_are_one_fault(model, run, joints):
    """One of them alone is never the most probable step, so that pairs are tried."""
    sign = np.where(np.isin(np.arange(4), joints), -1.0, 1.0)
    flipped = changed(run, q=run.joints.q * sign, v=run.joints.v * sign)
    (found,) = judged(model, flipped).failures
    assert found.code == "position-signs"
    assert found.data["joints"] == tuple(model.joint_names[j] for j in joints)


def test_two_faults_that_hide_each_other_are_named(model, run):
    """Alone, neither explains more than the other, so that none is named before both are found."""
    there = changed(run, effort=negated(run.joints.effort, 3))
    tilted = model.with_gravity(RobotModel.gravity_of_mount((np.pi / 2, 0.0, 0.0)))
    codes = {reason.code for reason in judged(tilted, there).failures}
    assert codes == {"mounting", "effort-sign"}


def test_a_fault_of_a_joint_is_told_if_its_kind_is_not(model, run):
    samples = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=100)
    found = evidence_of(samples, AS_DECLARED)
    kinds = Fault.EFFORT_SIGN, Fault.POSITION_SIGN
    both = [
        Explanation(sign_fault(model.joint_names, (3,), kind), found, p, model)
        for kind, p in zip(kinds, (0.6, 0.39), strict=True)
    ]
    rest = Explanation(AS_DECLARED, found, 0.01, model)
    assert is_decided([*both, rest])
    assert not is_decided([both[0], replace(rest, probability=0.4)])
    reason = Finding(both[0], 99.0, (0.5, 0.5), (0.1, 0.1), (both[1],)).reason
    assert reason.code == "one-of" and reason.data["joint"] == "wrist_1_joint"
    assert reason.data["causes"] == ("effort-sign", "position-sign")


def test_the_next_motion_separates_two_causes(model, run):
    samples = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=100)

    def explained(hypothesis: Hypothesis) -> Explanation:
        return Explanation(hypothesis, evidence_of(samples, hypothesis), 0.5, model)

    alike = next_motion(samples, explained(mass_fault(model, 3.0)), explained(scale_fault(3.0)))
    assert alike.log_odds < np.log(3.0)
    zero = explained(zero_angle(model.joint_names, 1, -0.5))
    found = next_motion(samples, explained(AS_DECLARED), zero)
    assert found.log_odds > np.log(20.0)
    text = Reason.warning(
        "cannot-tell",
        **dict.fromkeys(("declared", "odds"), found.log_odds),
        **dict.fromkeys(("causes", "joints", "sizes", "probabilities"), ()),
        motion=found.motion,
        moved=found.joint,
    )
    assert found.joint in text.remedy


def test_a_fault_found_in_place_of_another_is_dropped(model, run):
    """With masses that are ten times too small, wrong signs look like an even larger wrong factor,
    as long as that is not found out.
    """
    light = model.with_pi(model.pi / 10.0)
    reversed_run = changed(run, effort=-run.joints.effort)
    found = judged(light, reversed_run, count=300)
    assert [reason.code for reason in found.failures] == ["effort-signs"]


def test_one_fault_of_all_joints_is_as_likely_as_one_of_any_joint(model, run):
    samples = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=100)
    prior: dict[str, float] = {}
    for h in candidates(samples):
        prior[h.code] = prior.get(h.code, 0.0) + np.exp(h.log_prior)
    assert prior["no-model"] == pytest.approx(prior["joint-chance"])
    assert prior["effort-signs"] == pytest.approx(prior["effort-sign"])


def limited(model: RobotModel, limit: float) -> RobotModel:
    """The model with this effort limit of all joints; 0: none [N m]."""
    pin_model = model.pin_model.copy()
    pin_model.effortLimit = np.full(model.nv, limit)
    return replace(model, pin_model=pin_model)


def test_torques_three_times_too_large_may_be_masses_three_times_too_small(model, run):
    large = changed(run, effort=3.0 * run.joints.effort)
    (found,) = judged(limited(model, 0.0), large).notable
    assert found.code == "cannot-tell"
    sizes = dict(zip(found.data["causes"], found.data["sizes"], strict=True))
    assert sizes["urdf-masses"] == pytest.approx(3.0, rel=0.3)
    assert "effort-scale" in sizes


def test_a_description_is_as_dense_as_robots_are(model):
    dense = model.with_pi(10.0 * model.pi)
    assert apparent_density(dense) == pytest.approx(10.0 * apparent_density(model))
    assert apparent_density(model.with_pi(0.0 * model.pi)) is None
    ball = np.zeros((model.n_bodies, 10))
    ball[:, 0], ball[:, [4, 6, 9]] = 1.0, 0.4 * 0.1**2
    solid = 1.0 / (4.0 / 3.0 * np.pi * 0.1**3)
    assert apparent_density(model.with_pi(ball)) == pytest.approx(solid)
    # What makes a light description as dense as others is likelier than what makes a dense one denser.
    light, heavy = (model.with_pi(k / apparent_density(model) * model.pi) for k in (200.0, 2000.0))
    assert mass_fault(light, 4.0).log_prior > mass_fault(heavy, 4.0).log_prior + 2.0


@pytest.mark.parametrize("factor", [0.25, 6.0])  # 6 is near no unit, but nearer to one than to 3
def test_torques_of_another_size_are_not_judged_without_a_known_load(model, run, factor):
    found = judged(limited(model, 0.0), changed(run, effort=factor * run.joints.effort))
    assert found.outcome is Outcome.NOT_JUDGED
    (doubt,) = found.not_judged
    assert doubt.code == "cannot-tell" and doubt.data["causes"][0] == "effort-scale"
    assert doubt.data["sizes"][0] == pytest.approx(factor, rel=0.3)


def test_without_masses_nothing_is_compared_with_the_efforts(model, run):
    nothing = model.with_pi(0.0 * model.pi)
    assert judged(nothing, run).outcome is Outcome.NOT_JUDGED
    assert [reason.code for reason in judged(nothing, run).not_judged] == ["masses-missing"]


def test_stamps_that_would_make_a_joint_faster_than_its_limit_are_less_likely(model, run):
    slow = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=100)
    slow = slow.scaled(rate=0.5)

    def stamps(limit: float) -> float:
        limited = re.sub(r'velocity="[^"]*"', f'velocity="{limit}"', model.urdf_xml)
        arm = RobotModel.from_urdf(limited).with_locked(model.locked)
        found = explanations(slow.with_model(arm))
        chance = {e.hypothesis.kind: e.probability for e in found}
        return chance[Fault.CLOCK] / chance[Fault.NONE]

    peak = float(np.max(np.abs(slow.v)))
    free = stamps(10.0 * peak)
    assert free > 1.0
    assert stamps(1.1 * peak) < 0.1 * free


def test_positions_beyond_their_limits_speak_against_the_declared_zeros(model, run):
    """Offsets of whole turns don't count as beyond the limits."""
    samples = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=100)

    def declared(q: np.ndarray, share: float) -> float:
        limited = model.pin_model.copy()
        limited.upperPositionLimit = share * np.max(np.abs(run.joints.q), axis=0)
        limited.lowerPositionLimit = -limited.upperPositionLimit
        there = replace(samples, q=q).with_model(replace(model, pin_model=limited))
        chance = {e.hypothesis.kind: e.probability for e in explanations(there)}
        return chance[Fault.NONE] / chance[Fault.ANGLE_UNIT]

    q = samples.q
    inside = declared(q, 1.1)
    assert declared(q + 2.0 * np.pi * np.array([1.0, 0.0, 0.0, -1.0]), 1.1) > 0.99 * inside
    assert declared(q, 0.5) < 0.1 * inside


def test_the_cause_of_positions_far_outside_their_limits_is_named(model, run):
    limits = model.pin_model.copy()
    limits.upperPositionLimit = 1.1 * np.max(np.abs(run.joints.q), axis=0)
    limits.lowerPositionLimit = -limits.upperPositionLimit
    narrow = replace(model, pin_model=limits)
    require_fit(narrow, run)
    there = changed(run, q=run.joints.q + np.eye(4)[1] * np.radians(180.0))
    with pytest.raises(SignalError, match="far outside"):
        require_fit(narrow, there)
    drives = DriveTrain.direct(model.joint_names)
    (found,) = examine(narrow, [there], drives, count=100).verdict.failures
    assert (found.code, found.data["joint"]) == ("zero-angle", model.joint_names[1])
    turning = changed(run, q=run.joints.q + np.eye(4)[0] * np.radians(270.0))
    with pytest.raises(SignalError, match="far outside"):  # no effect on the efforts
        examine(narrow, [turning], drives, count=100)


@pytest.mark.parametrize("joint", [0, 2])
def test_a_joint_without_efforts_is_left_out_of_all_comparisons(model, run, joint):
    efforts = negated(run.joints.effort, 1) * (np.arange(4) != joint)
    verdict = judged(model, changed(run, effort=efforts))
    (found,) = verdict.failures
    assert found.data["joint"] == "shoulder_lift_joint"
    assert verdict.reasons[0].code == "effort-dead"  # facts before inferences


def test_gravity_compensated_efforts_are_named(model, run):
    s = run.joints
    weight = model.inverse_dynamics(s.q, 0.0 * s.q, 0.0 * s.q)
    found = judged(model, changed(run, effort=s.effort - weight))
    assert found.outcome is Outcome.FAIL
    assert found.failures[0].code == "gravity-subtracted"


def test_spikes_saturation_dead_and_frozen_channels_are_seen_without_a_model(model, run):
    s = run.joints
    effort = np.array(s.effort)
    effort[700, 1] = 1e6
    effort[:, 2] = np.clip(effort[:, 2], -4.0, None)
    effort[:, 0] = 1.0
    found = effort_faults(replace(s, effort=effort))
    with pytest.raises(SignalError, match="No joint has an effort that varies"):
        dead_run = Recording(replace(s, effort=np.ones_like(effort)))
        collect_samples(model, [dead_run], DriveTrain.direct(s.names))
    (dead, saturated), (spikes,) = found.failures, found.warnings
    assert spikes.code == "effort-spikes" and spikes.data["joint"] == "shoulder_lift_joint"
    assert saturated.code == "effort-saturated" and saturated.data["value"] == -4.0
    assert dead.code == "effort-dead" and dead.data["value"] == 1.0
    assert not effort_faults(s).reasons
    held = np.array(s.effort)
    held[1000:, 3] = held[1000, 3]  # from the middle on
    (dead,) = effort_faults(replace(s, effort=held)).failures
    assert dead.code == "effort-dead" and dead.data["share"] == pytest.approx(0.5, abs=1e-3)
    still = np.array(s.q)
    still[:, 3] = still[0, 3]
    (frozen,) = effort_faults(replace(s, q=still)).failures
    assert frozen.code == "position-frozen" and frozen.data["joint"] == s.names[3]


def coupled(s: JointStream) -> np.ndarray:
    """Friction of a drive that moves the elbow and, by a belt, also the wrist."""
    torque = 3.0 * np.tanh((s.v[:, 3] + s.v[:, 2]) / 0.01)
    return torque[:, None] * np.isin(np.arange(4), [2, 3])


UNDESCRIBED = {
    "a spring": lambda s: (3.0 * s.q[:, 3])[:, None] * (np.arange(4) == 3),
    "a counterweight": lambda s: (-40.0 * np.cos(s.q[:, 1]))[:, None] * (np.arange(4) == 1),
    "a belt": coupled,
}


@pytest.mark.parametrize("part", UNDESCRIBED)
def test_passive_parts_that_nobody_described_are_no_fault_of_the_data(model, run, part):
    s = run.joints
    found = judged(model, changed(run, effort=s.effort + UNDESCRIBED[part](s)))
    assert not found.failures
    # A fault beside it is found all the same.
    both = negated(s.effort + UNDESCRIBED[part](s), 2)
    assert judged(model, changed(run, effort=both)).failures


def test_a_joint_whose_effort_is_noise_says_nothing(model, run):
    effort = np.array(run.joints.effort)
    effort[:, 3] = np.random.default_rng(0).normal(size=len(effort))
    drives = DriveTrain.direct(model.joint_names)
    assert not collect_samples(model, [changed(run, effort=effort)], drives).used[3]
    verdict = judged(model, changed(run, effort=effort))
    (unexamined,) = verdict.warnings
    assert unexamined.code == "joints-unexamined"
    assert unexamined.data["joints"] == model.joint_names[3:]


def test_the_offset_of_a_velocity_sensor_is_no_motion(model, run):
    drives = DriveTrain.direct(model.joint_names)
    as_it_was = collect_samples(model, [run], drives)
    off = collect_samples(model, [changed(run, v=run.joints.v - 0.05)], drives)
    np.testing.assert_allclose(off.v, as_it_was.v, atol=5e-3)


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
    assert stream_faults(s.select(slice(40)))[0].code == "recording-short"
    assert stream_faults(replace(s, q=0.0 * s.q))[0].code == "no-motion"
    names = ("joint1",) * len(s.names)
    assert stream_faults(replace(s, names=names))[0].code == "names-twice"
    q = np.array(s.q)
    q[:200] = np.nan
    (found,) = stream_faults(replace(s, q=q))
    assert found.code == "not-finite-samples" and found.data["share"] == pytest.approx(0.1)


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
    assert np.degrees(np.arccos(found.gravity[0] / 9.81)) < 1.5
    assert np.degrees(found.angle_sd) < 0.1
    assert found.unexplained < 0.01 < 0.3 < found.unexplained_before
    assert judged(model, run).failures[0].code == "mounting"
    assert judged(model.with_gravity(found.gravity), run).ok


def test_a_real_arm_whose_drivers_subtract_its_weight_is_found_out(shared_data):
    """Bounds of friction and springs follow the size of the recorded efforts, not of the weight
    added to them.
    """
    model = RobotModel.from_urdf("panda")
    model = model.with_locked([name for name in model.joint_names if "finger" in name])
    path = shared_data / "ur10_panda_salerno_bags" / "panda_exciting_trajectory.db3"
    run = read_bag(path, effort_kind=EffortKind.LINK_TORQUE)
    names = tuple(joint.replace("fer_", "panda_") for joint in run.joints.names)
    s = replace(run.joints, names=names).ordered(model.joint_names)
    weight = model.inverse_dynamics(s.q, 0.0 * s.q, 0.0 * s.q)
    found = judged(model, replace(run, joints=replace(s, effort=s.effort - weight)))
    assert [reason.code for reason in found.failures] == ["gravity-subtracted"]


def test_counterweights_and_springs_are_no_other_mounting(shared_data):
    """dVRK's instrument arm: the description lacks its counterweights and the springs of its cables."""
    folder = shared_data / "dvrk_psm"
    model = DrivenRobot.of(load_closed_chain("mimic", str(folder / "psm_mimic.urdf")))
    columns = ColumnMap.load(folder / "psm.yaml")
    run = ArmData.recording(folder / "one.csv", columns, "", model)
    found = examine(model, [run], ArmData.drives(model, columns))
    assert not found.findings
    assert not found.verdict.failures


def test_explanations_have_odds_and_the_rarer_must_explain_more(model, run):
    samples = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=150)
    ranked = explanations(samples)
    assert ranked[0].hypothesis == AS_DECLARED
    # A quick look misjudges what springs and small errors take up: each kind is judged thoroughly.
    kinds = {e.hypothesis.kind for e in ranked}
    assert kinds >= {h.kind for h in candidates(samples)} - {Fault.LAG}
    assert sum(e.probability for e in ranked) == pytest.approx(1.0)
    wrong = explanations(samples.with_torques(lambda x: x * (1.0 + 4.0 * np.eye(4)[1])))
    assert wrong[0].hypothesis.cause == ("gain", "shoulder_lift_joint")
    assert wrong[0].hypothesis.amount == pytest.approx(5.0, rel=0.25)
    stamps = explanations(samples.scaled(rate=2.0), gains_known=False)
    assert stamps[0].hypothesis.code == "stamps"
    assert stamps[0].hypothesis.amount == pytest.approx(0.5, rel=0.1)
    shares = [h.share for h in candidates(samples) if h.kind is Fault.ZERO_ANGLE]
    assert sum(shares) == pytest.approx(1.0)
    # Nothing tells the zero of a vertical axis: all its angles are as likely, and add up.
    zero = next(e.hypothesis for e in ranked if e.hypothesis.kind is Fault.ZERO_ANGLE)
    assert zero.data["joint"] == model.joint_names[0]
    assert zero.share == pytest.approx(1.0 / model.nv, rel=0.02)


def test_a_delay_does_not_explain_the_noise_of_the_torques(model, run):
    """At a low rate too: neither smoothing nor the slope of the noise speaks for a delay."""
    s, rng = run.joints.select(slice(None, None, 4)), np.random.default_rng(1)
    noisy = s.effort + 0.5 * s.effort.std(axis=0) * rng.normal(size=s.effort.shape)
    there = replace(run, joints=replace(s, effort=noisy))
    samples = collect_samples(model, [there], DriveTrain.direct(model.joint_names), count=300)
    declared = evidence(samples).log
    assert all(evidence(samples.with_lag(k)).log < declared for k in range(len(LAGS)))


def test_a_cause_is_named_only_if_the_data_are_right_without_it(model):
    """A change may bring another robot's data closer to this model without explaining them."""
    n = model.nv
    worth = Evidence(0.0, model.pi.ravel(), np.ones(model.pi.size), np.zeros(n), np.zeros(1))

    def likely(kind: Fault, code: str, probability: float) -> Explanation:
        joint = {"joint": model.joint_names[1]} if code else {}
        return Explanation(Hypothesis(kind, code, joint), worth, probability, model)

    zero = Finding(likely(Fault.ZERO_ANGLE, "zero-angle", 0.99), 99.0, (0.5, 0.4), (0.3, 0.2))

    def examined(after: float, found: tuple[Finding, ...] = (zero,)) -> Verdict:
        ranked = (
            likely(Fault.NONE, "", after),
            likely(Fault.JOINT_SIGN, "joint-sign", 1.0 - after),
        )
        used = np.ones(n, dtype=bool)
        return Examination(model.joint_names, used, found, ranked, (0.3, 0.2), 10.0).verdict

    assert examined(0.9).codes == ("zero-angle",)
    # What is refused already gains nothing by more doubts; what is accepted needs the same odds.
    assert examined(0.9, ()).codes == ("cannot-tell",)
    assert examined(0.96, ()).outcome is Outcome.PASS
    right = (likely(Fault.NONE, "", 1.0),)
    poor = Examination(model.joint_names, np.ones(n, dtype=bool), (), right, (0.2, 0.4), 10.0)
    assert poor.verdict.codes == ("blocks-unpredicted",)
    assert "40 % of the variance of the efforts" in poor.verdict.warnings[0].text
    # A doubt that remains is stated beside the cause; a contradiction by the same odds speaks against it.
    assert examined(0.4).codes == ("zero-angle", "cannot-tell")
    (doubt,) = examined(0.04).failures
    assert doubt.code == "cannot-tell"
    assert doubt.data["causes"][0] == "zero-angle"
    # Neither the masses of the URDF nor fitted ones predict the data: it was not the cause.
    used = np.ones(n, dtype=bool)
    poor = Examination(model.joint_names, used, (zero,), right, (0.3, 0.9), 10.0)
    assert [reason.code for reason in poor.verdict.failures] == ["cannot-tell"]
    # Nor are two faults of a robot of whose torques the URDF explains nothing.
    for urdf, codes in ((0.98, {"cannot-tell"}), (0.5, {"zero-angle"})):
        two = Examination(model.joint_names, used, (zero, zero), right, (urdf, 0.01), 10.0)
        assert {reason.code for reason in two.verdict.failures} == codes


def test_a_doubt_is_stated_only_if_it_changes_the_result(model, run):
    """Of a wrong gain of a joint that predicts the same torques, nothing depends."""
    samples = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=100)
    names, used = model.joint_names, np.ones(model.nv, dtype=bool)

    def doubted(hypothesis: Hypothesis, likely: float, factor: float = 1.0) -> Verdict:
        seen = samples.with_torques(lambda x: factor * x)
        pair = ((AS_DECLARED, 1.0 - likely), (hypothesis, likely))
        ranked = tuple(Explanation(h, evidence_of(seen, h), p, model) for h, p in pair)
        return Examination(names, used, (), ranked, (0.01, 0.01), 10.0, samples=seen).verdict

    same = doubted(gain_fault(names, 3, 1.2), 0.6)
    assert same.outcome is Outcome.PASS
    assert [reason.code for reason in same.held] == ["doubt-harmless", "data-agree"]
    assert doubted(zero_angle(names, 1, -0.5), 0.1).codes == ("cannot-tell",)
    # The masses depend on the unit of the efforts, or belong to a description that is wrong.
    assert doubted(scale_fault(3.0), 0.1).codes == ("cannot-tell",)
    assert doubted(mass_fault(model, 3.0), 0.6).codes == ("cannot-tell",)
    assert doubted(mass_fault(model, 3.0), 0.4).outcome is Outcome.PASS
    # Small errors of the description may absorb a factor, but not in silence.
    absorbed = doubted(scale_fault(2.5), 0.01, 1.5)
    assert absorbed.outcome is Outcome.PASS
    assert "factor-absorbed" in [reason.code for reason in absorbed.held]
    assert "factor-absorbed" not in [reason.code for reason in same.held]
    assert doubted(scale_fault(2.5), 0.01, 2.5).codes == ("cannot-tell",)


def test_one_of_two_causes_is_told_and_efforts_are_never_unrelated_beside_a_model(model):
    n = model.nv

    def likely(kind: Fault, code: str, probability: float, left: float) -> Explanation:
        worth = Evidence(
            0.0, model.pi.ravel(), np.ones(model.pi.size), np.full(n, left), np.zeros(1)
        )
        return Explanation(Hypothesis(kind, code), worth, probability, model)

    mounting = likely(Fault.MOUNTING, "mounting", 0.6, 0.01)
    zero = likely(Fault.ZERO_ANGLE, "zero-angle", 0.39, 0.01)
    none = likely(Fault.NONE, "", 0.01, 0.01)
    assert either([mounting, zero, none]) == (mounting, zero)
    assert not either([mounting, replace(none, probability=0.4)])
    assert not either([mounting, likely(Fault.ZERO_ANGLE, "zero-angle", 0.39, 0.5), none])
    reason = Finding(mounting, 99.0, (0.5, 0.5), (0.1, 0.1), (zero,)).reason
    assert reason.code == "one-of" and reason.data["causes"] == ("mounting", "zero-angle")
    silent = likely(Fault.SILENT, "no-model", 0.8, 1.0)
    wrong = [likely(Fault.POSITION_SIGN, "position-sign", p, 0.9) for p in (0.11, 0.03, 0.03)]
    assert is_decided([silent, *wrong, replace(none, probability=0.03)])
    assert not is_decided([silent, likely(Fault.NONE, "", 0.2, 0.6)])


def test_a_load_that_the_description_lacks_is_named():
    model = RobotModel.from_urdf("ur5")
    run = record(model)
    s = run.joints
    a = np.gradient(s.v, 1.0 / RATE, axis=0)
    load = np.zeros((model.n_bodies, 10))
    load[-1] = [3.0, 0.3, 0.45, 0.3, 0.15, 0.1, 0.1, 0.0, 0.0, 0.0]
    loaded = model.with_pi(model.pi + load).inverse_dynamics(s.q, s.v, a)
    more = loaded - model.inverse_dynamics(s.q, s.v, a)
    carrying = changed(run, effort=s.effort + more)
    assert compare_with_torques(model, carrying, 3.0).outcome is Outcome.PASS
    assert compare_with_torques(model, carrying, 3.0 / 9.81).codes == ("masses-disagree",)
    unknown = changed(carrying, effort_kind=EffortKind.UNKNOWN)
    assert not compare_with_torques(model, unknown, 3.0 / 9.81).reasons
    massless = model.with_pi(np.zeros((model.n_bodies, 10)))
    assert not compare_with_torques(massless, carrying, 3.0).reasons
    found = judged(model, carrying)
    assert "load-lacking" in found.codes
    (found,) = judged(model.with_pi(model.pi + load), run).reasons
    # A sixth of the arm's mass too much looks much like torques that are too small: that is said.
    assert found.code == "load-surplus" or found.data["causes"][0] == "load-surplus"


def test_torques_beyond_the_drives_limits_speak_for_wrong_efforts_not_for_wrong_masses(model, run):
    def wrong_efforts(limit: float) -> float:
        drives = DriveTrain.direct(model.joint_names)
        samples = collect_samples(limited(model, limit), [run], drives, count=100)
        ranked = explanations(samples.with_torques(lambda x: 3.0 * x))
        chance = {e.hypothesis.kind: e.probability for e in ranked}
        return chance[Fault.EFFORT_UNIT] / chance[Fault.MASSES]

    peak = float(np.max(np.abs(run.joints.effort)))
    assert wrong_efforts(1.5 * peak) > 10.0 * wrong_efforts(4.0 * peak)


def test_a_load_that_the_joints_can_not_carry_has_another_unit(model, run):
    load = np.array([1.117, 0.0, 0.0, 0.1, 0.01, 0.01, 0.01, 0.0, 0.0, 0.0])
    assert CarriedBody(model, "tool0", load).judged(run.joints.q).ok
    found = CarriedBody(model, "tool0", load * 1000.0 / 9.81).judged(run.joints.q)
    assert found.codes == ("load-too-heavy",)
    assert found.failures[0].data["mass"] == pytest.approx(114, abs=1)


def test_several_joints_with_other_conventions_are_another_robot(model, run):
    """Two independent errors of one recording are less likely than the URDF of another robot, which
    may also be heavier.
    """
    s = run.joints
    q, v, effort = (negated(x, 2) for x in (s.q, s.v, s.effort))
    there = changed(run, q=q + np.eye(4)[1] * np.radians(70.0), v=v, effort=effort)
    assert [reason.code for reason in judged(model, there).failures] == ["other-robot"]
    heavier = changed(there, effort=20.0 * effort)
    assert [reason.code for reason in judged(model, heavier).failures] == ["other-robot"]


def test_a_fault_is_larger_than_the_errors_that_every_arm_has(model, run):
    sift = Sift(collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=60))
    assert sift.refined(clock_fault(0.7)).amount < np.exp(-0.19)
    assert sift.refined(gain_fault(model.joint_names, 1, 2.0)).amount > np.exp(0.19)
    assert sift.refined(zero_angle(model.joint_names, 1, 0.5)).amount > np.radians(2.9)


def test_the_convention_of_one_joint_may_stand_for_those_of_others(model, run, monkeypatch):
    """The search for another robot also starts from the other joints, not only from the likeliest
    fault.
    """
    samples = collect_samples(model, [run], DriveTrain.direct(model.joint_names), count=100)
    reversed_elbow = sign_fault(model.joint_names, (2,), Fault.JOINT_SIGN)
    starts: list[int | None] = []

    def composed(sift, faults, options, whole):
        starts.extend(fault.joint for fault in faults)
        return iter(())

    monkeypatch.setattr("sysid_core.diagnosis.composed._composed", composed)
    for likeliest, more in ((reversed_elbow, 1), (gain_fault(model.joint_names, 2, 3.0), 0)):
        starts.clear()

        def named(*kinds: Fault, best: Hypothesis = likeliest) -> Hypothesis:
            return best if best.kind in kinds or Fault.MASSES in kinds else reversed_elbow

        assert list(composed_faults(Sift(samples.thinned(4)), named)) == []
        assert len([joint for joint in starts if joint != 2]) == more


def test_masses_of_the_description_are_never_named_as_the_cause(model, run):
    """Scaled masses would explain torques in any unit."""
    worth = Evidence(0.0, model.pi.ravel(), model.pi.ravel(), np.zeros(1), np.zeros(1))
    masses = Explanation(mass_fault(model, 3.0), worth, 1.0, model)
    assert not is_decided([masses])


def test_a_good_description_does_not_hide_the_mass_of_a_tool():
    """That all links are as described says nothing about the mass of a tool."""
    model = RobotModel.from_urdf("ur5")
    tool = np.zeros((model.n_bodies, 10))
    tool[-1] = [2.0, 0.0, 0.2, 0.0, 0.025, 0.0, 0.005, 0.0, 0.0, 0.025]
    loaded = model.with_pi(model.pi + tool)
    run = record(model, spread=0.0)
    s = run.joints
    a = np.gradient(s.v, 1.0 / RATE, axis=0)
    more = loaded.inverse_dynamics(s.q, s.v, a) - model.inverse_dynamics(s.q, s.v, a)
    carrying = changed(run, effort=s.effort + more)
    drives = DriveTrain.direct(model.joint_names)
    for described, recorded, code, mass in (
        (model, carrying, "load-lacking", 2.0),
        (loaded, run, "load-surplus", -2.0),
    ):
        samples = collect_samples(described, [recorded], drives, count=150)
        found = explanations(samples)[0]
        assert found.hypothesis.code == code
        # As estimated, it is part of the last link: the search for other faults goes on.
        assert explanations(found.mend(samples))[0].hypothesis == AS_DECLARED
        assert abs(found.load[0] - mass) < 2.0 * found.load[1] < 1.0


def test_a_fit_of_data_in_wrong_units_fails_and_names_them(model):
    """Radians are read as degrees, so that every joint is too slow to show a delay."""
    short = record(model, seconds=8.0)
    s = short.joints
    slow = changed(short, q=np.radians(s.q), v=np.radians(s.v))
    settings = FitSettings(method="ols", friction="usual")
    data = ArmData.of(model, [slow], DriveTrain.direct(s.names), settings)
    assert data.examination.verdict.failures[0].code == "angle-unit"
    found = IdentifiedArm.of(data, settings)
    assert found.verdict.failures[0].code == "angle-unit"
    assert not found.fit.lags.common.shows
