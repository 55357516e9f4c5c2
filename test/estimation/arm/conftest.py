# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of this folder share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from whole_arm_estimators import WIDE
from whole_arm_simulation import (
    USUAL_VALUES,
    arm,
    friction_model,
    motion,
    recording,
)

from sysid_core.estimation.arm import (
    ArmEquations,
)


@pytest.fixture(scope="session")
def equations():
    """Noisy data of an arm whose URDF is 20 to 40 % wrong."""
    rng = np.random.default_rng(4)
    truth, friction = arm(), friction_model()
    runs = [recording(truth, friction, USUAL_VALUES, rng, noise=0.2)]
    wrong = truth.with_pi(truth.pi * np.array([[1.3], [0.7], [1.4]]))
    return ArmEquations.build(wrong, runs, friction, WIDE)


@pytest.fixture(scope="session")
def exact_equations():
    """Equations straight from exact states: nothing is filtered or differentiated."""
    rng = np.random.default_rng(5)
    truth, friction = arm(), friction_model()
    equations = ArmEquations.build(
        truth.with_pi(truth.pi * 1.2),
        [recording(truth, friction, USUAL_VALUES, rng, duration=8.0)],
        friction,
        WIDE,
    )
    _, q, v, a = motion(rng, 8.0, 100.0)
    rigid = truth.inverse_dynamics(q, v, a)
    span = equations.spans[0]
    exact = replace(
        span,
        motion=replace(
            span.motion,
            stamps_ns=span.motion.stamps_ns[: len(q)],
            q=q,
            v=v,
            a=a,
            effort=None,
        ),
        tau=rigid + friction.regressor(q, v, a) @ USUAL_VALUES,
        rate_hz=100.0,
    )

    return replace(equations, spans=(exact,), Y=(truth.torque_regressor(q, v, a),))
