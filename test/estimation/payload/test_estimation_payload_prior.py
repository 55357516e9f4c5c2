# SPDX-License-Identifier: Apache-2.0
"""Priors of bodies: hypotheses weighed by evidence, wrong shapes, none at all."""

from dataclasses import replace

import numpy as np
import pytest
from payload_scenes import hammer_like, swinging

from sysid_core.errors import EstimationError
from sysid_core.estimation import ParameterVerdict
from sysid_core.estimation.payload import DensityPrior, PayloadSummary
from sysid_core.estimation.payload.shape_prior import ShapePrior
from sysid_core.estimation.payload_map import PayloadMAP, RunningMAP, SensorModel
from sysid_core.robot import (
    is_physically_consistent,
    mass_com_inertia_from_pi,
    pi_from_mass_com_inertia,
)
from sysid_core.robot.shapes import Shape
from sysid_core.robot.shapes.file import grasped


def far_off(estimate, pi):
    """Errors of mass, centre of mass and inertia in standard deviations, shape (10,)."""
    payload = PayloadSummary.of(estimate)
    mass, com, inertia = mass_com_inertia_from_pi(pi)
    rows = ((0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2))
    error = np.concatenate(
        [[payload.mass - mass], payload.com - com, (payload.inertia - inertia)[rows]]
    )
    return error / np.sqrt(np.diag(payload.covariance))


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9, 1e-6])
def test_perfect_data_give_a_perfect_mass(noise, rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng)
    wrench = data.wrench + noise * rng.normal(size=data.wrench.shape)
    seen = replace(data, wrench=wrench)
    estimate = PayloadMAP(shape, sensor=SensorModel.named("calibrated")).fit(seen)
    assert estimate["payload.m"] == pytest.approx(pi[0], rel=1e-4)
    assert not estimate.warnings


@pytest.mark.parametrize("mass", [0.02, 0.05])
def test_light_things_are_weighed_in_spite_of_a_bias(mass, rng):
    shape = Shape.box((0.02, 0.15, 0.01), centre=(0.0, 0.0, 0.03))
    data = swinging(shape.homogeneous(mass), rng, noise=True)
    wrench = data.wrench + [0.3, -0.3, 0.3, 0.01, 0.01, 0.01]
    seen = replace(data, wrench=wrench)
    payload = PayloadSummary.of(PayloadMAP(shape).fit(seen))
    assert abs(payload.mass - mass) < 3.0 * payload.mass_sd < 0.01


def test_a_fast_motion_is_weighed_without_a_tare(rng):
    """The torques of the inertia must not be taken for those of a weight."""
    pi = pi_from_mass_com_inertia(1.3, [0.01, -0.02, 0.07], 4e-3 * np.eye(3))
    data = swinging(pi, rng, speed=3.0, noise=True)
    payload = PayloadSummary.of(PayloadMAP(sensor=SensorModel().untared).fit(data))
    assert abs(payload.mass - 1.3) < 3.0 * payload.mass_sd < 0.3


