# SPDX-License-Identifier: Apache-2.0
"""Standard deviations are correct: estimates are within two of them as often as they should be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from whole_arm_simulation import USUAL_VALUES, arm, friction_model, recording

from sysid_core.estimation import Estimate, ParameterVerdict
from sysid_core.estimation.arm import ArmEquations, Processing
from sysid_core.estimation.arm.equations import first_times
from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares, Regression
from sysid_core.estimation.fit.model_error import DAYS, moderated, spread_between
from sysid_core.estimation.fit.uncertainty import score_covariance
from sysid_core.signals import JointStream

WIDE = Processing(rate_hz=200.0, motion_cutoff_hz=30.0, torque_cutoff_hz=8.0)
METHODS = {
    "ols": lambda **k: LeastSquares("none", **k),
    "wls": lambda **k: LeastSquares("joint", **k),
    "irls": lambda **k: LeastSquares("robust", **k),
    **{
        f"{prior}-{weighting}": lambda p=prior, w=weighting, **k: ConsistentLeastSquares(
            p, weighting=w, **k
        )
        for prior in ("quadratic", "entropic")
        for weighting in ("none", "joint", "robust")
    },
}
NOISE = np.array([0.3, 0.6, 0.15])  # N m


@pytest.fixture(scope="module")
def clean() -> Regression:
    """Equations of an arm whose torques are exactly those of its parameters."""
    rng, truth = np.random.default_rng(0), arm()
    run = recording(truth, friction_model(), USUAL_VALUES, rng, duration=10.0)
    regression = ArmEquations.build(truth, [run], friction_model(), WIDE).regression(
        truth.pi.ravel()
    )
    true = np.concatenate([truth.pi.ravel(), USUAL_VALUES])
    return replace(regression, tau=regression.predict(true))


def noisy(clean: Regression, rng: np.random.Generator, outliers: float, size: float) -> Regression:
    """The same with noise correlated over some samples, and a share of outliers of some sigma."""
    e = rng.normal(size=clean.tau.shape)
    for k in range(1, len(e)):
        e[k] = 0.6 * e[k - 1] + 0.8 * e[k]
    spoilt = rng.random(e.shape) < outliers
    e = e + spoilt * size * rng.choice([-1.0, 1.0], e.shape)
    return replace(clean, tau=clean.tau + NOISE * e)


def data_part(estimate: Estimate) -> Estimate:
    return estimate if estimate.measured is None else estimate.measured


@pytest.mark.parametrize("outliers", [(0.0, 0.0), (0.05, 50.0), (0.02, 500.0)], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_95_percent_of_estimates_are_inside_two_deviations(clean, method, outliers):
    robust = "irls" in method or "robust" in method
    if outliers[0] and not robust:
        pytest.skip("outliers as large as these need a robust method")
    true = np.concatenate([arm().pi.ravel(), USUAL_VALUES])
    rng, inside, sd = np.random.default_rng(1), [], []
    for _ in range(6 if "-" in method and "irls" not in method else 12):
        regression = noisy(clean, rng, *outliers)
        found = data_part(METHODS[method]().fit(regression))
        pi_b = regression.base.base_values(true)
        # Consistency and signs bind some parameters: they are then closer than their deviation.
        inside.append(np.abs(found.values - pi_b) < 2.0 * found.standard_deviations)
        sd.append(found.standard_deviations)
    # Ten seconds: fits without a sixth of them differ by a little more than the noise makes them.
    assert 0.90 <= np.mean(inside) <= (1.0 if "-" in method and "irls" not in method else 0.997)
    if outliers[0]:  # outliers that are rejected don't come back into the deviations
        plain = data_part(METHODS[method]().fit(noisy(clean, np.random.default_rng(9), 0.0, 0.0)))
        assert np.median(np.mean(sd, axis=0) / plain.standard_deviations) < 1.5


def test_one_parameter_made_weak_over_twelve_decades_leaves_the_others_alone(clean):
    regression = noisy(clean, np.random.default_rng(3), 0.0, 0.0)
    reference = LeastSquares("joint").fit(regression)
    weak = regression.names.index("joint2.F_v")
    others = [i for i, name in enumerate(reference.names) if name != "joint2.F_v"]
    here = reference.names.index("joint2.F_v")
    for decades in (3, 6, 9, 12):
        factor = np.ones(len(regression.names))
        factor[weak] = 10.0**-decades
        scaled = replace(regression, Y=regression.matrix * factor)
        found = LeastSquares("joint").fit(scaled)
        ratio = found.standard_deviations[others] / reference.standard_deviations[others]
        np.testing.assert_allclose(ratio, 1.0, rtol=0.35)  # the blocks' scatter is by chance
        np.testing.assert_allclose(
            found.standard_deviations[here] * factor[weak],
            reference.standard_deviations[here],
            rtol=0.3,  # its own model error can't be told any more: it has none
        )


def test_combinations_are_the_data_s_answer_whatever_the_prior(clean):
    regression = noisy(clean, np.random.default_rng(4), 0.0, 0.0)
    wrong = replace(regression, prior=1.3 * regression.prior)
    fits = [
        ConsistentLeastSquares(prior, prior_weight=weight).fit(wrong)
        for prior in ("quadratic", "entropic")
        for weight in (1.0, 30.0)
    ]
    for one in fits:
        open_ = [v is not ParameterVerdict.IDENTIFIABLE for v in one.verdicts]
        np.testing.assert_array_equal(np.isnan(one.standard_deviations), open_)
        assert one.unknown and one.measured is not None
        # The same deviations, and the same values but for what the data hardly show.
        ratio = one.measured.standard_deviations / fits[0].measured.standard_deviations
        assert np.all(np.abs(ratio - 1.0) < 0.25)
        known = [v is not ParameterVerdict.PRIOR_DOMINATED for v in one.measured.verdicts]
        far = np.abs(one.measured.values - fits[0].measured.values)
        assert np.mean((far < 2.0 * one.measured.standard_deviations)[known]) > 0.9


def test_a_declared_tolerance_gives_deviations_that_hold(clean):
    true = np.concatenate([arm().pi.ravel(), USUAL_VALUES])
    rng, inside = np.random.default_rng(5), []
    n = clean.n_inertial
    for _ in range(8):
        regression = noisy(clean, rng, 0.0, 0.0)
        prior = regression.prior.copy()
        prior[:n] = true[:n] + 0.1 * regression.prior_sd[:n] * rng.normal(size=n)
        found = ConsistentLeastSquares(prior_sd=0.1).fit(replace(regression, prior=prior))
        sd = found.standard_deviations
        assert np.all(np.isfinite(sd[:n]))
        inside.append((np.abs(found.values - true) < 2.0 * sd)[:n])
    assert 0.9 <= np.mean(inside) <= 1.0


def test_the_score_covariance_of_blocks_is_that_of_the_whole():
    rng = np.random.default_rng(6)
    Y, e = rng.normal(size=(700, 2, 3)), rng.normal(size=(700, 2))
    e = np.cumsum(e, axis=0) * 0.2 + e
    starts, slices = (0, 150, 160, 400), [slice(0, 90), slice(90, 155), slice(155, 700)]
    whole = score_covariance([(slice(0, 700), Y)], e, starts, 60)
    blocks = score_covariance([(s, Y[s]) for s in slices], e, starts, 60)
    np.testing.assert_allclose(blocks, whole, rtol=1e-10)


def test_the_score_covariance_is_the_toeplitz_sandwich():
    rng = np.random.default_rng(7)
    y, e = rng.normal(size=(300, 1, 2)), rng.normal(size=(300, 1))
    gamma = np.array([np.sum(e[: 300 - k] * e[k:]) for k in range(76)]) / 300
    below = np.flatnonzero(np.abs(gamma) < 0.05 * gamma[0])[0]
    lag = min(75, 3 * int(below) + 1)
    x = np.arange(lag + 1) / (lag + 1)
    taper = np.where(x <= 0.5, 1 - 6 * x**2 * (1 - x), 2 * (1 - x) ** 3)
    kernel = np.zeros(300)
    kernel[: lag + 1] = gamma[: lag + 1] * taper
    wanted = y[:, 0].T @ scipy.linalg.toeplitz(kernel) @ y[:, 0]
    np.testing.assert_allclose(score_covariance([(slice(0, 300), y)], e, (0,), 400)[0], wanted)


def test_equations_left_out_do_not_make_the_residual_smaller(clean):
    regression = noisy(clean, np.random.default_rng(8), 0.0, 0.0)
    whole = LeastSquares("joint").fit(regression).residual_rms
    for share in (0.25, 0.5):
        used = np.random.default_rng(9).random(regression.tau.shape) > share
        part = replace(
            regression,
            Y=regression.matrix * used[:, :, None],
            tau=regression.tau * used,
            used=used,
        )
        for method in ("joint", "robust"):
            rms = LeastSquares(method).fit(part).residual_rms
            assert rms == pytest.approx(whole, rel=0.06)


def test_a_model_error_that_comes_back_in_every_period_widens_deviations(clean):
    rng = np.random.default_rng(11)
    K = len(clean.tau)
    error = np.cumsum(rng.normal(size=(K, 3)), axis=0)  # lacks in the model: a function of motion
    error = 0.5 * error / np.std(error, axis=0)
    tau = np.concatenate([clean.tau + error] * 3)
    thrice = replace(
        clean,
        Y=np.concatenate([clean.matrix] * 3),
        tau=tau + 0.01 * rng.normal(size=tau.shape),
        motion_time=np.tile(np.arange(K), 3).astype(float),
        time=None,
        recordings=(0,),
    )
    truth = clean.base.base_values(np.concatenate([arm().pi.ravel(), USUAL_VALUES]))
    seen, unseen = (
        LeastSquares("joint").fit(replace(thrice, motion_time=time))
        for time in (thrice.motion_time, None)
    )
    assert np.mean(np.abs(seen.values - truth) < 2.0 * seen.standard_deviations) >= 0.9
    assert np.median(seen.standard_deviations / unseen.standard_deviations) > 1.4


def test_a_joint_that_moves_in_one_block_only_leaves_the_others_deviations_alone(clean):
    regression = noisy(clean, np.random.default_rng(12), 0.0, 0.0)
    noise, truth = regression.tau - clean.tau, np.append(arm().pi.ravel(), USUAL_VALUES)
    Y = clean.matrix.copy()
    own = np.array([name.startswith("joint2.") for name in clean.names])
    Y[len(Y) // 8 :, :, own] *= 0.02  # it hardly moves afterwards
    alone = LeastSquares("joint").fit(replace(clean, Y=Y, tau=Y @ truth + noise))
    everywhere = LeastSquares("joint").fit(regression)
    others = [i for i, name in enumerate(everywhere.names) if not name.startswith("joint2.")]
    names = [everywhere.names[i] for i in others]
    ratio = (
        alone.standard_deviations[[alone.names.index(name) for name in names]]
        / everywhere.standard_deviations[others]
    )
    assert np.median(ratio) < 1.3


def test_motion_that_comes_back_has_the_time_at_which_it_first_occurred():
    time = np.arange(0.0, 30.0, 0.01)
    q = np.column_stack([np.sin(0.2 * np.pi * time), np.cos(0.4 * np.pi * time + 0.3)])
    v = np.gradient(q, 0.01, axis=0)
    stream = JointStream(("a", "b"), (time * 1e9).astype(np.int64), q, v)
    first, again = first_times([stream, stream])
    later = (time > 12.0) & (time < 29.0)
    for found in (first, again):
        off = (found[later] - time[later] + 5.0) % 10.0 - 5.0
        assert np.max(np.abs(off)) < 0.25 and np.max(found[later]) < 10.2
    np.testing.assert_allclose(first[time < 9.0], time[time < 9.0])
    once = replace(stream, q=q + 0.3 * time[:, None])
    np.testing.assert_allclose(first_times([once])[0], time)


def test_a_parameter_that_is_seen_alone_has_one_deviation(clean):
    regression = noisy(clean, np.random.default_rng(13), 0.0, 0.0)
    for declared in (None, 0.1):
        found = ConsistentLeastSquares(prior_weight=1e4, prior_sd=declared).fit(regression)
        measured = found.measured
        both = [name for name in measured.names if name not in found.unknown]
        both = [name for name in both if name not in measured.combinations]
        assert len(both) >= 10
        sd, of_data = (
            [e.standard_deviations[e.names.index(name)] for name in both] for e in (found, measured)
        )
        np.testing.assert_allclose(sd, of_data, rtol=1e-6)


def test_ratios_that_differ_by_chance_alone_become_one_and_others_stay_apart():
    rng = np.random.default_rng(14)
    alike = moderated(rng.chisquare(7, 4000) / 7, 7)
    assert np.std(alike) < 0.1 and np.mean(alike) == pytest.approx(1.0, abs=0.05)
    truth = 1.0 / rng.gamma(2.0, 0.5, 4000)  # inverse-gamma, as the estimator takes it
    seen = truth * rng.chisquare(7, 4000) / 7
    error, raw = (np.var(np.log(x / truth)) for x in (moderated(seen, 7), seen))
    assert error < 0.8 * raw
    t = rng.normal(size=4000) * np.sqrt(truth / moderated(seen, 7))
    assert np.mean(np.abs(t) < 1.96) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("truth", [0.0, 0.1])
def test_recordings_show_by_how_much_friction_differs_between_them(truth):
    rng, count, size = np.random.default_rng(15), 6, np.linspace(1.0, 25.0, 24)
    own = np.full(len(size), 0.01**2)
    between = own + truth**2 * size / count
    seen = between * rng.chisquare(count - 1, len(size)) / (count - 1)
    assert spread_between(size, own, None, 1) == DAYS
    found = spread_between(size, own, seen, count)
    assert found == pytest.approx(truth, rel=0.3) if truth else found < DAYS
