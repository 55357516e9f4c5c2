# SPDX-License-Identifier: Apache-2.0
"""Motions designed by the expected covariance: slopes, criteria, search and what is promised."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ExcitationError
from sysid_core.excitation import (
    ArmPlan,
    FourierBasis,
    MotionChecker,
    MotionLimits,
    Obstacle,
    Plane,
    Unknowns,
    check_motion,
    plan_arm_motion,
    plan_validation_motion,
)
from sysid_core.excitation.design import (
    Criterion,
    ExcitationProblem,
    Expectation,
    Tree,
    build_score,
    conditioning,
    nearness,
    share_between_samples,
)
from sysid_core.identifiability import numerical_rank
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import FrictionTerm, RobotModel, joint_torque_regressor

QUICK = {"period": 6.0, "n_candidates": 4, "n_starts": 2, "n_iterations": 30}


@pytest.fixture(scope="module")
def wrist() -> RobotModel:
    """The last three joints of a UR5: a small arm that plans quickly."""
    model = RobotModel.from_urdf("ur5")
    return model.with_locked(dict(zip(model.joint_names[:3], [0.0, -1.2, 1.2], strict=True)))


@pytest.fixture(scope="module")
def limits(wrist) -> MotionLimits:
    return MotionLimits.from_model(wrist, tcp_frame="tool0", ground_height=0.0)


@pytest.fixture(scope="module")
def unknowns(wrist) -> Unknowns:
    return Unknowns.of_arm(wrist)


@pytest.fixture(scope="module")
def plan(wrist, limits) -> ArmPlan:
    return plan_arm_motion(wrist, limits, seed=1, **QUICK)


# --- slopes


@pytest.mark.parametrize("robot", ["panda", "xarm7", "stanford"])
def test_slopes_of_the_regressor_are_those_of_finite_differences(robot, rng):
    """A prismatic joint among them; the regressor itself is pinocchio's."""
    from sysid_core.robot import load_robot

    model, step = load_robot(robot), 1e-5
    states = rng.normal(size=(3, 4, model.nv))
    pull = rng.normal(size=(4, model.nv, 10 * model.n_bodies))
    motion = Tree(model).move(*states)
    slopes = motion.joint_slopes(motion.regressor_pull(pull))
    for kind in range(3):
        for j in range(model.nv):
            moved = [[x.copy() for x in states] for _ in range(2)]
            moved[0][kind][:, j] += step
            moved[1][kind][:, j] -= step
            up, down = (
                np.sum(pull * joint_torque_regressor(model, *x), axis=(1, 2)) for x in moved
            )
            numeric = (up - down) / (2 * step)
            np.testing.assert_allclose(slopes[kind][:, j], numeric, rtol=1e-6, atol=1e-6)


def problem_of(model, limits, criterion, unknowns=None, **options) -> ExcitationProblem:
    unknowns = unknowns or Unknowns.of_arm(model)
    score = build_score(unknowns, criterion, 8.0, **options)
    return ExcitationProblem(MotionChecker(model, limits), unknowns, score, FourierBasis(8.0, 4))


def assert_gradient(problem, x, rng, tolerance):
    _, gradient = problem.value_and_gradient(x)
    for _ in range(4):
        direction = rng.normal(size=len(x))
        direction /= np.linalg.norm(direction)
        up, down = (problem.value_and_gradient(x + s * 1e-6 * direction)[0] for s in (1, -1))
        assert gradient @ direction == pytest.approx((up - down) / 2e-6, rel=tolerance, abs=1e-3)


