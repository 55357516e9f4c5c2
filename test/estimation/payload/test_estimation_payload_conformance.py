# SPDX-License-Identifier: Apache-2.0
"""Requirements on every payload estimator."""

from dataclasses import replace

import numpy as np
import pytest
from payload_scenes import BOXES, hammer_like, swinging

from sysid_core.errors import EstimationError
from sysid_core.estimation import Estimate
from sysid_core.estimation.payload import PayloadData, PayloadSummary, PointMassDiscretization
from sysid_core.estimation.payload.entropic import EntropicRegression, HomogeneousBody
from sysid_core.estimation.payload.estimators import PayloadLMI
from sysid_core.estimation.payload.least_squares import PayloadOLS, RecursiveTotalLeastSquares
from sysid_core.estimation.payload.result import PAYLOAD_NAMES
from sysid_core.estimation.payload_map import PayloadMAP, RunningMAP, SensorModel
from sysid_core.robot import RobotModel, parameter_transform
from sysid_core.robot.shapes import Shape

SHAPE = Shape.from_boxes(BOXES)
MAKERS = {
    "OLS": lambda shape: PayloadOLS(),
    "RTLS": lambda shape: RecursiveTotalLeastSquares(),
    "GEO": EntropicRegression,
    "LMI": lambda shape: PayloadLMI(),
    "PMD": PointMassDiscretization,
    "PMD squared": lambda shape: PointMassDiscretization(shape, squared=True),
    "homogeneous": HomogeneousBody,
    "MAP": lambda shape: PayloadMAP(shape, sensor=SensorModel.named("calibrated")),
    "MAP full sensor model": PayloadMAP,
    "MAP running": lambda shape: RunningMAP(shape, sensor=SensorModel.named("calibrated")),
}
CONSISTENT = [name for name in MAKERS if name not in ("OLS", "RTLS")]
WEIGHING = [name for name in CONSISTENT if not name.startswith("LMI")]


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def test_gives_a_complete_estimate(make, rng):
    shape, pi = hammer_like(rng)
    estimate = make(shape).fit(swinging(pi, rng, noise=True))
    assert isinstance(estimate, Estimate)
    assert estimate.names == PAYLOAD_NAMES and estimate.units == RobotModel.INERTIAL_UNITS
    assert np.allclose(estimate.covariance, estimate.covariance.T)
    assert np.linalg.eigvalsh(estimate.covariance)[0] > -1e-9 * np.trace(estimate.covariance)
    assert np.all(estimate.standard_deviations > 0)
    assert set(estimate.consistent) == {"payload"}
    assert estimate.n_samples == 150 and estimate.rank == 10
    assert set(estimate.residual_rms) == {"force", "torque"}


def test_an_estimate_survives_its_file(make, rng, tmp_path):
    shape, pi = hammer_like(rng)
    estimate = make(shape).fit(swinging(pi, rng, noise=True, seconds=0.5))
    estimate.save(tmp_path / "estimate.yaml")
    again = Estimate.load(tmp_path / "estimate.yaml")
    assert np.array_equal(again.values, estimate.values)
    assert again.verdicts == estimate.verdicts


def test_mass_is_recovered_under_noise(make, rng):
    shape, pi = hammer_like(rng)
    payload = PayloadSummary.of(make(shape).fit(swinging(pi, rng, noise=True)))
    assert payload.mass == pytest.approx(pi[0], rel=0.05)


@pytest.mark.parametrize("name", CONSISTENT)
@pytest.mark.parametrize("seconds", [0.2, 1.5])
def test_is_physically_consistent_on_any_data(name, seconds, rng):
    shape, pi = hammer_like(rng)
    for speed in (0.0, 0.3, 2.0):
        data = swinging(pi, rng, noise=True, speed=speed, seconds=seconds)
        assert MAKERS[name](shape).fit(data).physically_consistent


@pytest.mark.parametrize("name", ["OLS", "RTLS", "LMI", "MAP", "MAP running"])
def test_is_exact_without_noise(name, rng):
    shape, pi = hammer_like(rng)
    estimate = MAKERS[name](shape).fit(swinging(pi, rng, speed=2.0))
    size = np.array([1.0] + [0.1] * 3 + [0.01] * 6)
    tolerance = {"MAP running": 1e-2, "LMI": 1e-4}.get(name, 1e-5)
    assert np.allclose(estimate.values / size, pi / size, atol=tolerance)


@pytest.mark.parametrize("name", ["OLS", "LMI", "homogeneous", "PMD", "MAP", "MAP running"])
def test_does_not_depend_on_the_axes_of_the_sensor(name, rng):
    """If the axes are rotated, wrench, motion and shape are rotated with them, and so must be the
    result.
    """
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    R = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    X = np.eye(4)
    X[:3, :3] = R
    turned = PayloadData(
        data.time,
        np.hstack([data.wrench[:, :3] @ R.T, data.wrench[:, 3:] @ R.T]),
        *(x @ R.T for x in (data.a, data.omega, data.alpha, data.gravity)),
    )
    straight = MAKERS[name](shape).fit(data).values
    estimate = MAKERS[name](shape.posed(X)).fit(turned).values
    size = np.array([1.0] + [0.1] * 3 + [0.01] * 6)
    assert np.allclose(estimate / size, parameter_transform(X) @ straight / size, atol=1e-4)


@pytest.mark.parametrize("name", ["OLS", "LMI", "homogeneous", "PMD", "PMD squared", "MAP"])
def test_does_not_depend_on_the_unit_of_mass(name, rng):
    """A wrench a thousand times as large belongs to a thousand times the payload."""
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    heavy = replace(data, wrench=1e3 * data.wrench)
    estimator = MAKERS[name](shape)
    ones = estimator.fit(data).values
    thousands = estimator.fit(heavy).values
    size = np.array([1.0] + [0.1] * 3 + [0.01] * 6)
    assert np.allclose(thousands / 1e3 / size, ones / size, atol=1e-4)


@pytest.mark.parametrize("name", WEIGHING)
def test_a_wrench_of_the_wrong_sign_is_named(name, rng):
    """As from a sensor mounted upside down, or one that reports what the object exerts on it."""
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    wrong = replace(data, wrench=-data.wrench)
    with pytest.raises(EstimationError, match="upside down"):
        MAKERS[name](shape).fit(wrong)


def test_unusable_data_are_refused_by_name(rng):
    _, pi = hammer_like(rng)
    data = swinging(pi, rng)
    wrench = data.wrench.copy()
    wrench[7, 2] = np.nan
    with pytest.raises(EstimationError, match="first at sample 7"):
        replace(data, wrench=wrench)
    with pytest.raises(EstimationError, match="shape"):
        replace(data, wrench=data.wrench[:, :3])
    with pytest.raises(EstimationError, match="must increase"):
        replace(data, time=data.time[::-1])


def test_no_shape_method_knows_less_than_the_default(rng):
    """Error bars: the prior can only help."""
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    plain = PayloadOLS().fit(data).standard_deviations
    best = PayloadMAP(shape, sensor=SensorModel.named("calibrated")).fit(data).standard_deviations
    assert np.all(best <= 1.2 * plain)
