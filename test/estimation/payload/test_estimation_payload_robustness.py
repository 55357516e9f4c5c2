# SPDX-License-Identifier: Apache-2.0
"""The robustness benchmark in small: deviations hold under every fault, and are not too wide."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks" / "estimation"))
from payload_robustness import (
    NUISANCES,
    TARED,
    nuisance_experiment,
    nuisance_outcomes,
    outcome,
    shape_outcomes,
)

from sysid_core.estimation.payload import shape_prior
from sysid_core.estimation.payload.shape_prior import ShapePrior
from sysid_core.estimation.payload_map import PayloadMAP
from sysid_core.robot.shapes import Shape
from sysid_studies.payload.objects import random_objects


def inside(outcomes):
    z = np.array([o.z for o in outcomes])
    return np.mean(np.abs(z) < 2.0), float(np.mean(z**2))


def test_deviations_hold_for_every_family_and_shape():
    share, square = inside(shape_outcomes(2))
    assert share > 0.85 and 0.4 < square < 2.5


def test_faults_widen_the_deviations_or_are_noted():
    outcomes = [
        o for o in nuisance_outcomes(1) if "aliased" not in o.row and "30 s re" not in o.row
    ]
    for row in {o.row for o in outcomes}:
        some = [o for o in outcomes if o.row == row]
        assert inside(some)[0] > 0.8 or any(o.sensor_noted for o in some), row


def test_a_stale_tare_is_noticed_and_does_not_turn_into_inertia():
    thing = random_objects(2, np.random.default_rng([2026, 7, 3]))[1]
    stale = nuisance_experiment(
        1.5, thing, NUISANCES["stale tare (.3 N)"], np.random.default_rng([2026, 7, 4])
    )
    fit = PayloadMAP(thing.shape, sensor=TARED).fit(stale.smoothed, stale.belief)
    found = outcome("", "", fit, thing)
    assert np.all(np.abs(found.error[4:]) < 60.0)  # [%]; 2700 % if only the tare is believed
    assert np.all(np.abs(found.z) < 3.0) and found.sensor_noted


@pytest.mark.parametrize(("size_sd", "same"), [(0.0, True), (0.5, False)])
def test_deviations_doubt_the_inside_only_of_a_guessed_shape(
    size_sd: float, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Shape.box((0.06, 0.2, 0.1), (0.0, 0.0, 0.05)).of_size_sd(size_sd)
    R = np.diag([100.0, *[1e3] * 3, *[300.0] * 6])
    usual = ShapePrior(box).posterior(R, R @ box.homogeneous(1.2), doubted=True).covariance
    monkeypatch.setattr(shape_prior, "DOUBTED", (0.01, 0.01, 0.01, 0.97))
    doubted = ShapePrior(box).posterior(R, R @ box.homogeneous(1.2), doubted=True).covariance
    assert np.allclose(doubted, usual) is same
