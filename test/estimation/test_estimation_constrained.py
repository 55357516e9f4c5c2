# SPDX-License-Identifier: Apache-2.0
"""Identification of closed chains: exact recovery, consistency, delay, errors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sysid_core.errors import EstimationError, ModelError, SignalError
from sysid_core.estimation import ParameterVerdict
from sysid_core.estimation.closed_chain import (
    ConstrainedEquations,
    ConstrainedProcessing,
    identified_chain,
    identify_constrained,
    identify_constrained_equations,
)
from sysid_core.estimation.fit import ConsistentLeastSquares, LeastSquares
from sysid_core.robot.loops import (
    DRIVE_NAMES,
    ClosedChain,
    JointDrive,
    constrained_motion,
    constrained_torques,
    load_closed_chain,
)
from sysid_core.signals import EffortKind, JointStream, Recording

RATE = 250.0


@pytest.fixture(scope="module")
def leg() -> ClosedChain:
    return load_closed_chain("own-leg")


@pytest.fixture(scope="module")
def truth(leg) -> ClosedChain:
    rng = np.random.default_rng(4)
    return leg.with_drives(
        {
            j: JointDrive(
                *(np.array(leg.drive(j).values[:3]) * rng.uniform(0.5, 2, 3)), rng.normal()
            )
            for j in leg.actuated
        }
    )


def motion_of(chain: ClosedChain, duration: float = 8.0):
    t = np.arange(0, duration, 1 / RATE)
    rng = np.random.default_rng(11)
    s, v, a = (np.zeros((len(t), 6)) for _ in range(3))
    for w in 2 * np.pi * np.array([0.25, 0.5, 1.0, 1.5]):
        A, B = rng.normal(size=(2, 6))
        c, n = np.cos(w * t)[:, None], np.sin(w * t)[:, None]
        s, v, a = s + A * n + B * c, v + w * (A * c - B * n), a - w * w * (A * n + B * c)
    peak = 1.1 * np.abs(s).max(axis=0)
    box = chain.box
    return t, box.positions(s / peak), *((x / peak * box.half) @ box.directions.T for x in (v, a))


def recording(
    chain: ClosedChain,
    rng: np.random.Generator | None = None,
    *,
    duration: float = 8.0,
    delay: float = 0.0,
    passive: tuple[str, ...] = (),
) -> Recording:
    t, q_a, v_a, a_a = motion_of(chain, duration)
    motion = constrained_motion(chain, q_a, v_a, a_a)
    u = constrained_torques(chain, motion)
    if delay:
        u = np.column_stack([np.interp(t - delay, t, x) for x in u.T])
    names = (*chain.actuated, *passive)
    k = [chain.model.joint_names.index(j) for j in names]
    effort = np.column_stack([u, np.zeros((len(t), len(passive)))])
    v = motion.v[:, k]
    if rng is not None:
        v = v + 1e-3 * rng.normal(size=v.shape)
        effort = effort + 0.02 * effort.std(axis=0) * rng.normal(size=effort.shape)
    return Recording(
        JointStream(
            names,
            np.round(t * 1e9).astype(np.int64),
            motion.q[:, k],
            v,
            effort=effort,
            effort_kind=EffortKind.ACTUATOR_TORQUE,
        ),
        source="bench",
    )


def true_values(chain: ClosedChain) -> dict[str, float]:
    return {
        f"{j}.{s}": x
        for j in chain.actuated
        for s, x in zip(DRIVE_NAMES, chain.drive(j).values, strict=True)
    }


def test_exact_data_give_exact_drives(leg, truth):
    estimate = identify_constrained(recording(truth), leg)
    for name, value in true_values(truth).items():
        # Accelerations come from differences of the velocity, to about 1e-6.
        assert estimate[name] == pytest.approx(value, rel=1e-4, abs=1e-4)
    assert estimate.maximally_exciting and estimate.physically_consistent
    assert set(estimate.verdicts) == {ParameterVerdict.IDENTIFIABLE}


def test_exact_data_leave_torques_of_a_millionth(leg, truth):
    equations = ConstrainedEquations.build(
        leg, [recording(truth)], ConstrainedProcessing(estimate_delay=False)
    )
    estimate = identify_constrained_equations(equations)
    measured, left = equations.residual(identified_chain(leg, estimate))
    assert np.sqrt(np.mean(left**2) / np.mean(measured**2)) < 1e-5


@pytest.mark.slow
def test_base_parameters_of_everything_predict_to_a_millionth(leg, truth):
    equations = ConstrainedEquations.build(
        leg, [recording(truth, duration=4.0)], ConstrainedProcessing(estimate_delay=False)
    )
    regression = equations.regression(inertials=True)
    pi_b = LeastSquares("none").fit(regression)
    base = regression.base
    left = regression.tau - base.base_regressor(regression.Y) @ pi_b.values
    assert np.sqrt(np.mean(left**2) / np.mean(regression.tau**2)) < 1e-6
    assert base.rank == 120


def test_noisy_data_give_drives_within_two_percent_and_honest_deviations(leg, truth, rng):
    estimate = identify_constrained([recording(truth, rng) for _ in range(2)], leg)
    true = true_values(truth)
    error = np.array([estimate[n] - true[n] for n in true])
    relative = np.abs(error / np.array(list(true.values()))).reshape(-1, 4)[:, :3]
    assert relative.max() < 0.02
    assert np.mean(np.abs(error) <= 2 * estimate.standard_deviations) >= 0.85


def test_the_descriptions_friction_is_no_initial_guess(leg, truth, rng):
    run = recording(truth, rng)
    other = leg.with_drives({j: JointDrive(50.0, 9.0, 3.0, -4.0) for j in leg.actuated})
    first, second = (identify_constrained(run, chain) for chain in (leg, other))
    np.testing.assert_allclose(first.values, second.values, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_everything_at_once_stays_consistent_on_half_a_second(leg, truth, rng):
    short = recording(truth, rng, duration=1.2)
    processing = ConstrainedProcessing(end_trim=0.3, estimate_delay=False)
    estimate = identify_constrained(short, leg, inertials=True, processing=processing)
    assert estimate.physically_consistent
    values = dict(zip(estimate.names, estimate.values, strict=True))
    assert all(values[f"{j}.{s}"] >= 0 for j in leg.actuated for s in ("F_c", "F_v", "I_a"))
    assert not estimate.maximally_exciting and estimate.certify()
    chain = identified_chain(leg, estimate)
    np.testing.assert_allclose(chain.model.pi.ravel(), estimate.values[:150], atol=1e-9)


@pytest.mark.slow
def test_massless_links_stay_massless(leg, truth, rng):
    pi = leg.model.pi
    rod = leg.model.body_names.index("ach_rod_link")
    pi[rod] = 0.0
    chain = leg.with_model(leg.model.with_pi(pi))
    estimate = identify_constrained(
        recording(truth, rng, duration=1.5),
        chain,
        inertials=True,
        processing=ConstrainedProcessing(estimate_delay=False),
    )
    np.testing.assert_array_equal(estimate.values[10 * rod : 10 * rod + 10], 0.0)


def test_a_delay_of_the_torques_is_found_and_taken_out(leg, truth, rng):
    equations = ConstrainedEquations.build(leg, [recording(truth, rng, delay=3e-3)])
    equations = equations.without_delay()
    assert equations.delay == pytest.approx(3e-3, abs=1e-4)
    estimate = identify_constrained_equations(equations)
    true = true_values(truth)
    worst = max(abs(estimate[n] / true[n] - 1) for n in true if n.endswith("I_a"))
    assert worst < 0.02
    assert any("ms late" in note for note in estimate.notes)


def test_a_tarsus_encoder_may_be_used(leg, truth, rng):
    run = recording(truth, rng, passive=("tarsus",))
    estimate = identify_constrained(run, leg, measured=("tarsus",))
    assert estimate["knee.F_c"] == pytest.approx(true_values(truth)["knee.F_c"], rel=0.02)


def test_matched_filtering_beats_separate_filters(leg, truth):
    """The paper's three cut-offs bias an exact recording; one filter for both sides doesn't."""
    run, true = recording(truth), true_values(truth)

    def worst(processing: ConstrainedProcessing) -> float:
        estimate = identify_constrained(run, leg, processing=processing)
        return max(abs(estimate[n] / true[n] - 1) for n in true if not n.endswith("beta"))

    assert worst(ConstrainedProcessing()) < 0.3 * worst(ConstrainedProcessing.of_the_paper())


@pytest.mark.parametrize(
    "estimator", [LeastSquares("joint"), ConsistentLeastSquares(weighting="joint")]
)
def test_other_estimators_take_the_same_equations(leg, truth, rng, estimator):
    estimate = identify_constrained(recording(truth, rng), leg, estimator=estimator)
    assert estimate["toe_a.F_v"] == pytest.approx(true_values(truth)["toe_a.F_v"], rel=0.05)


def test_friction_of_passive_joints_can_be_asked_for(leg, truth, rng):
    estimate = identify_constrained(
        recording(truth, rng), leg, drives=(*leg.actuated, "tarsus", "ach_rod")
    )
    assert estimate.structural_rank == 32
    assert estimate.standard_deviations[estimate.names.index("ach_rod.F_v")] > 0


def test_missing_passive_joints_are_named(leg, truth):
    with pytest.raises(SignalError, match="tarsus"):
        identify_constrained(recording(truth, duration=2.0), leg, measured=("tarsus",))


def test_missing_actuated_joints_are_named(leg, truth):
    run = recording(truth, duration=2.0)
    part = dataclasses.replace(run, joints=run.joints.ordered(leg.actuated[:5]))
    with pytest.raises(SignalError, match="toe_b"):
        identify_constrained(part, leg)


@pytest.mark.parametrize("what", ["q", "v", "effort"])
def test_samples_that_are_no_numbers_are_named(leg, truth, what):
    run = recording(truth, duration=2.0)
    values = np.array(getattr(run.joints, what))
    values[100, 3] = np.nan
    joints = dataclasses.replace(run.joints, **{what: values})
    with pytest.raises(SignalError, match=rf"'{what}' of \['knee'\]"):
        identify_constrained(dataclasses.replace(run, joints=joints), leg)


def test_currents_are_refused(leg, truth):
    run = recording(truth, duration=2.0)
    joints = dataclasses.replace(run.joints, effort_kind=EffortKind.MOTOR_CURRENT)
    with pytest.raises(SignalError, match="motor_current"):
        identify_constrained(dataclasses.replace(run, joints=joints), leg)


def test_a_joint_without_efforts_is_left_out_and_named(leg, truth, rng):
    run = recording(truth, rng)
    effort = run.joints.effort.copy()
    effort[:, leg.actuated.index("knee")] = 0.0
    estimate = identify_constrained(
        dataclasses.replace(run, joints=dataclasses.replace(run.joints, effort=effort)), leg
    )
    assert any("knee are zero throughout" in note for note in estimate.notes)
    assert estimate.structural_rank - estimate.rank == len(DRIVE_NAMES)
    for name, value in true_values(truth).items():
        sd = estimate.standard_deviations[estimate.names.index(name)]
        assert name.startswith("knee.") or abs(estimate[name] - value) < 4.0 * sd + 1e-3
    nothing = dataclasses.replace(run.joints, effort=0.0 * effort)
    with pytest.raises(EstimationError, match="All efforts are zero"):
        identify_constrained(dataclasses.replace(run, joints=nothing), leg)


def test_a_robot_at_rest_is_refused(leg):
    t = np.arange(0, 3, 1 / RATE)
    still = np.zeros((len(t), 6))
    joints = JointStream(
        leg.actuated,
        np.round(t * 1e9).astype(np.int64),
        still,
        still,
        effort=still,
        effort_kind=EffortKind.ACTUATOR_TORQUE,
    )
    with pytest.raises(EstimationError, match="moves faster"):
        identify_constrained(Recording(joints), leg)


def test_positions_of_another_robot_dont_assemble(leg, truth):
    run = recording(truth, duration=2.0)
    joints = dataclasses.replace(run.joints, q=run.joints.q + np.array([0, 0, 0, 0, 0.7, 0.7]))
    with pytest.raises(ModelError, match="doesn't assemble"):
        identify_constrained(dataclasses.replace(run, joints=joints), leg)


def test_an_estimate_of_another_robot_is_refused(leg, truth, rng):
    estimate = identify_constrained(recording(truth, rng, duration=3.0), leg)
    other = dataclasses.replace(estimate, names=tuple(f"x{i}" for i in range(24)))
    with pytest.raises(EstimationError, match="neither drives nor masses"):
        identified_chain(leg, other)


def test_an_unknown_processing_is_refused():
    with pytest.raises(EstimationError, match="matched"):
        ConstrainedProcessing(order="magic")
