# SPDX-License-Identifier: Apache-2.0
"""Planned exciting motions: limits, rank, targets, validation."""

from __future__ import annotations

import numpy as np
import pytest
from design_plans import QUICK

from sysid_core.errors import ExcitationError
from sysid_core.identifiability import NumericalRank
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.planning import (
    ArmPlan,
    MotionChecker,
    MotionLimits,
    Obstacle,
    Trajectory,
    check_motion,
)
from sysid_core.planning.bases import FourierBasis
from sysid_core.planning.design.plan import nearness
from sysid_core.robot import RobotModel

# --- the search


def test_planned_motion_keeps_all_limits_and_is_maximally_exciting(wrist, limits, plan):
    assert check_motion(wrist, plan.trajectory, limits).is_safe
    rank = structural_identifiability(wrist).n_base
    assert plan.conditioning.excitation.rank == rank
    assert [s.label for s in plan.trajectory.segments] == ["still", "fourier", "settle"]


def test_the_file_holds_the_series_that_its_samples_were_made_from(plan, tmp_path):
    plan.trajectory.save(tmp_path / "motion.npz")
    read = Trajectory.load(tmp_path / "motion.npz")
    series = dict(read.series)
    assert series.pop("kind") == "fourier"
    begins, centre = series.pop("begins"), series.pop("centre")
    coefficients = series.pop("coefficients")
    basis = FourierBasis(series["period"], series["n_harmonics"])
    inside = (read.time > begins) & (read.time < begins + basis.period)
    q, v, a = basis.motion(read.time[inside] - begins, centre, coefficients)
    np.testing.assert_allclose(read.q[inside], q, atol=1e-9)
    np.testing.assert_allclose(read.v[inside], v, atol=1e-9)
    np.testing.assert_allclose(read.a[inside], a, atol=1e-8)


def test_optimisation_beats_the_random_motions(plan):
    assert plan.random is not None
    assert plan.expectation.mean_deviation < 0.7 * plan.random.mean_deviation


def test_the_report_says_what_more_time_would_bring(plan):
    curve = dict(plan.alternatives())
    once, twice = (curve[k].data / plan.unknowns.size for k in ("as planned", "twice as long"))
    np.testing.assert_allclose(once / twice, np.sqrt(2.0), rtol=1e-6)
    assert "of" in str(plan.expectation) and "known better than 10 %" in str(plan.expectation)


@pytest.mark.slow
def test_a_target_is_known_better_than_by_a_general_motion(wrist, limits, plan, unknowns):
    i = int(np.argmax(plan.expectation.relative))
    targeted = ArmPlan.of(
        wrist, limits, seed=1, criterion="target", targets=[unknowns.names[i]], **QUICK
    )
    assert targeted.expectation.deviation[i] < plan.expectation.deviation[i]
    with pytest.raises(ExcitationError, match="No base parameters"):
        ArmPlan.of(wrist, limits, criterion="target", targets=["elbow.m"], **QUICK)


@pytest.mark.slow
def test_the_condition_number_can_be_what_is_made_small(wrist, limits, plan):
    other = ArmPlan.of(wrist, limits, seed=1, criterion="condition", **QUICK)
    assert other.conditioning.unit < plan.conditioning.unit


def test_the_seed_decides_the_motion_and_not_the_number_of_processes(wrist, limits):
    short = {**QUICK, "n_iterations": 3}
    one, two = (ArmPlan.of(wrist, limits, seed=5, workers=n, **short) for n in (1, 2))
    np.testing.assert_array_equal(one.trajectory.q, two.trajectory.q)
    assert one.trajectory.seed == 5
    other = ArmPlan.of(wrist, limits, seed=6, **{**short, "n_iterations": 2})
    assert not np.array_equal(one.trajectory.q, other.trajectory.q)


def test_ctrl_c_keeps_the_best_so_far(wrist, limits):
    said = []

    def interrupt(share: float, text: str) -> None:
        said.append(text)
        if "improving" in text and sum("improving" in t for t in said) == 15:
            raise KeyboardInterrupt

    plan = ArmPlan.of(wrist, limits, seed=1, progress=interrupt, **QUICK)
    assert plan.check.is_safe and 10 <= len(plan.history) < 30
    assert not any("motion 2" in text for text in said)


