# SPDX-License-Identifier: Apache-2.0
"""Joints whose efforts are zero throughout, as drivers report those of grippers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import ArmEquations, Processing, TorqueDelay
from sysid_core.estimation.arm.block_scores import choose_prior_weight
from sysid_core.estimation.arm.choices import choose_terms, term_benefits
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares
from sysid_core.estimation.loaded_arm import KnownLoad
from sysid_core.estimation.loaded_arm.identify import identify_with_load
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, RobotModel
from sysid_core.robot.friction import GEARED_ARM_TERMS, USUAL_TERMS
from sysid_core.signals import EffortKind, JointStream, Recording

RATE, DURATION = 200.0, 10.0


@pytest.fixture(scope="module")
def arm() -> RobotModel:
    return RobotModel.from_urdf("ur5")


def run(arm: RobotModel, unmeasured: list[int]) -> Recording:
    """Sums of sines; unmeasured joints stand still and report zero effort in spite of the weight
    that they hold.
    """
    rng = np.random.default_rng(4)
    t = np.arange(int(RATE * DURATION)) / RATE
    q, v, a = np.zeros((3, len(t), arm.nv))
    for j in sorted({*range(arm.nv)} - {*unmeasured}):
        for k in (1, 2, 3):
            w, size, phase = 2 * np.pi * 0.2 * k * (1 + 0.07 * j), *rng.uniform(0.1, 0.4, 2)
            q[:, j] += size * np.sin(w * t + phase)
            v[:, j] += size * w * np.cos(w * t + phase)
            a[:, j] -= size * w**2 * np.sin(w * t + phase)
    tau = arm.inverse_dynamics(q, v, a) + 2.0 * np.tanh(v / 0.005) + v
    tau += 0.02 * rng.normal(size=tau.shape)
    tau[:, unmeasured] = 0.0
    stream = JointStream(
        names=arm.joint_names,
        stamps_ns=np.round(t * 1e9).astype(np.int64),
        q=q,
        v=v,
        effort=tau,
        effort_kind=EffortKind.LINK_TORQUE,
    )
    return Recording(joints=stream, source="run")


def equations(arm: RobotModel, unmeasured: list[int], terms=USUAL_TERMS) -> ArmEquations:
    friction = FrictionModel(DriveTrain.direct(arm.joint_names), terms)
    return ArmEquations.build(arm, [run(arm, unmeasured)], friction, Processing())


@pytest.mark.parametrize("estimator", [LeastSquares("joint"), ConsistentLeastSquares()])
def test_a_joint_without_efforts_leaves_the_others_as_they_are(arm, estimator):
    found = identify_equations(equations(arm, [4]), estimator)
    friction = found.friction_parameters
    for j in (0, 1, 2, 3, 5):
        assert friction[f"{arm.joint_names[j]}.F_c"] == pytest.approx(2.0, abs=0.2)
    (note,) = [note for note in found.estimate.notes if "zero throughout" in note]
    assert arm.joint_names[4] in note and arm.joint_names[3] not in note
    assert found.estimate.rank < found.estimate.structural_rank


@pytest.mark.parametrize("terms", [USUAL_TERMS, GEARED_ARM_TERMS])
def test_settings_are_chosen_without_it(arm, terms):
    data = equations(arm, [4], terms)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, tried = choose_terms(data, [FrictionTerm.THINNING])
        benefits = term_benefits(data)
        _, errors = choose_prior_weight(data)
    assert not [choice for choice in tried if choice.chosen and choice.axis == arm.joint_names[4]]
    assert benefits["coulomb"]["all"] > 0.3
    assert all(0.0 < error < 0.1 for error in errors.values())


def test_the_gain_of_such_a_joint_is_refused(arm):
    data = equations(arm, [4])
    with pytest.raises(EstimationError, match=arm.joint_names[4]):
        identify_with_load(data, data, KnownLoad(1.0, "tool0"), LeastSquares("joint"))


def test_no_efforts_at_all_are_refused(arm):
    data = equations(arm, list(range(arm.nv)))
    for work in (
        TorqueDelay.of,
        choose_prior_weight,
        lambda x: identify_equations(x, ConsistentLeastSquares()),
    ):
        with pytest.raises(EstimationError, match="All efforts are zero"):
            work(data)
