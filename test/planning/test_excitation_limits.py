# SPDX-License-Identifier: Apache-2.0
"""The check of motions, against hand-made robots whose answers are known."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
import trimesh
import yaml

from sysid_core.errors import ExcitationError, ModelError
from sysid_core.planning import (
    HeldBox,
    MotionChecker,
    MotionLimits,
    Trajectory,
    check_motion,
    joints_beside_arm,
)
from sysid_core.planning.geometry import RobotGeometry
from sysid_core.planning.transfer import straight_move
from sysid_core.robot import RobotModel

LENGTH, MASS = 0.5, 2.0  # of each link [m], [kg]


def planar_arm(collision: str = '<box size="0.5 0.06 0.06"/>') -> RobotModel:
    """Three boxes hinged about parallel vertical-plane axes; q = 0 stretches along x at z = 1."""
    link = f"""
      <inertial><origin xyz="0.25 0 0"/><mass value="{MASS}"/>
        <inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-2" iyz="0" izz="1e-2"/></inertial>
      <collision><origin xyz="0.25 0 0"/><geometry>{collision}</geometry></collision>"""
    joint = '<axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="2" effort="60"/>'
    return RobotModel.from_urdf(
        f"""<robot name="planar"><link name="base"/>
        <link name="a">{link}</link><link name="b">{link}</link><link name="c">{link}</link>
        <joint name="j1" type="revolute"><parent link="base"/><child link="a"/>
          <origin xyz="0 0 1"/>{joint}</joint>
        <joint name="j2" type="revolute"><parent link="a"/><child link="b"/>
          <origin xyz="{LENGTH} 0 0"/>{joint}</joint>
        <joint name="j3" type="revolute"><parent link="b"/><child link="c"/>
          <origin xyz="{LENGTH} 0 0"/>{joint}</joint>
        </robot>"""
    )


@pytest.fixture(scope="module")
def arm() -> RobotModel:
    return planar_arm()


def move(model: RobotModel, start: list[float], goal: list[float], duration: float) -> Trajectory:
    motion = straight_move(start, goal, duration, 200.0)
    return Trajectory(model.name, model.urdf_hash, model.joint_names, *motion)


def free(model: RobotModel, **changes: object) -> MotionLimits:
    """Limits that are wide enough for all of these tests, except for those that are changed."""
    return MotionLimits.from_model(
        model, acceleration=100.0, tcp_frame="c", tcp_speed=100.0
    ).replace(**{"effort": 1e4, **changes})


def kinds(model: RobotModel, trajectory: Trajectory, limits: MotionLimits) -> set[str]:
    return {v.kind for v in check_motion(model, trajectory, limits).violations}


def test_a_motion_inside_all_limits_is_safe(arm):
    check = check_motion(arm, move(arm, [0, 0, 0], [0.5, 0.5, 0.5], 2.0), free(arm))
    assert check.is_safe
    check.raise_if_unsafe()
    assert 0 < check.usage["velocity"] < 1


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("position", {"upper": np.array([3.0, 0.4, 3.0])}),
        ("velocity", {"velocity": np.array([2.0, 0.4, 2.0])}),
        ("acceleration", {"acceleration": np.array([100.0, 0.5, 100.0])}),
        ("jerk", {"jerk": np.array([100.0, 1.0, 100.0])}),
        ("effort", {"effort": np.array([1e4, 1.0, 1e4])}),
        ("tcp speed", {"tcp_speed": 0.3}),
        ("ground", {"ground_height": 0.5}),
        ("workspace", {"workspace": ((-2.0, -2.0, -2.0), (1.2, 2.0, 2.0))}),
    ],
)
def test_each_broken_limit_is_found_alone(arm, kind, changes):
    trajectory = move(arm, [0, 0, 0], [0.5, 0.5, 0.5], 2.0)
    found = check_motion(arm, trajectory, free(arm, **changes)).violations
    assert {v.kind for v in found} == {kind}
    if kind in ("position", "velocity", "acceleration", "jerk", "effort"):
        assert found[0].where == "j2"


def test_a_violation_names_joint_time_value_and_limit(arm):
    trajectory = move(arm, [0, 0, 0], [0, 1.0, 0], 2.0)
    (found,) = check_motion(arm, trajectory, free(arm, velocity=0.9)).violations
    # The minimum-jerk profile peaks in the middle at 1.875 times the mean speed.
    assert (found.kind, found.where, found.limit) == ("velocity", "j2", 0.9)
    assert found.time == pytest.approx(1.0, abs=0.01)
    assert found.value == pytest.approx(1.875 * 1.0 / 2.0, rel=1e-4)


def test_tcp_speed_is_that_of_the_moving_point(arm):
    trajectory = move(arm, [0, 0, 0], [1.0, 0, 0], 2.0)
    usage = check_motion(arm, trajectory, free(arm, tcp_speed=2.0)).usage
    # Frame c starts two link lengths away from the only joint that moves.
    assert usage["tcp speed"] == pytest.approx(2 * LENGTH * 1.875 / 2.0 / 2.0, rel=1e-4)


def test_torque_of_a_stretched_arm_is_the_sum_of_its_moments(arm):
    trajectory = move(arm, [0, 0, 0], [0, 0, 1e-9], 2.0)
    limits = free(arm).replace(effort=100.0)
    moment = MASS * 9.81 * (0.25 + 0.75 + 1.25)
    assert check_motion(arm, trajectory, limits).usage["effort"] == pytest.approx(
        moment / 100.0, rel=1e-6
    )


def test_folding_the_arm_onto_itself_is_a_contact(arm):
    # Bodies a and c are not adjacent; folding b and c back lays c onto a.
    check = check_motion(arm, move(arm, [0, 1.0, 1.0], [0, 2.2, 2.2], 4.0), free(arm))
    (found,) = check.violations
    assert found.kind == "contact"
    assert {"a_0", "c_0"} == set(found.where.split(" and "))
    with pytest.raises(ExcitationError, match="contact of a_0 and c_0"):
        check.raise_if_unsafe()


def test_contact_begins_where_the_boxes_meet(arm):
    # With j2 = pi/2 downwards, body c at angle j3 turns about (0.5, 1 - 0.5) and its far edge
    # reaches the lower face of a when the upper corner of the tip is at z = 1 - 0.03 - clearance.
    checker = MotionChecker(arm, free(arm))
    angles = np.arange(2.0, 3.0, 0.001)
    first = next(x for x in angles if checker.contacts([0, np.pi / 2, x]))
    tilt = first - np.pi / 2  # of c above the horizontal, pointing back
    tip = LENGTH * np.sin(tilt) + 0.03 * np.cos(tilt)
    assert tip == pytest.approx(LENGTH - 0.03 - 0.01, abs=2e-3)


def test_a_held_object_is_part_of_the_robot(arm):
    held = HeldBox((0.5, 0.1, 0.1), centre=(0.75, 0.0, 0.0))
    inwards = move(arm, [0, 1.2, 1.2], [0, 1.7, 2.4], 4.0)
    assert check_motion(arm, inwards, free(arm)).is_safe
    assert kinds(arm, inwards, free(arm, held=held)) == {"contact"}
    downwards = move(arm, [0, 0.5, 0.5], [0, 1.2, 1.2], 4.0)
    assert check_motion(arm, downwards, free(arm, ground_height=0.0)).is_safe
    assert kinds(arm, downwards, free(arm, held=held, ground_height=0.0)) == {"ground"}


def test_the_mass_of_what_is_held_counts_in_the_torques(arm):
    box = HeldBox((0.1, 0.2, 0.3), centre=(0.1, 0.0, 0.05), mass=2.0)
    bare, loaded = (MotionChecker(arm, free(arm, held=h)) for h in (None, box))
    q = np.array([[0.1, 0.4, -0.3]])
    with_load = loaded.loaded.inverse_dynamics(q, 0 * q, 0 * q)[0]
    without = bare.loaded.inverse_dynamics(q, 0 * q, 0 * q)[0]
    model, frame = arm.pin_model, arm.frame_id(loaded.limits.tcp_frame)
    J = pin.computeFrameJacobian(
        model, model.createData(), arm.configuration(q)[0], frame, pin.LOCAL_WORLD_ALIGNED
    )
    data = model.createData()
    pin.framesForwardKinematics(model, data, arm.configuration(q)[0])
    lever = data.oMf[frame].rotation @ np.array(box.centre)
    at_centre = J[:3] - np.cross(lever, J[3:].T).T  # point Jacobian: v + omega x lever
    np.testing.assert_allclose(
        with_load - without, -at_centre.T @ (box.mass * arm.gravity), atol=1e-9
    )
    tight = free(arm, effort=np.full(3, 1.2 * np.abs(without).max()), self_collision=False)
    there = move(arm, q[0] - 0.01, q[0], 4.0)
    assert check_motion(arm, there, tight).is_safe
    assert kinds(arm, there, tight.replace(held=box)) == {"effort"}


def test_sparse_samples_are_checked_between(arm):
    coarse = move(arm, [0, 0, 0], [0.5, 0.5, 0.5], 2.0)
    ends = Trajectory(
        "planar", "", arm.joint_names, [0.0, 0.2], coarse.q[[0, -1]], *np.zeros((2, 2, 3))
    )
    # It stands still by its own words, but goes half a radian in 0.2 s.
    assert {"velocity", "consistency"} <= kinds(arm, ends, free(arm))


def test_a_motion_that_starts_or_ends_moving_is_refused(arm):
    whole = move(arm, [0, 0, 0], [0.5, 0.5, 0.5], 2.0)
    half = dataclasses.replace(
        whole, time=whole.time[:201], q=whole.q[:201], v=whole.v[:201], a=whole.a[:201]
    )
    assert kinds(arm, half, free(arm)) == {"rest"}


def test_velocities_that_are_not_those_of_the_positions_are_refused(arm):
    whole = move(arm, [0, 0, 0], [0.5, 0.5, 0.5], 2.0)
    swapped = dataclasses.replace(whole, v=0.5 * whole.v)
    assert kinds(arm, swapped, free(arm)) == {"consistency"}


def test_joint_order_does_not_matter(arm):
    trajectory = move(arm, [0, 0, 0], [0.1, 0.5, 0.9], 2.0)
    order = [2, 0, 1]
    shuffled = dataclasses.replace(
        trajectory,
        joint_names=tuple(arm.joint_names[i] for i in order),
        **{key: getattr(trajectory, key)[:, order] for key in ("q", "v", "a")},
    )
    limits = free(arm, velocity=0.5)
    assert check_motion(arm, trajectory, limits) == check_motion(arm, shuffled, limits)


def test_an_unsafe_motion_is_not_exported(arm, tmp_path):
    trajectory = move(arm, [0, 0, 0], [0.5, 0.5, 0.5], 2.0)
    with pytest.raises(ExcitationError, match="not safe"):
        MotionChecker(arm, free(arm, tcp_speed=0.1)).export(trajectory, tmp_path / "unsafe.npz")
    assert not list(tmp_path.iterdir())


def test_an_exported_motion_carries_its_limits(arm, tmp_path):
    trajectory = move(arm, [0, 0, 0], [0.5, 0.5, 0.5], 2.0)
    held = HeldBox((0.1, 0.1, 0.1))
    limits = free(arm, workspace=((-2, -2, -2), (2, 2, 2)), held=held)
    MotionChecker(arm, limits).export(trajectory, tmp_path / "motion.npz")
    read = Trajectory.load(tmp_path / "motion.npz")
    assert read.limits == limits.as_dict()
    assert read.limits["tcp_speed"] == 100.0
    again = MotionLimits.from_dict(read.limits)
    assert again.as_dict() == limits.as_dict() and again.joint_names == limits.joint_names
    with pytest.raises(ExcitationError, match="malformed"):
        MotionLimits.from_dict({**read.limits, "planes": [{"no": 1}]})
    np.testing.assert_array_equal(read.q, trajectory.q)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"head": np.array("[1, 2]")}, "expected a mapping"),
        ({"head": np.array("[" * 20_000)}, r"levels deep|nesting depth"),
        ({"head": np.array(5.0)}, "expected a mapping"),
        ({"q": np.zeros((3, 3), dtype=complex)}, "complex128"),
        ({"q": np.zeros((3, 2))}, "shape"),
        ({"time": np.zeros(401)}, "increase"),
        ({"joint_names": ["a", "a", "b"]}, "twice"),
        ({"joint_names": "abc"}, "expected a list"),
        ({"segments": [{"label": 1}]}, r"segments\[0\]"),
        ({"segmnts": []}, "write `segments`"),
        ({"seed": None, "limits": [1]}, "`limits`"),
    ],
)
def test_a_damaged_trajectory_is_refused_by_file_and_key(arm, tmp_path, change, words):
    move(arm, [0, 0, 0], [0.5, 0.5, 0.5], 2.0).save(tmp_path / "motion.npz")
    with np.load(tmp_path / "motion.npz") as file:
        content = dict(file)
    head = yaml.safe_load(str(content["head"]))
    for key, value in change.items():
        if key in content:
            content[key] = value
        else:
            head[key] = value
            content["head"] = np.array(yaml.safe_dump(head))
    np.savez(tmp_path / "damaged.npz", **content)
    with pytest.raises(ExcitationError, match=words) as err:
        Trajectory.load(tmp_path / "damaged.npz")
    assert "damaged.npz" in err.value.message
    assert err.value.remedy


def test_another_robots_motion_is_refused(arm):
    trajectory = move(arm, [0, 0, 0], [0.5, 0.5, 0.5], 2.0)
    other = planar_arm('<box size="0.4 0.06 0.06"/>')
    with pytest.raises(ExcitationError, match="was made for"):
        check_motion(other, trajectory, free(other))


@pytest.mark.parametrize(
    "content", [b"", b"garbage" * 1000, b"\0" * 80 + b"\xff" * 4 + b"\0" * 500]
)
def test_meshes_that_cannot_be_read_are_named(tmp_path, content):
    (tmp_path / "link.stl").write_bytes(content)
    model = planar_arm(f'<mesh filename="{tmp_path}/link.stl"/>')
    with pytest.raises(ModelError, match=r"link\.stl") as err:
        check_motion(model, move(model, [0, 0, 0], [0.1, 0, 0], 2.0), free(model))
    assert err.value.remedy


def test_a_mesh_that_was_written_anew_is_read_anew(tmp_path):
    file = tmp_path / "link.stl"
    tops = []
    for size in (0.1, 0.3):
        trimesh.creation.box((size, size, size)).export(file)
        geometry = RobotGeometry(planar_arm(f'<mesh filename="{file}"/>'), "c")
        low, high = geometry.extent([0, 0, 0])
        tops.append(float(high[2] - low[2]))
    np.testing.assert_allclose(tops, [0.1, 0.3], atol=1e-6)


def test_missing_meshes_are_said_not_hidden():
    mesh = '<mesh filename="package://no_such_package/link.stl"/>'
    model = planar_arm(mesh)
    check = check_motion(model, move(model, [0, 0, 0], [0.1, 0, 0], 2.0), free(model))
    assert check.is_safe
    assert any("a, b, c were not found" in note for note in check.notes)
    assert any("no collision shapes" in note for note in check.notes)


def test_without_shapes_the_ground_is_checked_for_link_frames():
    model = planar_arm('<mesh filename="package://no_such_package/link.stl"/>')
    trajectory = move(model, [0, 0, 0], [1.5, 0, 0], 4.0)
    assert kinds(model, trajectory, free(model, ground_height=0.1)) == {"ground"}


def test_extent_is_the_bounding_box_of_the_moving_boxes(arm):
    low, high = RobotGeometry(arm, "c").extent([0, 0, 0])
    np.testing.assert_allclose(low, [0.0, -0.03, 0.97], atol=1e-9)
    np.testing.assert_allclose(high, [1.5, 0.03, 1.03], atol=1e-9)


@pytest.mark.parametrize("robot", ["xarm7", "ur5"])
def test_bodies_whose_hulls_are_apart_do_not_touch(robot, rng):
    """Two different algorithms, triangle meshes and convex hulls, agree."""
    model = RobotModel.from_urdf(robot)
    geometry = RobotGeometry(model, MotionLimits.from_model(model).tcp_frame)
    n_touching = 0
    for q in rng.uniform(-2.0, 2.0, size=(100, model.nv)):
        touching = geometry.contacts(q)
        n_touching += bool(touching)
        assert not touching or geometry.hulls.at(q, below=0.0)[0].min() < 0.05
    assert n_touching > 5


def test_gradient_of_a_distance_is_that_of_finite_differences(arm):
    hulls = RobotGeometry(arm, "c").hulls
    for q in ([0.3, 1.2, 1.9], [0.0, 1.5, 1.5], [0.0, -1.9, -2.0]):
        distance, gradient = hulls.at(q, below=10.0)
        numeric = [
            (hulls.at(np.add(q, step), 0.0)[0] - hulls.at(np.subtract(q, step), 0.0)[0]) / 2e-5
            for step in 1e-5 * np.eye(3)
        ]
        assert distance.shape == (1,)  # a and c: neighbours aren't pairs
        np.testing.assert_allclose(gradient[0], np.ravel(numeric), atol=1e-4)


@pytest.mark.parametrize("robot", ["xarm7", "ur5", "panda", "kinova"])
def test_meshes_of_real_arms_are_found_and_the_limits_are_theirs(robot):
    model = RobotModel.from_urdf(robot)
    limits = MotionLimits.from_model(model, position_margin=0.0)
    np.testing.assert_array_equal(limits.velocity, model.velocity_limits)
    np.testing.assert_array_equal(limits.effort, model.effort_limits)
    geometry = RobotGeometry(model, limits.tcp_frame)
    assert geometry.has_shapes
    assert not [note for note in geometry.notes if "not found" in note]


def test_limits_that_leave_no_room_are_refused(arm):
    with pytest.raises(ExcitationError, match="do not permit any motion"):
        free(arm, lower=np.array([0.0, 5.0, 0.0]))
    with pytest.raises(ExcitationError, match="must be positive"):
        free(arm, velocity=0.0)
    with pytest.raises(ExcitationError, match="limits are for joints"):
        MotionChecker(RobotModel.from_urdf("ur5"), free(arm))


def test_a_plan_whose_own_limits_were_widened_is_checked_against_the_description():
    model = RobotModel.from_urdf("ur5")
    own = MotionLimits.from_model(model, acceleration=2.0, tcp_speed=0.5, ground_height=-0.1)
    wide = own.replace(velocity=10 * own.velocity, upper=own.upper + 9, effort=10 * own.effort)
    both = wide.stricter(MotionLimits.described(model))
    np.testing.assert_array_equal(both.velocity, model.velocity_limits)
    np.testing.assert_array_equal(both.upper, model.position_limits[1])
    np.testing.assert_array_equal(both.effort, model.effort_limits)
    np.testing.assert_array_equal(both.acceleration, own.acceleration)
    assert both.tcp_speed == 0.5 and both.ground_height == -0.1 and both.self_collision


def test_stricter_limits_are_the_same_from_both_sides():
    model = RobotModel.from_urdf("ur5")
    one = MotionLimits.from_model(model, acceleration=2.0, ground_height=-0.1)
    other = MotionLimits.from_model(model, velocity_share=0.5, ground_height=0.1, tcp_speed=0.1)
    for a, b in ((one, other), (other, one)):
        both = a.stricter(b)
        assert both.tcp_speed == 0.1 and both.ground_height == 0.1
        np.testing.assert_array_equal(both.velocity, 0.5 * one.velocity)
        np.testing.assert_array_equal(both.acceleration, 2.0)


def test_accelerations_that_a_controller_s_quintics_reach_count():
    """The velocities of samples at ±9 rad/s² hardly differ, but a quintic passes through each
    acceleration.
    """
    robot = RobotModel.from_urdf("ur5")
    limits = MotionLimits.from_model(robot, self_collision=False, acceleration=5.0)
    t = 0.05 * np.arange(80)
    a = np.zeros((80, 6))
    a[2:-2, 0] = 9.0 * (-1.0) ** np.arange(76)
    v = 0.025 * np.vstack([np.zeros((1, 6)), np.cumsum(a[1:] + a[:-1], axis=0)])
    q = 0.025 * np.vstack([np.zeros((1, 6)), np.cumsum(v[1:] + v[:-1], axis=0)])
    motion = Trajectory(robot.name, robot.urdf_hash, robot.joint_names, t, q, v, a)
    assert np.abs(np.diff(v, axis=0)).max() / 0.05 < 5.0
    (broken,) = check_motion(robot, motion, limits).violations
    assert broken.kind.value == "acceleration" and abs(broken.value) == pytest.approx(9.0)


def test_wheels_are_what_turns_without_end_beside_the_tool():
    _, wheels = joints_beside_arm(RobotModel.from_urdf("tiago_no_hand"))
    assert wheels == ("wheel_left_joint", "wheel_right_joint")
    assert joints_beside_arm(RobotModel.from_urdf("kinova"))[1] == ()
