# SPDX-License-Identifier: Apache-2.0
"""Functions of users as estimators: their standard deviations are those of their own scatter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sysid_core as sysid
from sysid_core.errors import EstimationError
from sysid_core.estimation.fit import LeastSquares, OwnMethod, Regression, nearest_consistent

TRUE = np.array([0.5, 2.0])


def regression(rng: np.random.Generator, noise: float = 1.0) -> Regression:
    Y = rng.normal(size=(800, 1, 2))
    tau = Y @ TRUE + noise * rng.normal(size=(800, 1))
    return Regression(
        Y, tau, ("j.F_c", "j.F_v"), ("N m", "N m s/rad"), ("j",), (), np.zeros(2), np.ones(2),
        np.ones(2, dtype=bool), np.eye(2), recordings=(0, 400),
    )  # fmt: skip


def least_squares(r: Regression) -> np.ndarray:
    return np.linalg.lstsq(r.matrix.reshape(-1, 2), r.tau.ravel(), rcond=None)[0]


def of_few(r: Regression) -> np.ndarray:
    """Least squares that uses every twentieth sample: its errors are 4.5 times as large."""
    return np.linalg.lstsq(r.matrix[::20, 0], r.tau[::20, 0], rcond=None)[0]


def test_least_squares_as_a_function_is_least_squares(rng: np.random.Generator) -> None:
    r = regression(rng)
    own, usual = OwnMethod(least_squares).fit(r), LeastSquares("joint").fit(r)
    np.testing.assert_allclose(own.values, usual.values, rtol=1e-9)
    assert own.method == "least_squares" and own.residual_rms == pytest.approx(usual.residual_rms)
    ratio = own.standard_deviations / usual.standard_deviations
    assert np.all((ratio >= 1.0) & (ratio < 1.5))


def test_deviations_are_those_of_the_function(rng: np.random.Generator) -> None:
    """Errors over 40 data sets, against the standard deviations; those of least squares would be
    4.5 times too small."""
    z = []
    for _ in range(40):
        found = OwnMethod(of_few).fit(regression(rng))
        z += ((found.values - TRUE) / found.standard_deviations).tolist()
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.3


def test_a_constant_is_not_accurate(rng: np.random.Generator) -> None:
    r = regression(rng)
    found = OwnMethod(lambda r: TRUE).fit(r)
    usual = LeastSquares("joint").fit(r)
    assert np.all(found.standard_deviations >= usual.standard_deviations)


@pytest.mark.parametrize("answer", [np.zeros(3), np.array([1.0, np.nan])])
def test_an_answer_that_is_no_parameters_is_refused(
    answer: np.ndarray, rng: np.random.Generator
) -> None:
    with pytest.raises(EstimationError, match="Return 2 finite numbers"):
        OwnMethod(lambda r: answer).fit(regression(rng))


def test_identify_takes_a_function_and_an_estimator_to_report_and_export(tmp_path: Path) -> None:
    robot = sysid.Robot.from_urdf("double_pendulum_continuous")
    t, w = np.arange(0.0, 20.0, 0.01)[:, None], np.array([2.0, 3.1])
    q, v, a = 1 - np.cos(w * t), w * np.sin(w * t), w**2 * np.cos(w * t)
    effort = robot.inverse_dynamics(q, v, a) + 0.1 * v
    run = sysid.Recording.from_arrays(robot.joint_names, t[:, 0], q, v, effort=effort)
    other = replace(run, source="other", joints=run.joints.select(slice(1000, None)))
    run = replace(run, joints=run.joints.select(slice(0, 1000)))
    given = {"friction": "viscous", "motion_cutoff_hz": 10.0, "velocity_feedback": "off"}

    def consistent(r: Regression) -> np.ndarray:
        return nearest_consistent(
            r, np.linalg.pinv(r.matrix.reshape(-1, len(r.names))) @ r.tau.ravel()
        )

    found = sysid.identify(robot, run, validation=other, method=consistent, **given)
    assert found.held_out[0].relative_error() < 0.02
    assert found.estimate.method == found.to_dict()["method"] == "consistent"
    assert {"report.html", "identified.urdf"} <= set(found.write(tmp_path / "new" / "folder"))
    (urdf,) = found.export(tmp_path / "exports", ["urdf"])
    assert urdf.file.exists()
    with pytest.raises(EstimationError, match="fixed"):
        sysid.identify(robot, run, method=consistent, fix=("friction",))
