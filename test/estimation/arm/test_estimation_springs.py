# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from whole_arm_simulation import USUAL_VALUES, arm, friction_model, recording

from sysid_core.estimation.arm import Identification, Processing
from sysid_core.estimation.fit import LeastSquares
from sysid_core.robot import Spring
from sysid_core.validation import Prediction

COUNTERBALANCE = Spring("joint2", preload=150.0, stiffness=2500.0, anchors=(0.4, 0.12), zero=-0.4)


def test_a_spring_is_found_and_a_known_one_leaves_nothing_behind(tmp_path):
    rng, model, usual = np.random.default_rng(3), arm(), friction_model()
    known = replace(usual, drives=replace(usual.drives, springs=(COUNTERBALANCE,)))
    found = replace(
        usual, drives=replace(usual.drives, springs=(replace(COUNTERBALANCE, identified=True),))
    )
    values = np.append(USUAL_VALUES, [COUNTERBALANCE.preload, COUNTERBALANCE.stiffness])
    runs = [recording(model, found, values, rng, noise=0.02) for _ in range(2)]
    for friction in (known, found):
        result = Identification.of(model, runs[:1], friction, LeastSquares(), Processing())
        assert Prediction.of(result, runs[1]).relative_error() < 0.02
        result.save(tmp_path)
        again = Identification.load(tmp_path, model)
        assert again.predict(runs[1]) == pytest.approx(result.predict(runs[1]), nan_ok=True)
    # k d1 d2 sin(q - zero) is a weight's torque: what shows of the spring alone is what is left.
    estimate, true = result.estimate, COUNTERBALANCE.preload - 2500.0 * (0.4 - 0.12)
    i = estimate.names.index("joint2.S_p")
    assert "joint2.S_k" not in estimate.names
    assert abs(estimate.values[i] - true) < 3.0 * estimate.standard_deviations[i]
    assert estimate.standard_deviations[i] < 0.02 * abs(true)
    without = Identification.of(model, runs[:1], usual, LeastSquares(), Processing())
    assert Prediction.of(without, runs[1]).relative_error() > 0.05
