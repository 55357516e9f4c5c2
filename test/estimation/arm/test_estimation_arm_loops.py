# SPDX-License-Identifier: Apache-2.0
"""Closed chains are identified as open ones are: filters, springs, gains, predictions, faults."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from sysid_core.diagnosis import Examination, examine
from sysid_core.errors import ModelError, SignalError
from sysid_core.estimation.arm import ArmEquations, Identification, Processing, TorqueDelay
from sysid_core.estimation.fit import ConsistentLeastSquares, Weighting
from sysid_core.robot import DriveTrain, FrictionModel
from sysid_core.robot.loops import DrivenRobot, load_closed_chain
from sysid_core.signals import ColumnMap, EffortKind, JointStream, Recording, read_table
from sysid_core.validation import Prediction, judge_identification


@pytest.fixture(scope="module")
def leg():
    return load_closed_chain("own-leg")


@functools.cache  # chains compare by identity, and the module has one of each
def run_of(chain, seed: int, *, measured=(), late: float = 0.0) -> Recording:
    """Motion within the leg's box; torques have 1 % of noise and are delayed by `late` [s]."""
    t, rng = np.arange(0.0, 8.0, 0.01), np.random.default_rng(seed)
    s, v, a = (np.zeros((len(t), 6)) for _ in range(3))
    for w in 2.0 * np.pi * np.array([0.25, 0.5, 1.0]):
        A, B = rng.normal(size=(2, 6))
        c, n = np.cos(w * t)[:, None], np.sin(w * t)[:, None]
        s, v, a = s + A * n + B * c, v + w * (A * c - B * n), a - w * w * (A * n + B * c)
    peak, box = 1.1 * np.abs(s).max(axis=0), chain.box
    v, a = ((x / peak * box.half) @ box.directions.T for x in (v, a))
    motion = chain.motion(box.positions(s / peak), v, a)
    tau = chain.torques(motion)
    tau = np.column_stack([np.interp(t - late, t, x) for x in tau.T])
    tau = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    names = (*chain.actuated, *measured)
    k = [chain.model.joint_names.index(name) for name in names]
    effort = np.column_stack([tau, np.zeros((len(t), len(measured)))])
    stamps = np.round(t * 1e9).astype(np.int64)
    kind = EffortKind.ACTUATOR_TORQUE
    return Recording(
        JointStream(names, stamps, motion.q[:, k], motion.v[:, k], None, effort, kind), source="leg"
    )


def friction_of(chain) -> FrictionModel:
    return FrictionModel(DriveTrain.direct(chain.actuated))


@pytest.mark.parametrize("measured", [(), ("tarsus",)])
def test_a_leg_is_identified_and_predicts_another_motion(leg, measured):
    chain = dataclasses.replace(leg, measured=measured)
    robot = DrivenRobot.of(chain)
    found = Identification.of(
        robot,
        [run_of(chain, 1, measured=measured)],
        friction_of(chain),
        ConsistentLeastSquares(weighting=Weighting.JOINT),
    )
    assert found.physically_consistent
    for joint in chain.actuated:
        for symbol in ("F_c", "F_v"):
            truth = getattr(leg.drive(joint), symbol)
            assert found.friction_parameters[f"{joint}.{symbol}"] == pytest.approx(truth, rel=0.15)
    unseen = Prediction.of(found, run_of(chain, 2, measured=measured))
    assert unseen.joint_names == chain.actuated
    assert unseen.relative_error() < 0.05


def test_torques_of_a_leg_beyond_its_limits_fail(leg):
    run = run_of(leg, 1)
    effort = run.joints.effort * np.where(np.arange(6) == 3, 1000.0, 1.0)  # in milliamperes
    wrong = dataclasses.replace(run, joints=dataclasses.replace(run.joints, effort=effort))
    robot, drives = DrivenRobot.of(leg), DriveTrain.direct(leg.actuated)
    found = Identification.of(robot, [wrong], FrictionModel(drives), ConsistentLeastSquares())
    looked = Examination(leg.actuated, np.ones(6, dtype=bool), (), (), (np.nan, np.nan), 8.0)
    verdict = judge_identification(found, [Prediction.of(found, wrong)], [], looked)
    (reason,) = (r for r in verdict.failures if r.code == "efforts-beyond-limit")
    assert reason.data["joints"] == (leg.actuated[3],)


