# SPDX-License-Identifier: Apache-2.0
"""Criteria, constraints and slopes of exciting motions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_core.errors import ExcitationError
from sysid_core.identifiability import NumericalRank
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.planning import ArmPlan, MotionChecker, Obstacle
from sysid_core.planning.bases import BSplineBasis, FourierBasis, share_between_samples
from sysid_core.planning.cell import Plane
from sysid_core.planning.design import Conditioning, Expectation, Unknowns
from sysid_core.planning.design.criteria import Criterion, build_score
from sysid_core.planning.design.excitation_problem import ExcitationProblem
from sysid_core.planning.design.tree_motion import Tree
from sysid_core.robot import FrictionTerm, RobotModel

# --- slopes


@pytest.mark.parametrize("robot", ["panda", "xarm7", "stanford"])
def test_slopes_of_the_regressor_are_those_of_finite_differences(robot, rng):
    """A prismatic joint among them; the regressor itself is pinocchio's."""

    model, step = RobotModel.from_urdf(robot), 1e-5
    states = rng.normal(size=(3, 4, model.nv))
    pull = rng.normal(size=(4, model.nv, 10 * model.n_bodies))
    motion = Tree(model).move(*states)
    slopes = motion.joint_slopes(motion.regressor_pull(pull))
    for kind in range(3):
        for j in range(model.nv):
            moved = [[x.copy() for x in states] for _ in range(2)]
            moved[0][kind][:, j] += step
            moved[1][kind][:, j] -= step
            up, down = (np.sum(pull * model.torque_regressor(*x), axis=(1, 2)) for x in moved)
            numeric = (up - down) / (2 * step)
            np.testing.assert_allclose(slopes[kind][:, j], numeric, rtol=1e-6, atol=1e-6)


def problem_of(model, limits, criterion, unknowns=None, **options) -> ExcitationProblem:
    unknowns = unknowns or Unknowns.of_arm(model)
    score = build_score(unknowns, criterion, 8.0, **options)
    return ExcitationProblem(MotionChecker(model, limits), unknowns, score, FourierBasis(8.0, 4))


def test_a_unit_of_any_splines_uses_the_same_share_of_a_joint_s_limits(
    wrist, limits, unknowns, rng
):
    basis = BSplineBasis(4.0, 12, free_end=True)
    score = build_score(unknowns, Criterion.D, 4.0)
    problem = ExcitationProblem(MotionChecker(wrist, limits), unknowns, score, basis)
    z = rng.normal(size=(wrist.nv, basis.n_free))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    coefficients = np.einsum("jab,jb->aj", problem.units(), z)
    _, v, a, _ = problem.motion(np.concatenate([np.zeros(wrist.nv), coefficients.ravel()]))
    used = (v / limits.velocity) ** 2 + (a / limits.acceleration) ** 2
    np.testing.assert_allclose(np.mean(used, axis=0), 1.0, rtol=1e-9)


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


def test_b_splines_rest_at_both_ends_and_their_rates_are_their_derivatives(rng):
    from numpy.polynomial import Polynomial

    basis = BSplineBasis(4.0, 6)
    ends = basis.matrices([0.0, 4.0])
    assert all(np.abs(m).max() < 1e-12 for m in ends[:3]) and basis.matrices([1.0])[0].any()
    t = np.linspace(0.05, 0.6, 12)  # within the first span all rates are those of one quintic
    q, v, a = basis.motion(t, 0.3, rng.normal(size=(basis.n_free, 1)))
    curve = Polynomial.fit(t, q[:, 0], 5)
    np.testing.assert_allclose(v[:, 0], curve.deriv(1)(t), atol=1e-8)
    np.testing.assert_allclose(a[:, 0], curve.deriv(2)(t), atol=1e-7)


def test_gradient_with_b_splines_is_exact(wrist, limits, rng):
    unknowns = Unknowns.of_arm(wrist)
    score, basis = build_score(unknowns, "mean", 6.0), BSplineBasis(6.0, 9)
    problem = ExcitationProblem(MotionChecker(wrist, limits), unknowns, score, basis)
    problem.penalty = 0.0
    assert_gradient(problem, rng.normal(size=problem.n_variables), rng, 1e-5)


