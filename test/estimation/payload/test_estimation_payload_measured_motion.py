# SPDX-License-Identifier: Apache-2.0
"""Motion as an accelerometer reads it doesn't attenuate the running estimate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from payload_scenes import hammer_like, swinging

from sysid_core.estimation.payload_map import RunningMAP, SensorModel
from sysid_core.estimation.payload_map.motion_error import regressor_derivatives, wrench_sensitivity
from sysid_core.robot import wrench_regressor

SD = np.repeat([0.05, 0.02, 0.5], 3)  # of (a, omega, alpha)


def test_the_regressors_derivatives_are_those_of_the_wrench(rng: np.random.Generator) -> None:
    pi, x = rng.normal(size=10), rng.normal(size=9)
    D = regressor_derivatives(x[3:6])
    np.testing.assert_allclose((D @ pi).T, wrench_sensitivity(x[None], pi)[0], atol=1e-12)
    step = 1e-6
    for j in range(9):
        e = step * np.eye(9)[j]
        ahead, behind = (wrench_regressor(y[:3], y[3:6], y[6:]) for y in (x + e, x - e))
        np.testing.assert_allclose(D[j], (ahead - behind) / (2 * step), atol=1e-8)


def mean_error(measured_motion: bool) -> float:
    """Mean error of the inertia's trace over forty recordings, in units of its standard error."""
    errors = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shape, pi = hammer_like(np.random.default_rng(5))
        exact = swinging(pi, rng, noise=True, speed=1.5)
        x = np.hstack([exact.a, exact.omega, exact.alpha])
        x = x + SD * rng.normal(size=x.shape)
        covariance = np.tile(np.diag(SD**2), (len(exact), 1, 1))
        columns = {"a": x[:, :3], "omega": x[:, 3:6], "alpha": x[:, 6:], "covariance": covariance}
        data = replace(exact, **columns)
        estimator = RunningMAP(
            shape,
            sensor=SensorModel.named("calibrated"),
            measured_motion=measured_motion,
            contrasts=(20.0,),  # hardly any prior, which would attenuate too
        )
        estimate = estimator.fit(data)
        errors.append(float(np.sum((estimate.values - pi)[[4, 6, 9]])))
    return float(np.mean(errors) / (np.std(errors, ddof=1) / np.sqrt(len(errors))))


def test_inertia_is_not_attenuated_by_measured_accelerations() -> None:
    assert mean_error(measured_motion=False) < -2.0
    assert abs(mean_error(measured_motion=True)) < 4.0