@pytest.mark.parametrize("criterion", list(Criterion))
def test_gradient_of_every_criterion_is_exact(wrist, limits, rng, criterion):
    unknowns = Unknowns.of_arm(
        wrist, terms=[*FrictionTerm][:4] + [FrictionTerm.ASYMMETRY, FrictionTerm.STRIBECK]
    )
    targets = {"targets": unknowns.names[2:4]} if criterion is Criterion.TARGET else {}
    problem = problem_of(wrist, limits, criterion, unknowns, **targets)
    problem.penalty = 0.0
    assert_gradient(problem, rng.normal(size=problem.n_variables), rng, 1e-5)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("position", {"upper": 0.5}),
        ("velocity", {"velocity": 0.5}),
        ("acceleration", {"acceleration": 0.5}),
        ("jerk", {"jerk": 0.5}),
        ("effort", {"effort": 0.5}),
        ("tcp speed", {"tcp_speed": 0.05}),
        ("ground", {"ground_height": 0.4}),
        ("workspace", {"workspace": ((-0.2, -0.2, 0.0), (0.4, 0.2, 0.5))}),
        ("plane", {"planes": (Plane((1, 1, 0), 0.4),)}),
        ("contact", {"obstacles": (Obstacle("ball", (0.5, 0.2, 0.5), sphere=0.15),)}),
    ],
)
def test_every_limit_has_its_slope(wrist, limits, rng, kind, changes):
    wide = limits.replace(
        velocity=50.0, acceleration=500.0, tcp_speed=50.0, effort=1e4, ground_height=None,
        self_collision=False, lower=-50.0, upper=50.0,
    )  # fmt: skip
    problem = problem_of(wrist, wide.replace(**changes), "d")
    x = rng.normal(size=problem.n_variables)
    problem.value_and_gradient(x)
    assert {k for k, v in problem.last_excess.items() if v > 0} == {kind}
    # Where hulls overlap deeply the nearest way out jumps: there the check decides.
    assert_gradient(problem, x, rng, 0.5 if kind == "contact" else 1e-5)


def test_series_keep_between_samples_what_samples_promise(rng):
    for degree, n_samples in ((3, 12), (5, 60), (8, 20)):
        coarse, fine = (2 * np.pi * np.arange(n) / n for n in (n_samples, 20000))
        share = share_between_samples(degree, n_samples)
        for _ in range(50):
            c = rng.normal(size=(2, degree + 1))
            values = [
                sum(c[0, k] * np.cos(k * t) + c[1, k] * np.sin(k * t) for k in range(degree + 1))
                for t in (coarse, fine)
            ]
            assert np.abs(values[1]).max() <= np.abs(values[0]).max() / share * (1 + 1e-9)


# --- what is expected


def test_criteria_are_what_they_are_called(unknowns, rng):
    motion = rng.normal(size=(3, 60, 3))
    Phi = unknowns.regressor(*motion)
    white = (Phi / unknowns.effort_sd[:, None]).reshape(-1, Phi.shape[2])
    mean = white.T @ white / 60
    P = np.linalg.inv(mean * 8.0 / unknowns.correlation + unknowns.prior_information)
    relative = P / np.outer(unknowns.size, unknowns.size)
    b = len(P)

    def value(criterion: str, information=mean, **options) -> float:
        return build_score(unknowns, criterion, 8.0, **options).value_and_slope(information)[0]

    assert value("d") == pytest.approx(np.linalg.slogdet(relative)[1], rel=1e-8)
    assert value("a") == pytest.approx(b * np.log(np.trace(relative)), rel=1e-8)
    worst = np.log(np.diag(relative).max())
    assert worst <= value("worst") / b <= worst + np.log(b) / 8 + 1e-9
    name = unknowns.names[5]
    assert value("target", targets=(name,)) == pytest.approx(b * np.log(relative[5, 5]), rel=1e-8)
    predicted = np.mean(np.einsum("krb,bc,krc,r->kr", Phi, P, Phi, unknowns.effort_sd**-2.0))
    task = tuple(motion)
    assert value("target", task=task) == pytest.approx(b * np.log(predicted), rel=1e-8)
    # Condition numbers: the smooth value lies above the true one, by little.
    rigid = Phi[..., : unknowns.n_rigid].reshape(-1, unknowns.n_rigid)
    raw = Phi.reshape(-1, b).T @ Phi.reshape(-1, b)
    unit = np.log(np.linalg.cond(rigid / np.linalg.norm(rigid, axis=0)))
    found = value("condition", raw) / unknowns.n_rigid
    assert unit <= found <= unit + np.log(unknowns.n_rigid) / 8
    Y = joint_torque_regressor(unknowns.model, *motion).reshape(-1, 30)
    s = np.linalg.svd(Y, compute_uv=False)
    found = value("condition-si", raw) / unknowns.n_rigid
    true = np.log(s[0] / s[unknowns.n_rigid - 1])
    assert true <= found <= true + np.log(unknowns.n_rigid) / 8
    assert conditioning(unknowns, *motion).eigenvalue_ratio == pytest.approx(np.exp(2 * true))


