# SPDX-License-Identifier: Apache-2.0
"""The simulated robot behaves as a driver with a trajectory controller does."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import SignalError
from sysid_core.planning import Trajectory
from sysid_core.robot import RobotModel
from sysid_core.robot.loops import load_closed_chain
from sysid_core.simulation import (
    ClosedChainPlant,
    MujocoPlant,
    SensorNoise,
    SimulatedRobot,
)

QUIET = SensorNoise(0.0, 0.0, 0.0, 0.0, 0.0)
Q0 = np.array([0.1, -0.5, 0.4, 0.2, 0.3, -0.1])


@pytest.fixture
def robot() -> SimulatedRobot:
    model = RobotModel.from_urdf("ur5")
    return SimulatedRobot(MujocoPlant(model), Q0, QUIET, np.random.default_rng(0))


def ramp(goal: np.ndarray, duration: float) -> tuple[np.ndarray, ...]:
    time = np.linspace(0.0, duration, 21)
    s, ds, dds = Trajectory.minimum_jerk(time / duration)
    way = goal - Q0
    return (
        time,
        Q0 + s[:, None] * way,
        ds[:, None] * way / duration,
        dds[:, None] * way / duration**2,
    )


def test_it_holds_its_posture_until_commanded(robot: SimulatedRobot) -> None:
    np.testing.assert_allclose(robot.advance(1.0).q, Q0, atol=1e-9)


def test_it_plays_a_trajectory_from_its_start_time(robot: SimulatedRobot) -> None:
    goal = Q0 + 0.3
    robot.command_trajectory(*ramp(goal, 1.0), delay_s=0.2)
    np.testing.assert_allclose(robot.advance(0.2).q, Q0, atol=1e-5)
    np.testing.assert_allclose(robot.advance(0.5).q, Q0 + 0.15, atol=2e-3)
    np.testing.assert_allclose(robot.advance(0.7).q, goal, atol=1e-5)


def test_a_new_trajectory_replaces_the_one_under_way(robot: SimulatedRobot) -> None:
    robot.command_trajectory(*ramp(Q0 + 0.3, 1.0))
    half = robot.advance(0.5)
    stop = (np.array([0.0, 0.2]), np.array([half.q, half.q + 0.1 * half.v]))
    robot.command_trajectory(*stop, np.array([half.v, 0 * half.v]), np.zeros((2, 6)))
    robot.advance(0.5)
    end = robot.advance(0.2)
    np.testing.assert_allclose(end.q, half.q + 0.1 * half.v, atol=1e-4)
    np.testing.assert_allclose(end.v, 0.0, atol=1e-4)


def test_streamed_positions_are_followed_without_a_jump(robot: SimulatedRobot) -> None:
    robot.command_position(Q0 + 0.05)
    speeds = [np.abs(robot.advance(0.01).v).max() for _ in range(60)]
    np.testing.assert_allclose(robot.plant.q, Q0 + 0.05, atol=1e-4)
    assert np.abs(np.diff(speeds)).max() < 0.05 * 40**2 * 0.01


def test_a_lost_effort_stream_ends_in_a_held_posture(robot: SimulatedRobot) -> None:
    robot.command_effort(robot.plant.servo_effort(Q0, np.zeros(6), np.zeros(6)))
    robot.advance(0.05)
    robot.advance(1.0)
    still = robot.advance(0.5)
    np.testing.assert_allclose(still.v, 0.0, atol=1e-6)


def lose_the_stream(
    robot: SimulatedRobot, effort: np.ndarray, duration: float
) -> tuple[np.ndarray, np.ndarray]:
    """Norm of the velocities, and efforts, for two seconds from the timeout of the last effort on,
    at 1 kHz.
    """
    while robot.plant.time < duration:
        robot.command_effort(effort)
        robot.advance(0.01)
    robot.advance(0.1)  # the timeout
    samples = [robot.advance(1e-3) for _ in range(2000)]
    return np.array([np.linalg.norm(s.v) for s in samples]), np.array([s.effort for s in samples])


def test_a_fast_arm_brakes_within_its_torque_limits_and_holds(robot: SimulatedRobot) -> None:
    limits = RobotModel.from_urdf("ur5").effort_limits
    speed, effort = lose_the_stream(robot, np.array([60.0, -60.0, -20.0, 1.0, 1.0, 0.2]), 0.2)
    assert speed[0] > 10.0  # far more than a servo could stop at once
    assert np.all(np.abs(effort) <= limits + 1e-9)
    assert np.max(np.abs(effort[:20]) / limits) > 0.99  # as hard as it may
    stopped = int(np.argmax(speed < 0.01))
    assert 100 < stopped < 1000 and np.all(speed[stopped:] < 0.02)
    held = robot.plant.q
    np.testing.assert_allclose(robot.advance(1.0).q, held, atol=1e-6)


def test_a_leg_with_loops_brakes_within_its_torque_limits_and_holds() -> None:
    leg = load_closed_chain("own-leg")
    robot = SimulatedRobot(ClosedChainPlant(leg), np.zeros(leg.n), QUIET, np.random.default_rng(0))
    speed, effort = lose_the_stream(robot, np.array([30.0, 20.0, 60.0, 60.0, 10.0, 10.0]), 0.03)
    assert speed[0] > 3.0
    assert np.all(np.abs(effort[:, leg.actuated_columns]) <= leg.torque_limits)
    stopped = int(np.argmax(speed < 0.01))
    assert 0 < stopped < 1000 and np.all(speed[stopped:] < 0.02)
    assert np.all(np.diff(speed[:stopped]) < 1e-3)  # it never speeds up
    assert robot.plant.loop_error() < 1e-5


def test_a_trajectory_takes_over_from_efforts_where_the_robot_is(robot: SimulatedRobot) -> None:
    for _ in range(20):
        robot.command_effort(np.array([5.0, -50.0, -15.0, 0.0, 0.0, 0.0]))
        robot.advance(0.01)
    before = robot.advance(1e-3)
    assert np.abs(before.q - Q0).max() > 0.05
    robot.command_trajectory([0.0], before.q[None], np.zeros((1, 6)), np.zeros((1, 6)), delay_s=1.0)
    after = robot.advance(1e-3)
    np.testing.assert_allclose(after.v, before.v, atol=0.05)  # no jump back to an old posture


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t, q, v, a: (t[::-1], q, v, a), "increasing"),
        (lambda t, q, v, a: (t, q * np.nan, v, a), "NaN"),
        (lambda t, q, v, a: (t, q, v + 0.1, a), "rest"),
    ],
)
def test_a_trajectory_that_is_no_motion_is_refused(
    robot: SimulatedRobot, change: object, words: str
) -> None:
    with pytest.raises(SignalError, match=words):
        robot.command_trajectory(*change(*ramp(Q0 + 0.1, 1.0)))  # type: ignore[operator]
