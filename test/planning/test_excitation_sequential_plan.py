# SPDX-License-Identifier: Apache-2.0
"""Plans that move one joint at a time: safe, complete, well-conditioned, refused otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ExcitationError, ModelError
from sysid_core.planning import MotionLimits, Trajectory, check_motion
from sysid_core.planning.sequential import SequentialPlan
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, RobotModel

TERMS = (FrictionTerm.COULOMB, FrictionTerm.VISCOUS, FrictionTerm.OFFSET)


def friction(model: RobotModel, terms=TERMS) -> FrictionModel:
    return FrictionModel(DriveTrain.direct(model.joint_names), terms)


def limits(model: RobotModel, **changes) -> MotionLimits:
    return MotionLimits.from_model(model, tcp_speed=2.0, self_collision=False, **changes)


def planned(name: str = "ur5", seed: int = 0, **options):
    model = RobotModel.from_urdf(name)
    bounds = limits(model)
    rng = np.random.default_rng(seed)
    plan = SequentialPlan.of(
        model, bounds, friction(model), rng, candidates=10, n_moves=24, **options
    )
    return model, bounds, plan


@pytest.fixture(scope="module")
def ur5():
    return planned()


def test_every_swing_moves_one_joint_or_says_that_it_moves_two(ur5) -> None:
    model, _, plan = ur5
    trajectory = plan.trajectory
    swings = [s for s in trajectory.segments if s.label != "transfer"]
    assert len(swings) == len(plan.moves) == 24 + plan.n_pairs
    for segment, move in zip(swings, plan.moves, strict=True):
        assert segment.label == move.label
        rows = (trajectory.time >= segment.start) & (trajectory.time <= segment.end)
        moved = np.ptp(trajectory.q[rows], axis=0) > 1e-9
        assert tuple(np.array(model.joint_names)[moved]) == segment.joints
        assert len(segment.joints) == (2 if " with " in segment.label else 1)


def test_plan_is_safe_and_settles_every_constant(ur5) -> None:
    model, bounds, plan = ur5
    assert check_motion(model, plan.trajectory, bounds).is_safe
    assert sum(step.n_settled for step in plan.steps) == len(plan.constants)
    assert len(plan.constants) == 36 + 3 * 6
    assert plan.worst_condition < 1e3


def test_swings_go_both_ways_at_two_speeds(ur5) -> None:
    _, _, plan = ur5
    move = next(m for m in plan.moves if len(m.joints) == 1)
    v = move.v[:, move.joints[0]]
    strokes = np.split(v, np.flatnonzero(np.abs(v) < 1e-9))
    peaks = [s[np.argmax(np.abs(s))] for s in strokes if np.abs(s).max(initial=0.0) > 1e-6]
    assert min(peaks) < 0.0 < max(peaks)
    assert max(np.abs(peaks)) > 1.4 * min(np.abs(peaks))


def test_two_joints_move_only_where_motors_hide_something(ur5) -> None:
    _, _, plan = ur5
    assert 0 < plan.n_pairs <= 6
    assert any("Motor torques" in remark for remark in plan.remarks)
    _, _, behind = planned(locked_measured=True)
    assert behind.n_pairs == 0
    assert behind.remarks == ()


def test_same_seed_gives_the_same_plan(ur5) -> None:
    _, _, plan = ur5
    again = planned()[2]
    np.testing.assert_array_equal(plan.trajectory.q, again.trajectory.q)


def test_plan_is_one_file_that_comes_back(ur5, tmp_path) -> None:
    model, _, plan = ur5
    plan.trajectory.save(tmp_path / "plan.npz")
    back = Trajectory.load(tmp_path / "plan.npz")
    back.belongs_to(model)
    assert back.segments == plan.trajectory.segments
    np.testing.assert_array_equal(back.q, plan.trajectory.q)


def test_prismatic_joints_swing_too(rng) -> None:
    model = RobotModel.from_urdf("stanford")
    n = model.nv
    bounds = MotionLimits(
        joint_names=model.joint_names,
        lower=np.full(n, -2.0),
        upper=np.full(n, 2.0),
        velocity=np.full(n, 1.5),
        acceleration=np.full(n, 5.0),
        effort=np.full(n, np.inf),
        jerk=None,
        tcp_frame=model.body_names[-1],
        tcp_speed=3.0,
        self_collision=False,
    )
    plan = SequentialPlan.of(model, bounds, friction(model), rng, candidates=8, n_moves=24)
    swings = [m for m in plan.moves if m.joints == (2,)]
    assert swings
    assert all(m.amplitude[0] <= 0.15 + 1e-9 for m in swings)  # metres
    assert plan.worst_condition < 1e4


def test_too_few_moves_are_refused_with_what_stays_open(rng) -> None:
    model = RobotModel.from_urdf("ur5")
    with pytest.raises(ExcitationError, match="do not excite") as caught:
        SequentialPlan.of(model, limits(model), friction(model), rng, candidates=4, n_moves=6)
    assert caught.value.data["open"]


def test_joint_without_room_is_refused_by_name(rng) -> None:
    model = RobotModel.from_urdf("ur5")
    narrow = limits(model)
    lower, upper = np.array(narrow.lower), np.array(narrow.upper)
    lower[2], upper[2] = -0.01, 0.01
    with pytest.raises(ExcitationError, match="elbow_joint"):
        SequentialPlan.of(model, narrow.replace(lower=lower, upper=upper), friction(model), rng)


def test_start_outside_the_limits_is_refused(rng) -> None:
    model = RobotModel.from_urdf("ur5")
    with pytest.raises(ExcitationError, match="start posture"):
        SequentialPlan.of(model, limits(model), friction(model), rng, q_start=np.full(6, 9.0))


def test_rounded_urdf_angles_ask_for_nothing_that_the_robot_cannot_show(rng) -> None:
    model = RobotModel.from_urdf("xarm7")  # 1.5708 in its URDF
    usual = FrictionModel(DriveTrain.direct(model.joint_names))
    plan = SequentialPlan.of(model, limits(model), usual, rng, candidates=8, n_moves=28)
    # joint 2 is perpendicular to joint 1: its rotor can't be told from its links.
    assert "joint2.I_a" not in plan.constants
    assert plan.worst_condition < 1e4


def test_trees_are_refused(rng) -> None:
    model = RobotModel.from_urdf("solo12")
    with pytest.raises(ModelError, match="serial arm"):
        SequentialPlan.of(model, limits(model), friction(model), rng)


@pytest.mark.slow
def test_plan_keeps_clear_of_itself_and_of_the_ground() -> None:
    model = RobotModel.from_urdf("ur5")
    bounds = MotionLimits.from_model(model, tcp_speed=2.0, ground_height=-0.3)
    start = [0.0, -1.5, 0.5, 0.0, 0.0, 0.0]
    plan = SequentialPlan.of(
        model,
        bounds,
        friction(model),
        np.random.default_rng(2),
        locked_measured=True,
        q_start=start,
        candidates=4,
        n_moves=10,
    )
    assert plan.check.is_safe
    assert plan.check.postures > 500
    np.testing.assert_allclose(plan.trajectory.q[[0, -1]], [start, start], atol=1e-9)


def test_a_start_posture_that_is_not_free_is_named():
    robot = RobotModel.from_urdf("ur10")
    limits = MotionLimits.from_model(robot, ground_height=-0.02)  # zero lies below
    friction = FrictionModel(DriveTrain.direct(robot.joint_names), TERMS)
    with pytest.raises(ExcitationError, match=r"start posture violates a limit.*ground"):
        SequentialPlan.of(robot, limits, friction, np.random.default_rng(0), q_start=np.zeros(6))