def test_late_torques_of_a_leg_are_found(leg):
    robot = DrivenRobot.of(leg)
    runs = [run_of(leg, 1, late=4e-3)]
    equations = ArmEquations.build(robot, runs, friction_of(leg), Processing())
    assert TorqueDelay.of(equations).seconds == pytest.approx(4e-3, abs=1.5e-3)


def test_a_leg_with_an_effort_of_the_wrong_sign_is_found_out(leg):
    run = run_of(leg, 1)
    effort = run.joints.effort * np.where(np.arange(6) == 3, -1.0, 1.0)
    wrong = dataclasses.replace(run, joints=dataclasses.replace(run.joints, effort=effort))
    drives = DriveTrain.direct(leg.actuated)
    assert not examine(DrivenRobot.of(leg), [wrong], drives, count=30).verdict.ok


def test_links_without_mass_stay_without_it(leg):
    pi, rod = leg.model.pi, leg.model.body_names.index("ach_rod_link")
    pi[rod] = 0.0
    robot = DrivenRobot.of(leg.with_model(leg.model.with_pi(pi)))
    equations = ArmEquations.build(robot, [run_of(leg, 1)], friction_of(leg), Processing())
    regression = equations.regression(equations.prior)
    assert regression.massless == ("ach_rod_link",)
    assert not regression.free_columns(())[10 * rod : 10 * rod + 10].any()


@pytest.mark.parametrize("missing", ["toe_b", "tarsus"])
def test_joints_that_were_not_recorded_are_named(leg, missing):
    chain = dataclasses.replace(leg, measured=("tarsus",))
    run = run_of(chain, 1, measured=("tarsus",))
    part = run.joints.ordered([name for name in run.joints.names if name != missing])
    with pytest.raises((SignalError, ModelError), match=missing):
        Processing().prepare(
            DrivenRobot.of(chain), dataclasses.replace(run, joints=part), friction_of(chain)
        )


def test_positions_of_another_robot_do_not_assemble(leg):
    run = run_of(leg, 1)
    joints = dataclasses.replace(run.joints, q=run.joints.q + np.array([0, 0, 0, 0, 0.7, 0.7]))
    other = dataclasses.replace(run, joints=joints)
    with pytest.raises(ModelError, match="does not close"):
        ArmEquations.build(DrivenRobot.of(leg), [other], friction_of(leg), Processing())


def test_parameters_of_another_robot_are_refused(leg):
    with pytest.raises(ModelError, match="neither drives nor masses"):
        leg.with_parameters(("x.F_c",), [1.0])


def test_the_manipulator_of_a_surgical_robot_is_predicted_on_unseen_motion(shared_data):
    folder = shared_data / "dvrk_psm"
    columns = ColumnMap.load(folder / "psm_spring.yaml")
    run = read_table(folder / "one.csv", columns)
    robot = DrivenRobot.of(load_closed_chain(folder / "psm_loops.yaml"))
    early = run.joints.time < 0.7 * run.joints.time[-1]
    parts = [dataclasses.replace(run, joints=run.joints.select(x)) for x in (early, ~early)]
    friction = FrictionModel(columns.drives.ordered(robot.joint_names))
    estimator = ConsistentLeastSquares(weighting=Weighting.JOINT)
    found = Identification.of(robot, parts[:1], friction, estimator)
    assert found.physically_consistent and found.friction_parameters["j4.S_k"] > 0.0
    # Plain least squares of another implementation leaves 0.06, 0.16, 0.27 and 0.18 of the torques.
    shares = [s["r2"] for s in Prediction.of(found, parts[1]).joints().values()]
    assert np.all(np.sqrt(1.0 - np.array(shares)) < [0.10, 0.20, 0.27, 0.25])
