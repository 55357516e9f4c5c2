# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
from whole_arm_simulation import USUAL_VALUES, arm, friction_model, recording

from sysid_core.estimation.arm import ArmEquations, Processing
from sysid_core.estimation.arm.block_scores import (
    choose_prior_weight,
    lowered_prior_weight,
    prediction_spread,
)
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import LeastSquares
from sysid_core.reasons import Outcome
from sysid_core.validation.verdict import judge_spread


def test_recordings_that_are_too_short_predict_other_motions_differently_from_part_to_part():
    rng, model, friction = np.random.default_rng(5), arm(), friction_model()
    run = recording(model, friction, USUAL_VALUES, rng, noise=0.3)
    spreads = []
    for share in (1.0, 0.12):
        joints = run.joints.select(slice(0, int(share * len(run.joints))))
        equations = ArmEquations.build(model, [replace(run, joints=joints)], friction, Processing())
        found = identify_equations(equations, LeastSquares())
        spreads.append(prediction_spread(equations, found.parameters))
    assert judge_spread(spreads[0]).outcome is Outcome.PASS
    assert judge_spread(spreads[1]).outcome is not Outcome.PASS
    assert spreads[1].worst[0] in model.joint_names


def test_the_prior_weighs_as_much_as_held_out_blocks_allow():
    rng, friction = np.random.default_rng(6), friction_model()
    model = arm()
    run = recording(model, friction, USUAL_VALUES, rng, noise=0.3)
    for of_urdf in (model, model.with_pi(3.0 * model.pi)):
        equations = ArmEquations.build(of_urdf, [run], friction, Processing())
        weight, errors = choose_prior_weight(equations)
        least = min(errors.values())
        assert errors[weight] <= 1.03 * least
        assert all(errors[heavier] > 1.03 * least for heavier in errors if heavier > weight)


def test_a_prior_that_turns_the_constraints_against_the_data_is_weakened():
    # As where drives' gains contradict each other: only bodies that the estimator doesn't allow
    # come near the data, so that a strong prior leaves it far away.
    rng, friction, model = np.random.default_rng(7), friction_model(), arm()
    run = recording(model, friction, USUAL_VALUES, rng, noise=0.3)
    wrong = model.with_pi(3.0 * model.pi)
    equations = ArmEquations.build(wrong, [run], friction, Processing())

    def stubborn(rho: float) -> LeastSquares:
        return LeastSquares(fixed=["inertials"] if rho > 50.0 else [])

    assert lowered_prior_weight(equations, 1e4, stubborn) == 10.0
    assert lowered_prior_weight(equations, 1e4, lambda rho: LeastSquares()) == 1e4