def test_a_b_spline_keeps_all_limits_and_the_file_names_it(wrist, limits):
    quick = {"period": 6.0, "n_candidates": 3, "n_starts": 1, "n_iterations": 20}
    plan = ArmPlan.of(wrist, limits, n_spans=12, seed=1, **quick)
    assert plan.check.is_safe
    assert [s.label for s in plan.trajectory.segments] == ["still", "bspline", "settle"]


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
    assert value("mean") == pytest.approx(np.sum(np.log(np.diag(relative))), rel=1e-8)
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
    Y = unknowns.model.torque_regressor(*motion).reshape(-1, 30)
    s = np.linalg.svd(Y, compute_uv=False)
    found = value("condition-si", raw) / unknowns.n_rigid
    true = np.log(s[0] / s[unknowns.n_rigid - 1])
    assert true <= found <= true + np.log(unknowns.n_rigid) / 8
    assert Conditioning.of(unknowns, *motion).eigenvalue_ratio == pytest.approx(np.exp(2 * true))


def test_expected_deviations_are_those_of_repeated_experiments(unknowns, rng):
    """Torques with white noise, estimated many times with the prior as pseudo-measurement."""
    step = 0.1
    unknowns = replace(Unknowns.of_arm(unknowns.model), correlation=step)
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
    rich = Conditioning.of(unknowns, q, v, a)
    rank = structural_identifiability(wrist).n_base
    assert f"maximally exciting: {rank} of {rank}" in str(rich)
    only = np.array([0.0, 0.0, 1.0])
    poor = Conditioning.of(unknowns, q[0] + (q - q[0]) * only, v * only, a * only)
    assert not poor.excitation.maximally_exciting
    assert "do not excite" in str(poor)


def test_drive_inertia_that_joins_a_link_is_counted_once(wrist):
    unknowns = Unknowns.of_arm(RobotModel.from_urdf("ur5"))
    # The first axis' rotor inertia and the body's own about it can't be told apart.
    assert len(unknowns.names) < 36 + 24
    assert NumericalRank.of(
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


def test_an_estimate_s_information_is_added_to_the_prior(unknowns):
    names = unknowns.base.names[:30]
    later = unknowns.after(names, 1e-6 * np.eye(30))
    before, after = (
        Expectation.of(u, np.zeros((len(u.names),) * 2), 1.0).deviation for u in (unknowns, later)
    )
    rigid = unknowns.n_rigid
    assert np.all(after[:rigid] < before[:rigid])
    np.testing.assert_allclose(after[rigid:], before[rigid:], rtol=1e-3)
    weak = unknowns.after(names, 1e6 * np.eye(30))  # knows nothing: nothing is forgotten
    np.testing.assert_allclose(
        weak.prior_covariance, unknowns.prior_covariance, rtol=1e-3, atol=1e-9
    )
    alone = replace(unknowns, prior_covariance=np.diag(np.diag(unknowns.prior_covariance)))
    mine = [alone.base.names.index(name) for name in names]
    found = np.diag(alone.after(names, 1e-6 * np.eye(30)).prior_covariance)[mine]
    np.testing.assert_allclose(
        found, 1.0 / (1.0 / np.diag(alone.prior_covariance)[mine] + 1e6), rtol=1e-6
    )
    with pytest.raises(ExcitationError, match="none of the planned parameters"):
        unknowns.after(["other.m"], [[1.0]])


@pytest.mark.parametrize("criterion", ["d", "mean", "worst"])
def test_what_is_known_is_not_planned_for_again(unknowns, rng, criterion):
    """With known friction, no planner gains by a motion that excites it more."""
    friction = list(unknowns.friction.names)
    rigid = unknowns.n_rigid
    later = unknowns.after(friction, 1e-10 * np.eye(len(friction)))
    information = unknowns.information(*rng.normal(size=(3, 200, 3)), 6.0)
    gains = []
    for known in (unknowns, later):
        score = build_score(known, criterion, 6.0)
        slope = np.abs(score.value_and_slope(information)[1])
        gains.append(slope[rigid:, rigid:].max() / slope[:rigid, :rigid].max())
    assert gains[1] < 1e-4 * gains[0]
