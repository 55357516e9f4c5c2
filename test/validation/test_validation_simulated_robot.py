"""The simulated robot behaves as a driver with a trajectory controller does."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import SignalError
from sysid_core.excitation import minimum_jerk
from sysid_core.robot import RobotModel
from sysid_core.validation import MujocoPlant, SensorNoise, SimulatedRobot

QUIET = SensorNoise(0.0, 0.0, 0.0, 0.0, 0.0)
Q0 = np.array([0.1, -0.5, 0.4, 0.2, 0.3, -0.1])


@pytest.fixture
def robot() -> SimulatedRobot:
    model = RobotModel.from_urdf("ur5")
    return SimulatedRobot(MujocoPlant(model), Q0, QUIET, np.random.default_rng(0))


def ramp(goal: np.ndarray, duration: float) -> tuple[np.ndarray, ...]:
    time = np.linspace(0.0, duration, 21)
    s, ds, dds = minimum_jerk(time / duration)
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