def test_expected_deviations_are_those_of_repeated_experiments(unknowns, rng):
    """Torques with white noise, estimated many times with the prior as pseudo-measurement."""
    step = 0.1
    unknowns = Unknowns.of_arm(unknowns.model, correlation=step)
    motion = rng.normal(size=(3, 80, 3))
    expected = Expectation.of(unknowns, unknowns.information(*motion, 80 * step), 80 * step)
    Phi = unknowns.regressor(*motion)
    W = (Phi / unknowns.effort_sd[:, None]).reshape(-1, Phi.shape[2])
    root = np.linalg.cholesky(unknowns.prior_information).T
    stacked = np.vstack([W, root])
    errors = np.linalg.lstsq(stacked, rng.normal(size=(len(stacked), 2000)), rcond=None)[0]
    np.testing.assert_allclose(errors.std(axis=1), expected.deviation, rtol=0.08)


def test_a_rich_motion_reaches_the_structural_rank_and_a_poor_one_says_what_is_missing(
    wrist, unknowns, rng
):
    q, v, a = rng.normal(size=(3, 50, 3))
    rich = conditioning(unknowns, q, v, a)
    rank = structural_identifiability(wrist).n_base
    assert f"maximally exciting: {rank} of {rank}" in str(rich)
    only = np.array([0.0, 0.0, 1.0])
    poor = conditioning(unknowns, q[0] + (q - q[0]) * only, v * only, a * only)
    assert not poor.excitation.maximally_exciting
    assert "don't show" in str(poor)


def test_drive_inertia_that_joins_a_link_is_counted_once(wrist):
    unknowns = Unknowns.of_arm(RobotModel.from_urdf("ur5"))
    # The first axis' rotor inertia and the body's own about it can't be told apart.
    assert len(unknowns.names) < 36 + 24
    assert numerical_rank(
        unknowns.regressor(*np.random.default_rng(0).normal(size=(3, 60, 6))).reshape(360, -1)
    ).rank == len(unknowns.names)


# --- what is known before


def test_planning_after_a_motion_is_planning_with_the_stacked_information(unknowns, rng):
    first, second = rng.normal(size=(2, 3, 40, 3))
    one = unknowns.information(*first, 4.0)
    later = unknowns.after_information(one)
    np.testing.assert_allclose(
        later.prior_information, unknowns.prior_information + one, rtol=1e-6, atol=1e-6 * one.max()
    )
    two = unknowns.information(*second, 4.0)
    np.testing.assert_allclose(
        Expectation.of(later, two, 4.0).deviation,
        Expectation.of(unknowns, one + two, 8.0).deviation,
        rtol=1e-5,
    )


def test_an_estimate_s_covariance_replaces_the_prior_of_what_it_has(unknowns):
    names = unknowns.base.names[:30]
    later = unknowns.after(names, 1e-6 * np.eye(30))
    before, after = (
        Expectation.of(u, np.zeros((len(u.names),) * 2), 1.0).deviation for u in (unknowns, later)
    )
    rigid = unknowns.n_rigid
    assert np.all(after[:rigid] < before[:rigid])
    np.testing.assert_allclose(after[rigid:], before[rigid:], rtol=1e-3)
    with pytest.raises(ExcitationError, match="none of the parameters"):
        unknowns.after(["other.m"], [[1.0]])


