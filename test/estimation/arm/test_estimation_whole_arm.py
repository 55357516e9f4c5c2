# SPDX-License-Identifier: Apache-2.0
"""The whole arm's estimators: their contract, their weights, their deviations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from whole_arm_estimators import ESTIMATORS, PHYSICAL, WIDE, held_out_error
from whole_arm_simulation import (
    USUAL_VALUES,
    arm,
    friction_model,
    recording,
)

from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.estimation.arm import Identification
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares
from sysid_core.estimation.fit.regression import compress
from sysid_core.estimation.fit.uncertainty import score_covariance
from sysid_core.robot import (
    is_physically_consistent,
)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_noise_free_data_give_torques_of_the_truth(name, exact_equations):
    result = identify_equations(exact_equations, ESTIMATORS[name]())
    # A prior pulls by less than the solver's tolerance where data are exact.
    assert held_out_error(result, arm(), USUAL_VALUES) < (1e-8 if "ls" in name else 1e-5)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_keeps_the_contract(name, equations, tmp_path):
    estimator = ESTIMATORS[name]()
    regression = equations.regression(equations.prior)
    estimate = estimator.fit(regression)
    again = estimator.fit(regression)
    assert np.array_equal(estimate.values, again.values)
    assert set(estimate.names) <= set(regression.names)
    assert estimate.rank == estimate.structural_rank == regression.base.rank
    assert np.all(np.linalg.eigvalsh(estimate.covariance) >= -1e-9 * estimate.covariance.max())
    assert set(estimate.residual_rms) == {"joint1", "joint2", "joint3"}
    assert 1.0 < estimate.condition_number < 1e4
    estimate.save(tmp_path / "estimate.yaml")
    assert Estimate.load(tmp_path / "estimate.yaml").values == pytest.approx(estimate.values)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_noisy_data_predict_a_held_out_motion(name, equations):
    result = identify_equations(equations, ESTIMATORS[name]())
    assert held_out_error(result, arm(), USUAL_VALUES) < 0.02


@pytest.mark.parametrize("name", PHYSICAL)
def test_half_a_second_never_gives_a_negative_mass_or_inertia(name):
    truth, friction = arm(), friction_model()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        run = recording(truth, friction, USUAL_VALUES, rng, duration=0.5, noise=1.0)
        result = Identification.of(truth, [run], friction, ESTIMATORS[name](), WIDE)
        assert np.all(result.pi[:, 0] > 0.0)
        assert np.all(is_physically_consistent(result.pi))
        assert result.physically_consistent


def test_a_motion_of_one_joint_names_what_it_does_not_show():
    rng = np.random.default_rng(1)
    truth, friction = arm(), friction_model()
    run = recording(truth, friction, USUAL_VALUES, rng, noise=0.2)
    stream = run.joints
    q, v = stream.q.copy(), stream.v.copy()
    q[:, :2], v[:, :2] = 0.1, 0.0
    a = np.gradient(v, stream.time, axis=0)
    rigid = truth.inverse_dynamics(q, v, a)
    effort = (rigid + friction.regressor(q, v, a) @ USUAL_VALUES) / friction.drives.gains
    effort = effort + 0.02 * rng.normal(size=effort.shape)
    alone = replace(run, joints=replace(stream, q=q, v=v, effort=effort))
    result = Identification.of(truth, [alone], friction, ConsistentLeastSquares(), WIDE)
    estimate = result.estimate
    assert estimate.rank < estimate.structural_rank
    assert any(reason.code == "estimate-rank" for reason in estimate.certify())
    assert any("Poorly excited" in note for note in estimate.notes)
    verdict = dict(zip(estimate.names, estimate.verdicts, strict=True))
    assert verdict["joint1.F_v"] is ParameterVerdict.PRIOR_DOMINATED
    assert verdict["joint3.F_v"] is ParameterVerdict.IDENTIFIABLE
    assert result.physically_consistent


def test_sensor_noise_of_a_joint_at_rest_is_no_excitation():
    rng = np.random.default_rng(1)
    truth, friction = arm(), friction_model()
    run = recording(truth, friction, USUAL_VALUES, rng, noise=0.05)
    q, v = run.joints.q.copy(), run.joints.v.copy()
    q[:, 2], v[:, 2] = 0.3, 0.0
    a = np.gradient(v, run.joints.time, axis=0)
    rigid = truth.inverse_dynamics(q, v, a)
    tau = rigid + friction.regressor(q, v, a, rigid) @ USUAL_VALUES
    joints = replace(
        run.joints,
        q=q,
        v=v + 1e-3 * rng.normal(size=v.shape),
        effort=(tau + 0.05 * rng.normal(size=tau.shape)) / friction.drives.gains,
    )
    result = Identification.of(
        truth, [replace(run, joints=joints)], friction, LeastSquares("joint"), WIDE
    )
    notes = " ".join(result.estimate.notes)
    assert "joint3.F_v" in notes and "joint2.F_v" not in notes
    assert result.estimate.rank < result.estimate.structural_rank


def test_verdicts_follow_the_structure(equations):
    verdicts = dict(
        zip(
            (e := identify_equations(equations, ConsistentLeastSquares()).estimate).names,
            e.verdicts,
            strict=True,
        )
    )
    assert verdicts["link1.m"] is ParameterVerdict.UNIDENTIFIABLE  # turns about the vertical
    assert verdicts["link3.m"] is ParameterVerdict.COMBINATION
    assert verdicts["joint2.F_c"] is ParameterVerdict.IDENTIFIABLE
    assert verdicts["link1.Izz"] is verdicts["joint1.I_a"] is ParameterVerdict.COMBINATION


@pytest.mark.parametrize("name", ["wls", "lmi"])
def test_fixed_inertials_stay_and_friction_is_found(name):
    rng = np.random.default_rng(2)
    truth, friction = arm(), friction_model()
    run = recording(truth, friction, USUAL_VALUES, rng, noise=0.2)
    estimator = (
        LeastSquares("joint", fixed=["inertials"])
        if name == "wls"
        else ConsistentLeastSquares(fixed=["inertials"])
    )
    result = Identification.of(truth, [run], friction, estimator, WIDE)
    assert result.pi == pytest.approx(truth.pi)
    assert list(result.friction_parameters.values()) == pytest.approx(
        USUAL_VALUES, rel=0.05, abs=0.05
    )


def test_outliers_do_not_move_the_robust_fit(exact_equations):
    rng = np.random.default_rng(3)
    span = exact_equations.spans[0]
    tau = span.tau + 0.05 * rng.normal(size=span.tau.shape)
    tau[100:130, 1] += 60.0  # a collision
    spoilt = replace(exact_equations, spans=(replace(span, tau=tau),))
    errors = {
        name: held_out_error(identify_equations(spoilt, ESTIMATORS[name]()), arm(), USUAL_VALUES)
        for name in ("wls", "irls", "lmi-robust")
    }
    assert errors["irls"] < 0.2 * errors["wls"]
    assert errors["lmi-robust"] < 0.2 * errors["wls"]


@pytest.mark.parametrize("name", ["irls", "lmi-robust"])
def test_an_iterated_fit_says_how_it_converged(equations, name):
    changes = ESTIMATORS[name]().fit(equations.regression(equations.prior)).changes
    assert len(changes) > 1
    assert changes[-1] <= 1e-3 < changes[0], "deviations"


def test_compressed_equations_give_the_same_sums_of_squares(equations):
    regression = equations.regression(equations.prior)
    data = compress(regression)
    pi = np.random.default_rng(0).normal(size=len(regression.names))
    direct = np.mean((regression.tau - regression.Y @ pi) ** 2, axis=0)
    assert data.variances(pi) == pytest.approx(direct, rel=1e-9)
    weights = np.array([1.0, 2.0, 0.5])
    R, r = data.weighted(weights)
    total = np.sum((R @ pi - r) ** 2)
    best = np.linalg.lstsq(R, r, rcond=None)[0]
    stacked = np.sqrt(weights)[None, :, None] * regression.Y
    target = np.sqrt(weights)[None, :] * regression.tau
    assert total - np.sum((R @ best - r) ** 2) == pytest.approx(
        np.sum((target - stacked @ pi) ** 2) - np.sum((target - stacked @ best) ** 2), rel=1e-6
    )


def test_covariance_of_scores_matches_simulated_correlated_noise():
    rng = np.random.default_rng(8)
    K, b = 3000, 3
    Y = np.sin(np.linspace(0, 40, K)[:, None, None] * np.array([1.0, 1.7, 2.3]))
    taps = np.exp(-np.arange(40) / 8.0)
    scores, estimates = [], []
    for _ in range(200):
        e = np.convolve(rng.normal(size=K + 39), taps, "valid")[:, None]
        scores.append(Y[:, 0].T @ e[:, 0])
        estimates.append(score_covariance([(slice(0, len(Y)), Y)], e, (0,), 400)[0])
    truth = np.diag(np.cov(np.array(scores).T))
    assert np.diag(np.mean(estimates, axis=0)) == pytest.approx(truth, rel=0.25)
    assert b == len(truth)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wls", "lmi"])
def test_truth_lies_within_two_deviations_at_the_nominal_rate(name):
    truth, friction = arm(), friction_model()
    inside = []
    for seed in range(25):
        rng = np.random.default_rng(100 + seed)
        run = recording(truth, friction, USUAL_VALUES, rng, duration=12.0, noise=0.5)
        result = Identification.of(truth, [run], friction, ESTIMATORS[name](), WIDE)
        e = result.estimate
        known = {f"{n}": x for n, x in zip(friction.names, USUAL_VALUES, strict=True)}
        # These two show only together with the links' inertias: no deviation is claimed for them.
        open_ = {"joint1.I_a", "joint2.I_a"}
        assert set(known) & set(e.unknown) == (open_ & set(e.names) if name == "lmi" else set())
        names = [n for n in known if n in e.names and n not in e.unknown and n != "joint1.I_a"]
        assert len(names) >= 10
        sd = dict(zip(e.names, e.standard_deviations, strict=True))
        inside += [abs(e[n] - known[n]) <= 2.0 * sd[n] for n in names]
    assert 0.90 <= np.mean(inside) <= 0.995
