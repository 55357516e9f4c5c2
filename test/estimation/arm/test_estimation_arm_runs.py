# SPDX-License-Identifier: Apache-2.0
"""Several runs, delays, loads of known mass, choice of friction terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import interp1d
from whole_arm_estimators import ESTIMATORS, WIDE, held_out_error
from whole_arm_simulation import (
    USUAL_VALUES,
    arm,
    friction_model,
    motion,
    recording,
)

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm import ArmEquations, Identification, Processing, TorqueDelay
from sysid_core.estimation.arm.choices import choose_differentiation, choose_terms, term_benefits
from sysid_core.estimation.arm.equations import arm_structural_rows
from sysid_core.estimation.arm.identify import identify_equations
from sysid_core.estimation.fit import (
    LeastSquares,
)
from sysid_core.estimation.loaded_arm import KnownLoad
from sysid_core.estimation.loaded_arm.identify import identify_with_load
from sysid_core.robot import (
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    pi_from_mass_com_inertia,
)
from sysid_core.robot.friction import USUAL_TERMS


def test_several_recordings_are_fitted_together():
    rng = np.random.default_rng(6)
    truth, friction = arm(), friction_model()
    runs = [
        recording(truth, friction, USUAL_VALUES, rng, duration=8.0, noise=0.3) for _ in range(3)
    ]
    one = Identification.of(truth, runs[:1], friction, LeastSquares("joint"), WIDE).estimate
    all_runs = Identification.of(truth, runs, friction, LeastSquares("joint"), WIDE).estimate
    assert all_runs.n_samples == pytest.approx(3 * one.n_samples, rel=0.05)
    assert np.median(all_runs.standard_deviations / one.standard_deviations) < 0.8


def test_some_samples_between_two_gaps_are_left_out():
    """25 samples at 1 kHz are three at 100 Hz: fewer than filters need."""
    truth, friction = arm(), friction_model()
    run = recording(truth, friction, USUAL_VALUES, np.random.default_rng(7), duration=4.0)
    fine = np.linspace(0.0, run.joints.time[-1], 5 * len(run.joints))
    rows = {
        key: interp1d(run.joints.time, getattr(run.joints, key), axis=0)(fine)
        for key in ("q", "v", "effort")
    }
    stamps = run.joints.stamps_ns[0] + np.round(1e9 * fine).astype(np.int64)
    whole = replace(run.joints, stamps_ns=stamps, **rows)
    kept = np.r_[0:500, 600:625, 800 : len(fine)]
    with_gaps = replace(run, joints=whole.select(kept))
    processing = Processing(rate_hz=100.0)
    lengths = [len(motion) for motion, _ in processing.prepare_motion(truth, with_gaps)]
    assert lengths == [50, 320]


def test_positions_alone_predict_a_held_out_motion():
    rng = np.random.default_rng(11)
    truth, friction = arm(), friction_model()
    run = recording(truth, friction, USUAL_VALUES, rng, noise=0.05)
    run = replace(run, joints=replace(run.joints, v=None))  # positions alone
    found = Identification.of(truth, [run], friction, ESTIMATORS["lmi"](), WIDE)
    assert held_out_error(found, truth, USUAL_VALUES) < 0.02
    with pytest.raises(EstimationError, match="one of: filter, positions"):
        Processing(differentiate="wish")


@pytest.mark.parametrize("late", [0, 12])  # samples
def test_velocities_that_a_drive_reports_late_are_left_out_and_good_ones_used(late):
    rng = np.random.default_rng(11)
    truth, friction = arm(), friction_model()
    run = recording(truth, friction, USUAL_VALUES, rng, duration=10.0, noise=0.05)
    q, v = run.joints.q, run.joints.v
    noisy = replace(run.joints, q=q + 2e-4 * rng.normal(size=q.shape), v=np.roll(v, late, axis=0))
    run = replace(run, joints=noisy)
    equations = ArmEquations.build(truth, [run], friction, Processing())
    chosen, errors = choose_differentiation(equations, [run])
    way = chosen.processing.differentiate.value
    assert (way == "filter") == (late == 0)
    assert errors[way] == min(errors.values())


def test_delay_of_the_torques_is_found():
    rng = np.random.default_rng(7)
    truth, friction = arm(), friction_model()
    run = recording(truth, friction, USUAL_VALUES, rng, noise=0.2, delay=0.006)
    found = TorqueDelay.of(ArmEquations.build(truth, [run], friction, WIDE))
    assert found.seconds == pytest.approx(0.006, abs=max(3 * found.sd, 3e-4))
    assert found.significant


def test_delay_is_unknown_and_no_error_where_every_joint_is_slow():
    truth, friction = arm(), friction_model()
    rng = np.random.default_rng(7)
    run = recording(truth, friction, USUAL_VALUES, rng, duration=2.0, rate_hz=1000.0, noise=0.2)
    slow = replace(run.joints, stamps_ns=run.joints.stamps_ns * 50, v=None)
    equations = ArmEquations.build(truth, [replace(run, joints=slow)], friction, Processing())
    found = TorqueDelay.of(equations)
    assert found.seconds == 0.0
    assert not found.shows and not found.worth_correcting


@pytest.mark.parametrize("delay", [-0.004, 0.0, 0.01, 0.02])
def test_delay_is_found_within_its_deviation_though_friction_reverses_in_less(delay):
    truth, friction = arm(), friction_model()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        run = recording(truth, friction, USUAL_VALUES, rng, noise=0.05, delay=delay)
        found = TorqueDelay.of(ArmEquations.build(truth, [run], friction, Processing()))
        assert found.sd < 4e-4
        assert abs(found.seconds - delay) < 3.5 * found.sd


@pytest.mark.parametrize("name", ["wls", "lmi", "entropic"])
def test_gains_arm_and_load_come_from_a_known_mass_wherever_the_search_starts(name):
    rng = np.random.default_rng(9)
    truth, friction = arm(), friction_model()
    pi = truth.pi.copy()
    mass, com = 2.0, np.array([0.25, 0.0, 0.03])
    pi[2] += pi_from_mass_com_inertia(mass, com, np.eye(3) * 0.01)
    runs = [
        recording(model, friction, USUAL_VALUES, rng, duration=15.0, noise=0.05)
        for model in (truth, truth.with_pi(pi))
    ]
    start = friction_model(gains=(1.0, 5.0, 10.0))
    unloaded, loaded = (ArmEquations.build(truth, [run], start, WIDE) for run in runs)
    found = identify_with_load(unloaded, loaded, KnownLoad(mass, "link3"), ESTIMATORS[name]())
    gains = found.gains
    assert np.all(np.abs(gains.gains[1:] / np.array([8.0, 5.0]) - 1.0) < 0.03)
    assert np.all(np.abs(gains.gains - [10.0, 8.0, 5.0]) < 3.0 * gains.sd)
    # The link moves in a plane: only its centre of mass in that plane shows.
    off = (found.payload.values - pi[2] + truth.pi[2])[[1, 3]]
    assert np.all(np.abs(off) < 3.0 * found.payload.standard_deviations[[1, 3]])
    assert np.all(found.payload.standard_deviations[[1, 3]] < 0.05)
    friction_found = np.array(list(found.identification.friction_parameters.values()))
    assert friction_found == pytest.approx(USUAL_VALUES, rel=0.1, abs=0.1)
    q, v, a = motion(rng, 5.0, 100.0)[1:]
    for identified, model in ((found.identification, truth), (found.loaded, truth.with_pi(pi))):
        rigid = model.inverse_dynamics(q, v, a)
        torque = rigid + friction.regressor(q, v, a, rigid) @ USUAL_VALUES
        error = identified.torques(q, v, a) - torque
        assert np.linalg.norm(error) < 0.03 * np.linalg.norm(torque)


def test_load_dependent_friction_is_chosen_on_held_out_blocks():
    rng = np.random.default_rng(10)
    terms = (*USUAL_TERMS, FrictionTerm.LOAD)
    truth, friction = arm(), friction_model(terms)
    values = np.insert(USUAL_VALUES, [4, 8, 12], [0.0, 0.15, 0.0])
    run = recording(truth, friction, values, rng, noise=0.2)
    equations = ArmEquations.build(truth, [run], friction_model(), WIDE)
    chosen, history = choose_terms(equations, [FrictionTerm.LOAD, FrictionTerm.RIPPLE][:1])
    assert FrictionTerm.LOAD in chosen.terms_of("joint2")
    assert FrictionTerm.LOAD not in chosen.terms_of("joint1")
    assert {c.axis for c in history} == {"joint1", "joint2", "joint3"}
    with_term = equations.with_friction(chosen)
    assert term_benefits(with_term)["load"]["joint2"] > 0.2
    result = identify_equations(with_term, LeastSquares("joint"))
    assert result.friction_parameters["joint2.F_l"] == pytest.approx(0.15, abs=0.02)


def test_play_and_breakaway_are_different_in_ideal_motion():
    """Random states far apart would make sign, play and breakaway one and the same."""
    robot = RobotModel.from_urdf("double_pendulum_continuous")
    terms = (FrictionTerm.COULOMB, FrictionTerm.PLAY, FrictionTerm.BREAKAWAY)
    friction = FrictionModel(DriveTrain.direct(robot.joint_names), terms)
    R = arm_structural_rows(robot, friction)[:, -len(friction.names) :]
    R = R / np.linalg.norm(R, axis=0)
    assert np.linalg.svd(R, compute_uv=False)[-1] > 0.05
