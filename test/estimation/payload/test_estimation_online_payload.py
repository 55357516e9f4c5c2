# SPDX-License-Identifier: Apache-2.0
"""Running payload identification: deterministic, equal to the batch, and able to say how far it is."""

from dataclasses import replace

import numpy as np
import pytest
from payload_scenes import hammer_like, swinging

from sysid_core.errors import EstimationError
from sysid_core.estimation.payload import (
    CompressedWrenches,
    PointMassDiscretization,
)
from sysid_core.estimation.payload_live import OnlinePayload, PayloadKnowledge, PayloadState
from sysid_core.estimation.payload_map import PayloadMAP, RunningMAP, SensorModel


def feed(online, data, rows):
    for k in rows:
        online.update(data.select([k]))


def test_the_same_samples_give_the_same_estimate_online_and_in_batch(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True)
    first, second = OnlinePayload(shape), OnlinePayload(shape)
    feed(first, data, range(len(data)))
    feed(second, data, range(50))
    second.estimate()
    feed(second, data, range(50, len(data)))
    assert np.array_equal(first.estimate().values, second.estimate().values)
    batch = RunningMAP(shape).fit(data)
    assert np.allclose(first.estimate().values, batch.values, rtol=0, atol=1e-9)


def test_the_state_advances_from_collecting_to_known(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, speed=2.5, seconds=3.0)
    online = OnlinePayload(shape)
    assert online.state is PayloadState.COLLECTING
    seen = []
    for k in range(len(data)):
        feed(online, data, [k])
        if k % 20 == 0 and (not seen or online.state != seen[-1]):
            seen.append(online.state)
            assert online.advice.endswith(".")
    assert PayloadState.INERTIA_KNOWN in seen
    assert seen[-1] is PayloadState.INERTIA_KNOWN


def test_holding_still_never_knows_the_inertia(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, speed=0.0)
    online = OnlinePayload(shape)
    feed(online, data, range(len(data)))
    assert online.state not in (PayloadState.INERTIA_KNOWN, PayloadState.COLLECTING)


def test_a_wrench_of_the_wrong_sign_stays_collecting_and_says_why(rng):
    shape, pi = hammer_like(rng)
    data = swinging(-pi, rng, noise=True)
    online = OnlinePayload(shape)
    assert "without samples" in online.advice
    feed(online, data, range(60))
    assert online.state is PayloadState.COLLECTING
    assert "upside down" in online.advice


def test_unusable_samples_are_refused_and_not_used(rng):
    shape, pi = hammer_like(rng)
    data = swinging(pi, rng)
    online = OnlinePayload(shape)
    with pytest.raises(EstimationError, match="without samples"):
        online.estimate()
    feed(online, data, range(10))
    before = online.estimate().values
    with pytest.raises(EstimationError, match="not newer"):
        online.update(data.select([9]))
    assert np.array_equal(online.estimate().values, before)
    online.reset()
    assert online.n_samples == 0


def test_a_dynamism_scale_that_differs_from_the_data_is_refused(rng):
    shape, _ = hammer_like(rng)
    with pytest.raises(EstimationError, match="c_1"):
        PointMassDiscretization(shape, dynamism_scale=5.0).solve(CompressedWrenches())


def test_a_recording_that_hardly_tilts_is_told_by_how_much_it_did(rng):
    _, pi = hammer_like(rng)
    data = swinging(pi, rng, noise=True, speed=0.05)
    sensor = SensorModel(bias=(30.0, 1.5))
    estimate = PayloadMAP(sensor=sensor).fit(data)
    knowledge = PayloadKnowledge(estimate)
    assert knowledge.state is PayloadState.COLLECTING
    direction = data.gravity / 9.81
    widest = max(np.arccos(np.clip(direction @ direction[k], -1.0, 1.0)).max() for k in (0, -1))
    told = int(knowledge.advice(data).split("turned by ")[1].split()[0])
    assert told == pytest.approx(np.rad2deg(widest), abs=1.5)
    least = "xyz"[int(np.argmin(np.ptp(direction, axis=0)))]
    assert f"its {least} axis changed its inclination least" in knowledge.advice(data)
    # Tilted everywhere, and still uncertain: more tilting doesn't help.
    around = rng.normal(size=data.gravity.shape)
    around *= 9.81 / np.linalg.norm(around, axis=1, keepdims=True)
    assert "calibrate its gains" in knowledge.advice(replace(data, gravity=around))
