# SPDX-License-Identifier: Apache-2.0
"""A load that is taken up, put down or slips is noticed; a steady one never."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from sysid_core.estimation.payload_live import OnlinePayload
from sysid_core.estimation.payload_live.online import ChangeKind
from sysid_core.robot import mass_com_inertia_from_pi, pi_from_mass_com_inertia
from sysid_studies.payload import modular_objects
from sysid_studies.payload.families import FAMILIES
from sysid_studies.payload.scene import GOAL_FAULTS, NOISE_LEVELS, encoder_experiment

HAMMER = modular_objects()["Hammer"]
SHAPE = HAMMER.shape
BEFORE = HAMMER.pi


def run(online, seconds, after=None, at=2.0, seed=0, thing=HAMMER, speed=1.0, colour=None):
    """Feed a swinging load that changes at a time; the last change. Noise of 0.4 N and 20 mN m has the
    autocorrelation `colour` from sample to sample.
    """
    rng = np.random.default_rng(seed)
    x = encoder_experiment(speed, seconds, thing, NOISE_LEVELS["moderate"], rng, faults=GOAL_FAULTS)
    data = x.causal
    if after is not None:
        change = (data.regressor @ (after - BEFORE)) * (data.time >= at)[:, None]
        data = replace(data, wrench=data.wrench + change)
    if colour is not None:
        white = np.repeat([0.4, 0.02], 3) * rng.normal(size=data.wrench.shape)
        noise = lfilter([np.sqrt(1.0 - colour**2)], [1.0, -colour], white, axis=0)
        data = replace(data, wrench=data.wrench + noise)
    online.update(data)
    return online.change


@pytest.mark.parametrize(
    ("kind", "factor", "shift"),
    [
        (ChangeKind.ATTACHED, 1.4, 0.0),
        (ChangeKind.DETACHED, 0.5, 0.0),
        (ChangeKind.SLIPPED, 1.0, 0.05),
    ],
)
@pytest.mark.parametrize("shape", [SHAPE, None], ids=["shape", "no shape"])
def test_a_change_is_noticed_within_half_a_second(kind, factor, shift, shape):
    mass, com, inertia = mass_com_inertia_from_pi(BEFORE)
    after = pi_from_mass_com_inertia(factor * mass, com + [0.0, shift, 0.0], factor * inertia)
    online = OnlinePayload(shape)
    change = run(online, 4.0, after)
    assert change is not None and 2.0 < change.stamp_s < 2.5
    assert change.kind is kind
    assert online.estimate()["payload.m"] == pytest.approx(factor * mass, rel=0.05)


@pytest.mark.parametrize("shape", [SHAPE, None], ids=["shape", "no shape"])
def test_a_steady_load_never_changes(shape):
    assert run(OnlinePayload(shape), 12.0) is None


@pytest.mark.parametrize(("colour", "seed"), [(0.9, 3), (0.95, 1), (0.99, 5)])
def test_noise_that_is_correlated_in_time_is_no_change_and_hides_no_fall(colour, seed):
    """White noise of the same size was assumed: false changes in half of the runs."""
    assert run(OnlinePayload(), 8.0, seed=seed, colour=colour) is None
    mass, com, inertia = mass_com_inertia_from_pi(BEFORE)
    half = pi_from_mass_com_inertia(0.5 * mass, com, 0.5 * inertia)
    change = run(OnlinePayload(), 6.0, half, at=5.0, seed=seed, colour=colour)
    assert change is not None and change.kind is ChangeKind.DETACHED
    assert 5.0 < change.stamp_s < 5.5


def test_a_steady_load_of_large_inertia_never_changes_without_a_shape():
    dumbbell = FAMILIES["dumbbell"](np.random.default_rng([31, 14]))
    assert run(OnlinePayload(), 8.0, thing=dumbbell, speed=1.7) is None


def test_a_shape_that_is_elsewhere_is_no_change_of_the_load():
    X = np.eye(4)
    X[2, 3] = 0.08
    online = OnlinePayload(SHAPE.posed(X))
    assert run(online, 6.0) is None
    estimate = online.estimate()
    assert "shape-differs" in {w.code for w in estimate.warnings}
    assert estimate["payload.m"] == pytest.approx(BEFORE[0], rel=0.05)