@pytest.mark.slow
def test_what_is_known_is_not_planned_for_again(wrist, limits, unknowns):
    """The friction is known: all of the motion goes to the rest."""
    friction = list(unknowns.friction.names)
    later = unknowns.after(friction, 1e-10 * np.eye(len(friction)))
    # This search converges more slowly: after 30 and 100 iterations it is still behind. 300 is usual.
    enough = {**QUICK, "n_iterations": 300}
    plans = [
        plan_arm_motion(wrist, limits, unknowns=u, seed=2, **enough) for u in (unknowns, later)
    ]
    judged = [
        Expectation.of(
            later, later.information(*(x for x in motion(p)), p.basis.period), 8.0
        ).mean_deviation
        for p in plans
    ]
    assert judged[1] < judged[0]


def motion(plan: ArmPlan) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    time = np.arange(200) * plan.basis.period / 200
    return plan.basis.motion(time, plan.centre, plan.coefficients)


# --- the search


def test_planned_motion_keeps_all_limits_and_is_maximally_exciting(wrist, limits, plan):
    assert check_motion(wrist, plan.trajectory, limits).is_safe
    rank = structural_identifiability(wrist).n_base
    assert plan.conditioning.excitation.rank == rank
    assert [s.label for s in plan.trajectory.segments] == ["still", "fourier", "settle"]


def test_optimisation_beats_the_random_motions(plan):
    assert plan.random is not None
    assert plan.expectation.mean_deviation < 0.7 * plan.random.mean_deviation


def test_the_report_says_what_more_time_would_bring(plan):
    curve = dict(plan.alternatives())
    once, twice = (curve[k].data / plan.unknowns.size for k in ("as planned", "twice as long"))
    np.testing.assert_allclose(once / twice, np.sqrt(2.0), rtol=1e-6)
    assert "of" in str(plan.expectation) and "known better than 10 %" in str(plan.expectation)


@pytest.mark.slow
def test_a_target_is_known_better_than_by_a_general_motion(wrist, limits, plan, unknowns):
    i = int(np.argmax(plan.expectation.relative))
    targeted = plan_arm_motion(
        wrist, limits, seed=1, criterion="target", targets=[unknowns.names[i]], **QUICK
    )
    assert targeted.expectation.deviation[i] < plan.expectation.deviation[i]
    with pytest.raises(ExcitationError, match="No base parameters"):
        plan_arm_motion(wrist, limits, criterion="target", targets=["elbow.m"], **QUICK)


@pytest.mark.slow
def test_the_condition_number_can_be_what_is_made_small(wrist, limits, plan):
    other = plan_arm_motion(wrist, limits, seed=1, criterion="condition", **QUICK)
    assert other.conditioning.unit < plan.conditioning.unit


def test_the_seed_decides_the_motion_and_not_the_number_of_processes(wrist, limits):
    one, two = (plan_arm_motion(wrist, limits, seed=5, processes=n, **QUICK) for n in (1, 2))
    np.testing.assert_array_equal(one.trajectory.q, two.trajectory.q)
    assert one.trajectory.seed == 5
    other = plan_arm_motion(wrist, limits, seed=6, **{**QUICK, "n_iterations": 2})
    assert not np.array_equal(one.trajectory.q, other.trajectory.q)


def test_ctrl_c_keeps_the_best_so_far(wrist, limits):
    said = []

    def interrupt(share: float, text: str) -> None:
        said.append(text)
        if "improving" in text and sum("improving" in t for t in said) == 15:
            raise KeyboardInterrupt

    plan = plan_arm_motion(wrist, limits, seed=1, progress=interrupt, **QUICK)
    assert plan.check.is_safe and 10 <= len(plan.history) < 30
    assert not any("motion 2" in text for text in said)


def test_the_limit_in_the_way_is_named_with_what_it_would_have_to_give(wrist, limits):
    boxed = limits.replace(workspace=((-0.01, -0.01, -0.01), (0.01, 0.01, 0.01)))
    quick = {"n_candidates": 2, "n_starts": 1, "n_iterations": 4}
    with pytest.raises(
        ExcitationError, match=r"In the way: workspace.*have to give 0\.\d+"
    ) as info:
        plan_arm_motion(wrist, boxed, **quick)
    assert info.value.data["blame"][0] == "workspace"


