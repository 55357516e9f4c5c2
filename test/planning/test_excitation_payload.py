# SPDX-License-Identifier: Apache-2.0
"""The payload motion: what spec and paper ask of it."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ExcitationError
from sysid_core.planning import MotionChecker, MotionLimits, check_motion
from sysid_core.planning.payload import WristSwing, plan_payload_motion
from sysid_core.planning.payload.motion import oscillation
from sysid_core.planning.payload.plan import PayloadPlan, choose_tare_postures, payload_information
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.robot import RobotModel, wrench_regressor


@pytest.fixture(scope="module")
def xarm() -> RobotModel:
    return RobotModel.from_urdf("xarm7")


@pytest.fixture(scope="module")
def plan(xarm) -> PayloadPlan:
    return plan_payload_motion(xarm, MotionLimits.from_model(xarm, ground_height=0.0))


def stretch(plan: PayloadPlan, label: str) -> tuple[np.ndarray, ...]:
    t = plan.trajectory
    (segment,) = [s for s in t.segments if s.label == label]
    rows = (t.time >= segment.start - 1e-9) & (t.time <= segment.end + 1e-9)
    return t.time[rows] - segment.start, t.q[rows], t.v[rows], t.a[rows]


def test_the_default_motion_of_an_xarm_passes_all_its_limits(xarm, plan):
    limits = MotionLimits.from_model(xarm, ground_height=0.0)
    assert plan.check.is_safe
    assert check_motion(xarm, plan.trajectory, limits).is_safe


def test_it_has_tare_postures_then_still_oscillation_settle(plan):
    labels = [s.label for s in plan.trajectory.segments if s.label != "transfer"]
    assert labels == ["tare_1", "tare_2", "tare_3", "tare_4", "still", "oscillation", "settle"]
    for label in labels[:5] + labels[6:]:
        _, _, v, a = stretch(plan, label)
        assert np.abs(v).max() < 1e-12 and np.abs(a).max() < 1e-12, label


def test_only_the_last_three_joints_move(xarm, plan):
    assert plan.wrist_joints == ("joint5", "joint6", "joint7")
    assert np.ptp(plan.trajectory.q[:, :4], axis=0).max() == 0.0


def test_full_speed_follows_the_papers_sines(plan):
    """alpha_n + 45° sin(2 pi f_n t) with f in the ratio 0.1 : 0.13 : 0.16."""
    time, q, _, _ = stretch(plan, "oscillation")
    np.testing.assert_allclose(
        np.array(plan.frequencies_hz) / plan.frequencies_hz[0], [1.0, 1.3, 1.6]
    )
    full = (time > 1.0) & (time < time[-1] - 1.0)
    phase = 2 * np.pi * np.outer(time[full] - 0.5, plan.frequencies_hz)  # the ramp costs 0.5 s
    expected = plan.posture[4:] + np.deg2rad(45) * np.sin(phase)
    np.testing.assert_allclose(q[full, 4:], expected, atol=1e-9)


@pytest.mark.parametrize("duration", [1.5, 2.0, 8.0])
def test_oscillation_starts_and_ends_at_rest_and_v_and_a_are_its_derivatives(duration):
    time, q, v, a = oscillation(
        [0.1, 0.2, 0.3, 0.4], [1, 2, 3], [0.3, 0.4, 0.5], duration, rate_hz=1000
    )
    assert time[-1] == pytest.approx(duration)
    for end in (0, -1):
        assert np.abs(v[end]).max() < 1e-12 and np.abs(a[end]).max() < 1e-12
    inner = slice(2, -2)
    np.testing.assert_allclose(np.gradient(q, time, axis=0)[inner], v[inner], atol=1e-4)
    np.testing.assert_allclose(np.gradient(v, time, axis=0)[inner], a[inner], atol=1e-3)
    assert np.ptp(q[:, 0]) == 0.0


@pytest.mark.parametrize("speed", [1.0, 1.5, 2.0, 4.0])
def test_mean_angular_speed_is_the_one_asked_for(xarm, speed):
    posture = np.array([0.0, 0.0, 0.0, 1.0, 0.3, 0.7, 0.2])
    frequencies = WristSwing.of_speed(xarm, "link_eef", posture, speed).frequencies_hz
    period = 0.1 * 100.0 / frequencies[0]  # after which the three sines repeat
    motion = oscillation(posture, [4, 5, 6], frequencies, period + 2.0, rate_hz=50.0)
    steady = slice(50, -50)
    omega = xarm.frame_motion("link_eef", *(x[steady] for x in motion[1:])).omega
    assert np.linalg.norm(omega, axis=1).mean() == pytest.approx(speed, rel=0.01)


def test_the_oscillation_tells_all_ten_parameters(xarm, plan):
    information = payload_information(xarm, "link_eef", *stretch(plan, "oscillation")[1:])
    deviation = np.sqrt(np.diag(np.linalg.inv(information)))
    assert deviation[0] < 0.01  # [kg]
    assert deviation[1:4].max() < 0.01  # [kg m]
    assert deviation[4:].max() < 0.01  # [kg m^2]


def test_information_is_that_of_the_wrench_regressor(xarm, rng):
    q, v, a = rng.normal(size=(3, 5, 7))
    motion = xarm.frame_motion("link_eef", q, v, a)
    Y = wrench_regressor(motion.a, motion.omega, motion.alpha).reshape(-1, 10)
    weight = np.tile([1 / 0.1**2] * 3 + [1 / 0.005**2] * 3, 5)
    expected = Y.T @ (weight[:, None] * Y)
    np.testing.assert_allclose(
        payload_information(xarm, "link_eef", q, v, a), expected, rtol=1e-9, atol=1e-6
    )


def test_tare_postures_separate_bias_from_weight(xarm, plan):
    rows = []
    for i in range(1, 5):
        _, q, _, _ = stretch(plan, f"tare_{i}")
        motion = xarm.frame_motion("link_eef", q[:1], 0 * q[:1], 0 * q[:1])
        load = wrench_regressor(motion.a, motion.omega, motion.alpha)[0, :, :4]
        rows.append(np.hstack([np.eye(6), load]))
    A = np.vstack(rows)
    A /= np.linalg.norm(A, axis=0)
    assert np.linalg.matrix_rank(A) == 10
    assert np.linalg.cond(A) < 10


def test_two_tare_postures_are_refused(xarm, plan, rng):
    checker = MotionChecker(xarm, MotionLimits.from_model(xarm))
    with pytest.raises(ExcitationError, match="3 or more static postures"):
        choose_tare_postures(checker, plan.posture, 2, rng)


def test_the_same_seed_gives_the_same_motion(xarm):
    limits = MotionLimits.from_model(xarm)
    one, two, other = (
        plan_payload_motion(xarm, limits, duration=4.0, seed=seed, n_candidates=20).trajectory
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.q, two.q)
    assert one.seed == 3
    assert one.q.shape != other.q.shape or not np.array_equal(one.q, other.q)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_other_arms_get_a_motion_too(robot):
    model = RobotModel.from_urdf(robot)
    frame = {"ur5": "tool0", "panda": "panda_hand_tcp"}[robot]
    limits = MotionLimits.from_model(model, tcp_frame=frame, ground_height=0.0)
    limits = limits.replace(ground_height=-0.02)
    assert plan_payload_motion(model, limits, duration=6.0, n_candidates=60).check.is_safe


def test_too_fast_a_motion_is_refused_naming_the_limit(xarm):
    with pytest.raises(ExcitationError, match=r"velocity of joint|acceleration of joint"):
        plan_payload_motion(xarm, mean_angular_speed=8.0, duration=3.0, n_candidates=5)


def test_a_slow_wrist_gets_a_slow_motion(xarm):
    limits = MotionLimits.from_model(xarm)
    slow = limits.replace(velocity=np.full(7, 0.5))
    found = plan_payload_motion(xarm, slow, duration=6.0, n_candidates=20)
    assert found.check.is_safe and found.mean_angular_speed < 0.9


def test_a_wrist_without_room_is_named(xarm):
    limits = MotionLimits.from_model(xarm)
    tight = limits.replace(upper=np.where(np.arange(7) == 5, limits.lower + 1.0, limits.upper))
    with pytest.raises(ExcitationError, match="joint6"):
        plan_payload_motion(xarm, tight)


def test_two_joints_are_too_few():
    model = RobotModel.from_urdf("xarm7").with_locked([f"joint{i}" for i in range(3, 8)])
    with pytest.raises(ExcitationError, match="three single"):
        plan_payload_motion(model, MotionLimits.from_model(model))


def test_pieces_that_do_not_join_are_refused(xarm):
    checker = MotionChecker(xarm, MotionLimits.from_model(xarm))
    builder = MotionBuilder(checker, np.zeros(7))
    builder.rest(0.5, "still")
    with pytest.raises(ExcitationError, match="away from"):
        builder.play(*oscillation(np.ones(7), [4, 5, 6], [0.1] * 3, 2.0), "oscillation")
