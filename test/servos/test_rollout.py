# SPDX-License-Identifier: Apache-2.0
"""One servo compared with results of mechanics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import sysid_core
from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.servos import ServoModel, Term
from sysid_core.servos.bodies import BodyTree, Loads
from sysid_core.servos.model import TERMS, Drive, JointServo


def model(**terms: float) -> ServoModel:
    """The first joint of a PUMA, which stands upright and feels no gravity."""
    servo = JointServo("joint1", {Term(name): value for name, value in terms.items()})
    return ServoModel(RobotModel.from_urdf("puma560"), (servo,))


def step_response(robot: ServoModel, size: float, seconds: float = 3.0) -> np.ndarray:
    t = np.arange(0.0, seconds, 0.01)
    return robot.simulate([0.0, 0.1], [[0.0], [size]], t, [0.0])[:, 0]


def test_gravity_and_inertia_are_pinocchios(rng: np.random.Generator) -> None:
    robot = RobotModel.from_urdf("ur5")
    q = rng.uniform(-2, 2, (20, robot.nv))
    loads = BodyTree(robot).loads(q)
    data = robot.pin_model.createData()
    for k, row in enumerate(q):
        gravity = pin.computeGeneralizedGravity(robot.pin_model, data, row)
        np.testing.assert_allclose(loads.gravity(q)[k], gravity, atol=1e-9)
        inertia = np.diag(pin.crba(robot.pin_model, data, row))
        np.testing.assert_allclose(loads.inertia[k], inertia, atol=1e-9)


def test_joints_swing_each_other_as_rigid_bodies_do() -> None:
    robot = RobotModel.from_urdf("ur5")
    model, data = robot.pin_model.copy(), robot.pin_model.createData()
    model.armature = np.full(robot.nv, 0.5)  # a rotor's inertia moves no other joint
    t = np.arange(101) * 0.01
    rate = np.array([0.4, -0.3, 0.6, 0.2, -0.5, 0.7])
    # Squares of time, which the smoothing by cubics leaves as they are.
    slope = np.array([0.2, 0.5, -0.4, 0.3, 0.6, -0.2])
    q = np.outer(t, rate) + np.outer(t**2, 0.5 * slope)
    torque = BodyTree(robot).coupling(t, q)[50]
    M = pin.crba(model, data, q[50]) - np.diag(model.armature)
    own = np.diag(np.diag(M))
    bias = pin.nonLinearEffects(model, data, q[50], rate + slope * t[50])
    bias -= pin.computeGeneralizedGravity(model, data, q[50])
    np.testing.assert_allclose(torque, (M - own) @ slope + bias, atol=1e-9)


def test_gravity_along_one_joint_follows_from_its_two_coefficients() -> None:
    robot = RobotModel.from_urdf("ur5")
    q = np.linspace(0.1, 0.6, robot.nv)[None]
    moved = q.copy()
    moved[0, 1] += 0.7
    here, there = BodyTree(robot).loads(q), BodyTree(robot).loads(moved)
    np.testing.assert_allclose(here.gravity(moved)[0, 1], there.gravity(moved)[0, 1], atol=1e-9)


def test_a_servo_within_its_sticking_band_never_moves() -> None:
    q = step_response(model(time_constant=0.05, friction=0.02), 0.0199)
    assert (q == 0.0).all()


def test_a_servo_stops_at_the_edge_of_its_sticking_band() -> None:
    q = step_response(model(time_constant=0.05, friction=0.02), 0.5)
    assert q[-1] == pytest.approx(0.48, abs=1e-6)


def test_a_first_order_servo_follows_its_exponential() -> None:
    robot = model(time_constant=0.1)
    t = np.linspace(0.0, 1.0, 11)
    q = robot.simulate([-1.0, 0.0], [[0.0], [1.0]], t, [0.0])[:, 0]
    np.testing.assert_allclose(q, 1 - np.exp(-t / 0.1), atol=0.02)


def test_a_command_acts_after_its_delay() -> None:
    early = step_response(model(time_constant=0.05), 0.5)
    late = step_response(model(time_constant=0.05, delay=0.05), 0.5)
    np.testing.assert_allclose(late[5:], early[:-5], atol=1e-9)


def test_a_profile_needs_the_time_of_its_acceleration() -> None:
    q = step_response(model(time_constant=1e-4, inverse_acceleration=0.1), 1.0)
    t = np.arange(0.0, 3.0, 0.01)
    reached = t[np.flatnonzero(q > 0.5)[0]] - 0.1
    assert reached == pytest.approx(np.sqrt(0.1), abs=0.02)  # half way: a t²/2 = 1/2
    assert q.max() < 1.001


def test_an_obstacle_carries_a_joint_and_does_not_kick_it() -> None:
    t = np.arange(0.0, 4.0, 0.02)
    tick = 2 * np.pi / 4096  # by which an encoder shows the obstacle higher or lower
    low, free = tick * (np.arange(len(t)) // 10 % 2), np.zeros((len(t), 1))
    loads = Loads(free, free, free, np.array([True]))
    drive = Drive(t, np.zeros(1), np.zeros(1), loads, 0, (low, np.full(len(t), np.inf)))
    values = {Term.TIME_CONSTANT: 0.05, Term.INERTIA: 0.002}
    p = np.array([values.get(term, 0.0) for term in TERMS])
    highest = [drive.rollout(p, 0.0, step).max() for step in (0.005, 0.00125)]
    assert max(highest) < 2 * tick
    assert highest[0] == pytest.approx(highest[1], rel=0.1)


def test_gravity_bends_a_servo_by_its_compliance() -> None:
    robot = RobotModel.from_urdf("puma560")
    servo = JointServo("joint2", {Term.TIME_CONSTANT: 0.05, Term.COMPLIANCE: 0.002})
    q = ServoModel(robot, (servo,)).simulate([0.0], [[0.3]], np.linspace(0, 5, 200), [0.3])
    at = np.zeros(robot.nv)
    at[1] = q[-1, 0]
    torque = pin.computeGeneralizedGravity(robot.pin_model, robot.pin_model.createData(), at)[1]
    assert q[-1, 0] == pytest.approx(0.3 - 0.002 * torque, abs=1e-5)


def test_an_integral_gain_takes_friction_and_gravity_away() -> None:
    robot = RobotModel.from_urdf("puma560")
    terms = {Term.TIME_CONSTANT: 0.05, Term.COMPLIANCE: 0.002, Term.INTEGRAL: 2.0}
    arm = ServoModel(robot, (JointServo("joint2", terms | {Term.FRICTION: 0.005}),))
    q = arm.simulate([0.0, 1.0], [[0.3], [0.6]], np.linspace(0, 8, 400), [0.3])[:, 0]
    np.testing.assert_allclose(q[:50], 0.3, atol=1e-6)  # its integral held the joint from the first
    assert q[-1] == pytest.approx(0.6, abs=1e-3)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SignalError, match="don't fit"):
        model().simulate([0.0], [[0.0, 1.0]], [0.0, 1.0], [0.0])


def test_the_front_door_refuses_a_folder_without_a_model(tmp_path: object) -> None:
    with pytest.raises(sysid_core.errors.SysIdError, match="trajectory"):
        sysid_core.load(str(tmp_path))
