"""Fourier motions, their criteria and their optimisation."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ExcitationError
from sysid_core.excitation import (
    ArmPlan,
    ExcitationCriterion,
    ExcitationProblem,
    FourierBasis,
    MotionChecker,
    MotionLimits,
    check_motion,
    plan_arm_motion,
)
from sysid_core.excitation.payload import plan_sines
from sysid_core.identifiability import numerical_rank
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import RobotModel, joint_torque_regressor

UR5_FRAME = "tool0"


@pytest.fixture(scope="module")
def wrist() -> RobotModel:
    """The last three joints of a UR5: a small arm that plans quickly."""
    model = RobotModel.from_urdf("ur5")
    return model.with_locked(dict(zip(model.joint_names[:3], [0.0, -1.2, 1.2], strict=True)))


@pytest.fixture(scope="module")
def limits(wrist) -> MotionLimits:
    return MotionLimits.from_model(wrist, tcp_frame=UR5_FRAME, ground_height=0.0)


@pytest.fixture(scope="module")
def plan(wrist, limits) -> ArmPlan:
    return plan_arm_motion(
        wrist, limits, period=10.0, n_candidates=8, n_starts=1, n_iterations=20, seed=1
    )


# --- the series


@pytest.mark.parametrize("n_harmonics", [3, 5, 8])
def test_series_starts_and_ends_at_rest_for_any_coefficients(n_harmonics, rng):
    basis = FourierBasis(7.0, n_harmonics)
    q, v, a = basis.motion([0.0, 7.0], [0.3, -0.1], rng.normal(size=(basis.n_free, 2)))
    np.testing.assert_allclose(q, [[0.3, -0.1]] * 2, atol=1e-12)
    np.testing.assert_allclose(v, 0.0, atol=1e-12)
    np.testing.assert_allclose(a, 0.0, atol=1e-11)


def test_velocity_and_acceleration_are_derivatives_of_the_series(rng):
    basis = FourierBasis(5.0, 4)
    time = np.linspace(0.0, 5.0, 5001)
    q, v, a = basis.motion(time, [0.0], rng.normal(size=(basis.n_free, 1)))
    inner = slice(1, -1)
    np.testing.assert_allclose(np.gradient(q, time, axis=0)[inner], v[inner], atol=1e-4)
    np.testing.assert_allclose(np.gradient(v, time, axis=0)[inner], a[inner], atol=1e-3)


def test_series_holds_only_its_harmonics(rng):
    basis = FourierBasis(10.0, 5)
    time = np.arange(200) * 10.0 / 200
    _, v, _ = basis.motion(time, [0.0], rng.normal(size=(basis.n_free, 1)))
    spectrum = np.abs(np.fft.rfft(v[:, 0])) / 200
    assert spectrum[0] < 1e-12 and spectrum[6:].max() < 1e-12
    assert np.all(spectrum[1:6] > 1e-6)


def test_two_harmonics_are_too_few():
    with pytest.raises(ExcitationError, match="3 or more harmonics"):
        FourierBasis(10.0, 2)


# --- criteria


def test_log_det_is_that_of_the_weighted_information(wrist, rng):
    criterion = ExcitationCriterion(wrist)
    q, v, a = rng.normal(size=(3, 50, 3))
    Y = joint_torque_regressor(wrist, q, v, a)[..., list(criterion.base.independent)]
    Y = Y / wrist.effort_limits[:, None]
    information = np.einsum("kri,krj->ij", Y, Y) / 50
    assert criterion.log_det(q, v, a) == pytest.approx(np.linalg.slogdet(information)[1], rel=1e-9)


def test_a_rich_motion_reaches_the_structural_rank_and_a_poor_one_says_what_is_missing(wrist, rng):
    criterion = ExcitationCriterion(wrist)
    q, v, a = rng.normal(size=(3, 50, 3))
    rich = criterion.quality(q, v, a)
    rank = structural_identifiability(wrist).n_base
    assert f"maximally exciting: {rank} of {rank}" in str(rich)
    Y = criterion.base.base_regressor(joint_torque_regressor(wrist, q, v, a)).reshape(-1, rank)
    assert rich.condition_number == pytest.approx(
        np.linalg.cond(Y / np.linalg.norm(Y, axis=0)), rel=1e-6
    )
    only_last = np.array([0.0, 0.0, 1.0])
    poor = criterion.quality(q[0] + (q - q[0]) * only_last, v * only_last, a * only_last)
    assert not poor.certificate.is_maximally_exciting
    assert "don't show" in str(poor)


# --- the optimisation


def test_gradient_of_the_problem_is_that_of_finite_differences(wrist, limits, rng):
    checker = MotionChecker(wrist, limits)
    problem = ExcitationProblem(checker, ExcitationCriterion(wrist), FourierBasis(10.0, 4))
    # Large enough to break every kind of limit: penalties count too.
    x = rng.normal(size=problem.n_variables)
    x[3:] *= 1.5
    _, gradient = problem.value_and_gradient(x)
    for i in rng.choice(problem.n_variables, 8, replace=False):
        step = np.zeros_like(x)
        step[i] = 1e-6
        up, down = (problem.value_and_gradient(x + sign * step)[0] for sign in (1, -1))
        assert gradient[i] == pytest.approx((up - down) / 2e-6, rel=2e-3, abs=1e-2)


def test_planned_motion_keeps_all_limits_and_is_maximally_exciting(wrist, limits, plan):
    assert check_motion(wrist, plan.trajectory, limits).is_safe
    rank = structural_identifiability(wrist).n_base
    assert plan.quality.certificate.numerical_rank == rank
    assert [s.label for s in plan.trajectory.segments] == ["still", "fourier", "settle"]


def test_optimisation_beats_the_random_motions(plan):
    assert plan.quality.log_det > plan.random_log_det + 1.0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_motion(wrist, limits):
    settings = {"period": 10.0, "n_candidates": 3, "n_starts": 1, "n_iterations": 2}
    one, two, other = (plan_arm_motion(wrist, limits, seed=s, **settings) for s in (5, 5, 6))
    np.testing.assert_array_equal(one.trajectory.q, two.trajectory.q)
    assert not np.array_equal(one.trajectory.q, other.trajectory.q)
    assert one.trajectory.seed == 5


def test_noise_free_torques_of_the_motion_give_the_base_parameters(wrist, plan):
    t = plan.trajectory
    base = structural_identifiability(wrist).base
    Y = base.base_regressor(joint_torque_regressor(wrist, t.q, t.v, t.a)).reshape(-1, base.rank)
    tau = wrist.inverse_dynamics(t.q, t.v, t.a).ravel()
    found = np.linalg.lstsq(Y, tau, rcond=None)[0]
    np.testing.assert_allclose(found, base.base_values(wrist.pi.ravel()), atol=1e-9)


@pytest.mark.slow
def test_no_room_is_an_error_that_says_so(wrist, limits):
    boxed = limits.replace(workspace=((-0.01, -0.01, -0.01), (0.01, 0.01, 0.01)))
    with pytest.raises(ExcitationError, match="No motion of"):
        plan_arm_motion(wrist, boxed, n_candidates=2, n_starts=1, n_iterations=1)


@pytest.mark.slow
def test_an_xarm_is_excited_in_all_43_base_parameters():
    model = RobotModel.from_urdf("xarm7")
    limits = MotionLimits.from_model(model, tcp_speed=1.0, ground_height=0.0)
    plan = plan_arm_motion(model, limits, n_candidates=20, n_starts=1, n_iterations=10)
    assert plan.check.is_safe
    assert "maximally exciting: 43 of 43" in str(plan.quality)
    # The same rank by another way: of the full regressor, without the structural answer.
    t = plan.trajectory
    Y = joint_torque_regressor(model, t.q[::5], t.v[::5], t.a[::5]).reshape(-1, 70)
    assert numerical_rank(Y, tolerance=1e-8).rank == 43


# --- sines


def test_sines_have_the_peak_velocity_and_amplitude_asked_for(wrist, limits):
    roomy = limits.replace(acceleration=100.0, tcp_speed=2.0)
    checker = MotionChecker(wrist, roomy)
    trajectory = plan_sines(checker, [-1.2, -1.5, 0.0], [0.3, 0.0, 0.2], [1.8, 1.0, 1.0], 8.0)
    assert np.abs(trajectory.v).max(axis=0) == pytest.approx([1.8, 0.0, 1.0], rel=1e-3)
    assert np.abs(trajectory.q[:, 2]).max() == pytest.approx(0.2, rel=1e-3)
    np.testing.assert_array_equal(trajectory.v[[0, -1]], 0.0)


def test_sines_that_break_a_limit_are_refused(wrist, limits):
    with pytest.raises(ExcitationError, match="velocity of wrist"):
        plan_sines(MotionChecker(wrist, limits), [-1.2, -1.5, 0.0], 0.3, 5.0, 4.0)