def test_turned_signs_are_still_refused(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    turned = replace(data, wrench=-data.wrench)
    for given in (shape, None):
        with pytest.raises(EstimationError, match="signs"):
            PayloadMAP(given).fit(turned)


@pytest.mark.parametrize("estimator", [PayloadMAP, RunningMAP])
def test_mass_and_centre_need_no_shape(estimator, rng):
    _, pi = hammer_like(rng)
    estimate = estimator().fit(swinging(pi, rng, noise=True))
    payload = PayloadSummary.of(estimate)
    mass, com, _ = mass_com_inertia_from_pi(pi)
    assert payload.mass == pytest.approx(mass, rel=0.02)
    assert np.allclose(payload.com, com, atol=5e-3)
    assert estimate.verdicts[:4] == (ParameterVerdict.IDENTIFIABLE,) * 4
    assert is_physically_consistent(estimate.values)
    assert np.all(np.abs(far_off(estimate, pi)) < 3.5)


def test_a_shape_far_too_small_is_noticed_and_not_believed(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, speed=2.0)
    centre = 0.5 * (shape.lower + shape.upper)
    right = PayloadMAP(shape, sensor=SensorModel.named("calibrated")).fit(data)
    wrong = PayloadMAP(shape.scaled(0.5, centre), sensor=SensorModel.named("calibrated")).fit(data)
    assert not right.warnings
    assert "shape-differs" in {w.code for w in wrong.warnings}
    assert np.all(np.abs(far_off(wrong, pi)) < 4.0)


def test_a_hollow_thing_is_covered_by_the_standard_deviations(rng):
    size, centre = np.array([0.1, 0.2, 0.08]), np.array([0.0, 0.0, 0.04])
    pi = np.zeros(10)
    for s, sign in ((size, 1.0), (size - 0.004, -1.0)):
        mass = 2700.0 * float(np.prod(s)) * sign
        pi = pi + pi_from_mass_com_inertia(mass, centre, mass / 12.0 * np.diag(s @ s - s**2))
    estimate = PayloadMAP(Shape.box(size, centre)).fit(swinging(pi, rng, noise=True))
    assert np.all(np.abs(far_off(estimate, pi)) < 3.0)


def test_spikes_are_left_out_and_said(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, speed=2.0)
    wrench = np.array(data.wrench)
    wrench[20:23, 1] += 2.0
    wrench[90:92, 4] -= 0.2
    seen = replace(data, wrench=wrench)
    estimate = PayloadMAP(shape).fit(seen)
    assert {"count": 5, "samples": 150} in [dict(w.data) for w in estimate.warnings]
    assert not any(w.code == "wrench-misfit" for w in estimate.warnings)
    assert np.all(np.abs(far_off(estimate, pi)) < 4.0)


@pytest.mark.parametrize("estimator", [PayloadMAP, RunningMAP])
def test_a_drifting_sensor_over_half_a_minute_is_followed(estimator, rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, seconds=30.0, rate_hz=50.0)
    drift = np.outer(data.time / 30.0, np.repeat([0.5, 0.02], 3) * [1, -1, 1, -1, 1, 1])
    seen = replace(data, wrench=data.wrench + drift)
    estimate = estimator(shape, sensor=SensorModel(bias=(0.05, 0.0025))).fit(seen)
    assert np.all(np.abs(far_off(estimate, pi)) < 3.5)


def test_evidence_of_an_even_body_prefers_the_given_shape():
    shape = Shape.box((0.1, 0.2, 0.05), centre=(0.0, 0.0, 0.05))
    R = np.diag([1e3, *[1e4] * 3, *[1e5] * 6])
    for pi, low, high in (
        (shape.homogeneous(1.0), 0.0, 0.05),
        (shape.scaled(1.4, (0.0, 0.0, 0.05)).homogeneous(1.0), 0.95, 1.0),
    ):
        assert low <= ShapePrior(shape).posterior(R, R @ pi).wrong_shape <= high


def test_a_light_thing_far_from_the_origin_is_weighed_without_a_shape():
    """If the mass alone had to explain the first moments, it would become negative."""
    pi = pi_from_mass_com_inertia(0.2, [0.0, 0.0, 0.25], 1e-4 * np.eye(3))
    R = np.eye(10) * np.r_[20.0, np.full(3, 200.0), np.full(6, 1.0)]
    R[0, 3] = -100.0  # mass and height are confounded, as where the motion hardly tilts
    found = ShapePrior(None).posterior(R, R @ pi)
    assert found.pi[0] == pytest.approx(0.2, rel=0.05)


def test_a_grippers_opening_says_more_of_a_bar_than_no_shape(rng):
    bar = Shape.box((0.3, 0.03, 0.05), centre=(0.02, 0.0, 0.1))
    pose = np.eye(4)
    pose[2, 3] = 0.1
    grasp = grasped(0.03).posed(pose)
    with pytest.raises(EstimationError, match="gripper"):
        DensityPrior(grasp)
    pi = bar.homogeneous(0.8)
    data = swinging(pi, rng, noise=True, speed=2.0)
    blind, held = (PayloadMAP(given).fit(data) for given in (None, grasp))
    assert np.all(np.abs(far_off(held, pi)) < 2.5)
    assert is_physically_consistent(held.values)
    wide, narrow = (np.trace(PayloadSummary.of(e).inertia_sd) for e in (blind, held))
    assert narrow < wide
    across = pose.copy()
    across[:3, :3] = [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]  # along the bar: wrong
    wrong = PayloadMAP(grasped(0.03).posed(across)).fit(data)
    assert np.all(np.abs(far_off(wrong, pi)) < 2.5)
    assert "shape-differs" in {w.code for w in wrong.warnings}
    assert "shape-differs" not in {w.code for w in held.warnings}


def test_only_an_exact_shape_that_is_symmetric_may_have_a_symmetric_density():
    box = Shape.box((0.1, 0.2, 0.05), centre=(0.0, 0.0, 0.05))
    ell = Shape.from_boxes(
        [
            ((0.2, 0.04, 0.04), (0.1, 0.0, 0.0), (10, 2, 2)),
            ((0.04, 0.1, 0.04), (0.0, 0.07, 0.0), (2, 5, 2)),
        ]
    )
    assert ShapePrior(box.of_size_sd(0.0)).symmetric == pytest.approx(1.0)
    assert ShapePrior(ell.of_size_sd(0.0)).symmetric < 0.3
    assert ShapePrior(ell).symmetric == 1.0


def test_an_exact_shape_tells_the_inertia_more_sharply_than_a_guess_and_covers_it(rng):
    for _ in range(3):
        shape, pi = hammer_like(rng)
        data = swinging(pi, rng, noise=True, speed=0.3)  # slow: the shape tells most
        exact, guess = (PayloadMAP(shape.of_size_sd(sd)).fit(data) for sd in (0.0, 0.5))
        told = [np.trace(PayloadSummary.of(e).inertia_sd) for e in (exact, guess)]
        assert told[0] < 0.95 * told[1]
        error = np.abs(exact.values - pi)
        assert np.all(error < 3.0 * exact.standard_deviations)
