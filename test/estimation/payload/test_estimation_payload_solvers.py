# SPDX-License-Identifier: Apache-2.0
"""Point masses, entropic prior and entropic regression against cvxpy on the raw problems."""

import cvxpy as cp
import numpy as np
import pytest
from payload_scenes import hammer_like, swinging

from sysid_core.estimation.fit.consistent_problem import pseudo_inertia_expression
from sysid_core.estimation.payload import CompressedWrenches, DensityPrior, PointMassDiscretization
from sysid_core.estimation.payload.data import dynamism
from sysid_core.estimation.payload.entropic import EntropicRegression, HomogeneousBody
from sysid_core.estimation.payload.estimators import PayloadLMI
from sysid_core.estimation.payload.least_squares import PayloadOLS, RecursiveTotalLeastSquares
from sysid_core.robot import pseudo_inertia_from_pi, wrench_regressor


def raw_problem(shape, data, scale):
    """All rows, uncompressed: full and reduced models of the cells, weights, wrenches."""
    Phi = shape.parameters_per_mass
    still = np.zeros_like(data.gravity)
    full = (data.regressor @ Phi).reshape(-1, len(shape))
    reduced = (wrench_regressor(-data.gravity, still, still) @ Phi).reshape(-1, len(shape))
    nu = dynamism(data.a, data.omega, data.alpha, data.gravity)
    w = np.repeat(np.tanh(3.0 * nu / scale), 6)
    return full, reduced, w, data.wrench.ravel()


@pytest.mark.parametrize("squared", [False, True], ids=["SOCP", "QP"])
def test_point_masses_solve_the_papers_problem(squared, rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, seconds=0.5)
    A, A_reduced, w, b = raw_problem(shape, data, 300.0)
    estimator = PointMassDiscretization(shape, squared=squared)
    ours = estimator.masses(CompressedWrenches.from_data(data, 300.0))

    def terms(m):
        return [
            cp.multiply(1.0 - w, A_reduced @ m - b),
            cp.multiply(w, A @ m - b),
            np.sqrt(0.1) * m if squared else 0.1 * m,
        ]

    m = cp.Variable(len(shape), nonneg=True)
    norm = cp.sum_squares if squared else cp.norm
    problem = cp.Problem(cp.Minimize(sum(norm(term) for term in terms(m))))
    problem.solve(solver=cp.CLARABEL)
    value = sum(float(norm(term).value) for term in terms(ours))
    assert value == pytest.approx(problem.value, rel=1e-6)
    assert np.all(ours >= 0)
    Phi = shape.parameters_per_mass
    assert np.allclose(Phi @ ours, Phi @ m.value, rtol=1e-3, atol=1e-5)


def test_the_dynamism_is_the_papers_equation_4():
    nu = dynamism([1.0, 0.0, 9.81], [0.0, 0.5, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, -9.81])
    assert nu == pytest.approx(1.0 + 1.0 + 4.0)


def test_the_entropic_masses_minimise_their_objective(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, seconds=0.5)
    prior = DensityPrior(shape, contrast=0.7)
    information = CompressedWrenches.from_data(data)
    R = np.vstack([information.force / 0.1, information.torque / 0.005])
    ours = prior.most_likely_masses(R[:, :10], R[:, 10])
    reference = ours.sum() * prior.cells.volumes / shape.volume
    kappa = 56.0 / (0.7**2 * ours.sum())
    m = cp.Variable(len(reference))
    residual = R[:, :10] @ prior.cells.parameters_per_mass @ m - R[:, 10]
    objective = 0.5 * cp.sum_squares(residual) + kappa * cp.sum(cp.kl_div(m, reference))
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    assert np.allclose(ours, m.value, atol=1e-4 * ours.max())