@pytest.mark.slow
def test_a_box_that_barely_binds_costs_little(wrist, limits):
    free = plan_arm_motion(wrist, limits, seed=3, **QUICK)
    checker = MotionChecker(wrist, limits)
    assert checker.geometry is not None
    top = max(checker.geometry.extent(q)[1][2] for q in free.trajectory.q[::10])
    box = ((-2.0, -2.0, -2.0), (2.0, 2.0, float(top) - 0.02))
    bound = plan_arm_motion(wrist, limits.replace(workspace=box), seed=3, **QUICK)
    assert bound.check.is_safe
    assert bound.expectation.mean_deviation < 1.5 * free.expectation.mean_deviation


def test_the_motion_for_validation_is_another_one(wrist, limits, plan):
    other = plan_validation_motion(wrist, limits, plan.trajectory, period=6.0, n_harmonics=4)
    assert check_motion(wrist, other, limits).is_safe
    assert nearness(wrist, other, plan.trajectory) > 0.5
    assert nearness(wrist, plan.trajectory, plan.trajectory) < 0.01


def test_noise_free_torques_of_the_motion_give_the_base_parameters(wrist, plan):
    t = plan.trajectory
    base = structural_identifiability(wrist).base
    Y = base.base_regressor(joint_torque_regressor(wrist, t.q, t.v, t.a)).reshape(-1, base.rank)
    tau = wrist.inverse_dynamics(t.q, t.v, t.a).ravel()
    found = np.linalg.lstsq(Y, tau, rcond=None)[0]
    np.testing.assert_allclose(found, base.base_values(wrist.pi.ravel()), atol=1e-9)


@pytest.mark.slow
def test_an_xarm_is_excited_in_all_43_base_parameters():
    model = RobotModel.from_urdf("xarm7")
    limits = MotionLimits.from_model(model, tcp_speed=1.0, ground_height=0.0)
    plan = plan_arm_motion(model, limits, n_candidates=20, n_starts=1, n_iterations=40)
    assert plan.check.is_safe
    assert "maximally exciting: 43 of 43" in str(plan.conditioning)
    # The same rank by another way: of the full regressor, without the structural answer.
    t = plan.trajectory
    Y = joint_torque_regressor(model, t.q[::5], t.v[::5], t.a[::5]).reshape(-1, 70)
    assert numerical_rank(Y, tolerance=1e-8).rank == 43


def test_what_a_controller_plays_keeps_the_limits_at_10_khz(wrist, limits, plan):
    """Own kinematics and dynamics calls, quintics between knots 50 ms apart: nothing of the check."""
    import pinocchio as pin
    from scipy.interpolate import BPoly

    t = plan.trajectory
    k = np.unique(np.r_[np.arange(0, len(t.time), 5), len(t.time) - 1])
    curve = BPoly.from_derivatives(t.time[k], np.stack([t.q[k], t.v[k], t.a[k]], axis=1))
    time = np.arange(0.0, t.time[-1], 1e-4)
    q, v, a = curve(time), curve.derivative(1)(time), curve.derivative(2)(time)
    assert np.all((q >= limits.lower) & (q <= limits.upper))
    assert np.all(np.abs(v) <= limits.velocity) and np.all(np.abs(a) <= limits.acceleration)
    tree, data = wrist.pin_model, wrist.pin_model.createData()
    frame = tree.getFrameId("tool0")
    for q_k, v_k, a_k in zip(q[::10], v[::10], a[::10], strict=True):
        assert np.all(np.abs(pin.rnea(tree, data, q_k, v_k, a_k)) <= limits.effort)
        pin.forwardKinematics(tree, data, q_k, v_k)
        assert np.linalg.norm(pin.getFrameVelocity(tree, data, frame).linear) <= limits.tcp_speed
