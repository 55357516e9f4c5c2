# SPDX-License-Identifier: Apache-2.0
"""The running estimate is never surer than it should be: wrong shapes, stale tares, hums."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sysid_core.estimation.payload import PayloadSummary
from sysid_core.estimation.payload_map import RunningMAP, SensorModel
from sysid_core.robot import mass_com_inertia_from_pi
from sysid_studies.payload.families import CHOICE_FAMILIES, given_shape
from sysid_studies.payload.scene import GOAL_FAULTS, NOISE_LEVELS, encoder_experiment

FORCE_AND_TORQUE = np.repeat([1.0, 0.05], 3)


def scene(number, faults=None):
    """An object of the families on which settings are chosen, swung at 1.5 rad/s for 1.5 s."""
    name = list(CHOICE_FAMILIES)[number % len(CHOICE_FAMILIES)]
    thing = CHOICE_FAMILIES[name](np.random.default_rng([5, number]))
    rng = np.random.default_rng([6, number])
    run = encoder_experiment(1.5, 1.5, thing, NOISE_LEVELS["moderate"], rng, faults=faults)
    return thing, run, rng


def far_off(estimate, pi):
    """Mass, centre of mass and the inertia's diagonal, in standard deviations, shape (7,)."""
    payload = PayloadSummary.of(estimate)
    mass, com, inertia = mass_com_inertia_from_pi(pi)
    diagonal = np.diag(payload.inertia - inertia) / np.diag(payload.inertia_sd)
    return np.r_[
        (payload.mass - mass) / payload.mass_sd, (payload.com - com) / payload.com_sd, diagonal
    ]


@pytest.mark.parametrize("given", ["scaled 0.8", "none"])
def test_the_first_samples_do_not_pull_the_inertia_to_zero(given):
    found = []
    for number in range(6):
        thing, run, rng = scene(number, GOAL_FAULTS)
        estimate = RunningMAP(given_shape(thing, given, rng)).fit(run.causal)
        found.append(far_off(estimate, thing.pi)[4:])
    assert np.mean(np.square(found)) < 1.5
    assert np.mean(np.abs(found) < 2.0) > 0.9


def test_a_stale_tare_and_a_wandering_bias_are_allowed_for():
    tared = replace(SensorModel(), bias=(0.05, 0.0025))
    stale, hummed = [], []
    for number in range(5):
        thing, run, rng = scene(number)
        off = 0.3 * FORCE_AND_TORQUE * rng.normal(size=6)
        hum = np.sin(2 * np.pi * 0.3 * run.causal.time[:, None] + rng.uniform(0, 2 * np.pi, 6))
        for fault in (0.0, off, 0.3 * FORCE_AND_TORQUE * hum):
            data = replace(run.causal, wrench=run.causal.wrench + fault)
            estimate = RunningMAP(thing.shape, sensor=tared).fit(data)
            z = far_off(estimate, thing.pi)
            if fault is off:
                stale.append(z[:4])
            elif np.ndim(fault):
                hummed.append(z[:4])
            else:
                assert not estimate.warnings
    assert np.mean(np.square(stale)) < 1.0
    assert np.mean(np.abs(hummed) < 2.0) > 0.9


def test_an_error_of_gravity_is_one_error_whatever_the_last_digits_are(rng):
    sensor, K = SensorModel(), 50
    R = Rotation.random(K, rng=rng).as_matrix()
    gravity = np.einsum("kji,j->ki", R, [0.0, 0.0, -9.81])
    wrench, T = rng.normal(size=(K, 6)), rng.normal(size=(K, 6, 3))

    def columns(k):
        return sensor.columns(
            wrench[k], wrench[k], mass_columns=T[k], R_WS=R[k], gravity=gravity[k]
        )

    alone = np.concatenate([columns(slice(k, k + 1)) for k in range(K)])
    np.testing.assert_array_equal(alone, columns(slice(0, K)))
    for k in range(K):  # the proper acceleration that a tilt makes, in world axes: the same for all
        moved = R[k] @ np.linalg.lstsq(T[k], alone[k, :, -2:])[0]
        np.testing.assert_allclose(
            moved, R[0] @ np.linalg.lstsq(T[0], alone[0, :, -2:])[0], atol=1e-9
        )
        np.testing.assert_allclose(moved.T @ moved, 9.81**2 * np.eye(2), atol=1e-9)