def test_the_entropic_regression_minimises_its_objective(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, seconds=0.5)
    ours = EntropicRegression(shape, weight=0.3).fit(data).values
    start = HomogeneousBody(shape).fit(data).values
    pull = np.linalg.inv(pseudo_inertia_from_pi(start))
    x = cp.Variable(10)
    scale = np.array([1.0] + [0.1] * 3 + [0.01] * 6)
    P = pseudo_inertia_expression(cp.multiply(scale, x))
    residual = data.regressor.reshape(-1, 10) @ cp.multiply(scale, x) - data.wrench.ravel()
    objective = cp.sum_squares(residual) + 0.3 * (cp.trace(pull @ P) - cp.log_det(P))
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    assert np.allclose(ours / scale, x.value, atol=2e-4)


def test_the_lmi_solution_minimises_the_residual_over_consistent_bodies(rng):
    _, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, speed=0.4, seconds=0.5)
    free = PayloadOLS().fit(data)
    ours = PayloadLMI().fit(data)

    def cost(estimate):
        return float(np.sum((data.regressor @ estimate.values - data.wrench) ** 2))

    x = cp.Variable(10)
    scale = np.array([1.0] + [0.1] * 3 + [0.01] * 6)
    P = pseudo_inertia_expression(cp.multiply(scale, x), 0.1)
    residual = data.regressor.reshape(-1, 10) @ cp.multiply(scale, x) - data.wrench.ravel()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(residual)), [P >> 0])
    problem.solve(solver=cp.CLARABEL)
    assert cost(ours) == pytest.approx(problem.value, rel=1e-4)
    assert cost(free) < cost(ours)


def test_least_squares_and_total_least_squares_agree_without_noise(rng):
    _, pi = hammer_like(rng)
    data = swinging(pi, rng)
    ordinary, total = PayloadOLS().fit(data), RecursiveTotalLeastSquares().fit(data)
    assert np.allclose(ordinary.values, pi, rtol=1e-7, atol=1e-10)
    assert np.allclose(total.values, pi, rtol=1e-7, atol=1e-10)


def test_total_least_squares_is_the_singular_vector_of_all_rows(rng):
    _, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    rows = np.hstack([data.regressor.reshape(-1, 10), data.wrench.reshape(-1, 1)])
    v = np.linalg.svd(rows, full_matrices=False)[2][-1]
    total = RecursiveTotalLeastSquares().fit(data).values
    assert np.allclose(total, -v[:10] / v[10], rtol=1e-6, atol=1e-9)


def test_compression_loses_nothing_and_adds_up(rng):
    _, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    whole = CompressedWrenches.from_data(data, 300.0)
    parts = CompressedWrenches(300.0)
    for k in range(len(data)):
        parts.add(data.select([k]))
    y = np.append(rng.normal(size=10), -1.0)
    rows = np.concatenate([data.regressor, data.wrench[:, :, None]], axis=2) @ y
    for information in (whole, parts):
        assert np.linalg.norm(information.force @ y) == pytest.approx(np.linalg.norm(rows[:, :3]))
        assert np.linalg.norm(information.torque @ y) == pytest.approx(np.linalg.norm(rows[:, 3:]))


def test_gravity_alone_has_rank_four_and_says_so(rng):
    shape, pi = hammer_like(rng)
    moving = swinging(pi, rng)
    still = np.zeros_like(moving.omega)
    wrench = wrench_regressor(-moving.gravity, still, still) @ pi
    data = type(moving)(moving.time, wrench, -moving.gravity, still, still, moving.gravity)
    estimate = PayloadOLS().fit(data)
    assert estimate.rank == 4
    assert [v.value for v in estimate.verdicts[:4]] == ["identifiable"] * 4
    assert all(v.value != "identifiable" for v in estimate.verdicts[4:])
    assert np.allclose(estimate.values[:4], pi[:4], rtol=1e-9)
    (poor,) = (r for r in estimate.certify() if r.code == "payload-rank")
    assert poor.data["rank"] == 4 and "`sysid plan payload`" in poor.remedy
    reduced = PointMassDiscretization(shape).fit(data)
    assert np.allclose(reduced.values[:4], pi[:4], rtol=1e-8, atol=1e-10)