def test_the_limit_in_the_way_is_named_with_what_it_would_have_to_give(wrist, limits):
    boxed = limits.replace(workspace=((-0.01, -0.01, -0.01), (0.01, 0.01, 0.01)))
    quick = {"n_candidates": 2, "n_starts": 1, "n_iterations": 4}
    with pytest.raises(
        ExcitationError, match=r"Limiting: workspace.*required torque 0\.\d+"
    ) as info:
        ArmPlan.of(wrist, boxed, **quick)
    assert info.value.data["blame"][0] == "workspace"


def test_a_body_that_leaves_no_posture_is_named(wrist, limits):
    crate = Obstacle("crate", box=(4.0, 4.0, 4.0))
    with pytest.raises(ExcitationError, match="'crate' in 40 of 40"):
        ArmPlan.of(wrist, limits.replace(obstacles=(crate,)), n_candidates=2)


@pytest.mark.slow
def test_a_box_that_barely_binds_costs_little(wrist, limits):
    free = ArmPlan.of(wrist, limits, seed=3, **QUICK)
    checker = MotionChecker(wrist, limits)
    assert checker.geometry is not None
    top = max(checker.geometry.extent(q)[1][2] for q in free.trajectory.q[::10])
    box = ((-2.0, -2.0, -2.0), (2.0, 2.0, float(top) - 0.02))
    bound = ArmPlan.of(wrist, limits.replace(workspace=box), seed=3, **QUICK)
    assert bound.check.is_safe
    assert bound.expectation.mean_deviation < 1.5 * free.expectation.mean_deviation


def test_the_motion_for_validation_is_another_one(wrist, limits, plan):
    other = ArmPlan.validation_motion(wrist, limits, plan.trajectory, period=6.0, n_harmonics=4)
    assert check_motion(wrist, other, limits).is_safe
    assert nearness(wrist, other, plan.trajectory) > 0.5
    assert nearness(wrist, plan.trajectory, plan.trajectory) < 0.01


def test_noise_free_torques_of_the_motion_give_the_base_parameters(wrist, plan):
    t = plan.trajectory
    base = structural_identifiability(wrist).base
    Y = base.base_regressor(wrist.torque_regressor(t.q, t.v, t.a)).reshape(-1, base.rank)
    tau = wrist.inverse_dynamics(t.q, t.v, t.a).ravel()
    found = np.linalg.lstsq(Y, tau, rcond=None)[0]
    np.testing.assert_allclose(found, base.base_values(wrist.pi.ravel()), atol=1e-9)


@pytest.mark.slow
def test_an_xarm_is_excited_in_all_43_base_parameters():
    model = RobotModel.from_urdf("xarm7")
    limits = MotionLimits.from_model(model, tcp_speed=1.0, ground_height=0.0)
    quick = {"n_harmonics": 20, "n_candidates": 20, "n_starts": 1, "n_iterations": 40}
    plan = ArmPlan.of(model, limits, **quick)
    assert plan.check.is_safe
    assert "maximally exciting: 43 of 43" in str(plan.conditioning)
    # The same rank by another way: of the full regressor, without the structural answer.
    t = plan.trajectory
    Y = model.torque_regressor(t.q[::5], t.v[::5], t.a[::5]).reshape(-1, 70)
    assert NumericalRank.of(Y, tolerance=1e-8).rank == 43


def test_what_a_controller_plays_keeps_the_limits_at_10_khz(wrist, limits, plan):
    """Checked independently: quintics between knots 50 ms apart, own calls for kinematics and
    dynamics.
    """
    import pinocchio as pin
    from scipy.interpolate import BPoly

    t = plan.trajectory
    k = np.unique(np.r_[np.arange(0, len(t.time), 5), len(t.time) - 1])
    curve = BPoly.from_derivatives(t.time[k], np.stack([t.q[k], t.v[k], t.a[k]], axis=1))
    time = np.arange(0.0, t.time[-1], 1e-4)
    q, v, a = curve(time), curve.derivative(1)(time), curve.derivative(2)(time)
    assert np.all((q >= limits.lower) & (q <= limits.upper))
    assert np.all(np.abs(v) <= limits.velocity) and np.all(np.abs(a) <= limits.acceleration)
    tree, data = wrist.pin_model, wrist.pin_model.createData()
    frame = tree.getFrameId("tool0")
    for q_k, v_k, a_k in zip(q[::10], v[::10], a[::10], strict=True):
        assert np.all(np.abs(pin.rnea(tree, data, q_k, v_k, a_k)) <= limits.effort)
        pin.forwardKinematics(tree, data, q_k, v_k)
        assert np.linalg.norm(pin.getFrameVelocity(tree, data, frame).linear) <= limits.tcp_speed
