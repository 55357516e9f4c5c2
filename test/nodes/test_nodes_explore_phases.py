# SPDX-License-Identifier: Apache-2.0
"""Action `~/explore` under a cancel and a fault in each phase, without other nodes."""

from __future__ import annotations

import asyncio
import importlib
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from robot_sysid.action import ExecuteTrajectory, Explore

from sysid_core.clock_gate import ClockGate
from sysid_core.errors import SysIdError
from sysid_core.planning import MotionChecker, MotionLimits, Trajectory
from sysid_core.planning.design import Explorer, Unknowns
from sysid_core.robot import RobotModel
from sysid_nodes.explorer.action import ExploreAction
from sysid_nodes.explorer.config import ExplorerConfig
from sysid_nodes.trajectory_executor.arming import Arming

exploring: Any = importlib.import_module("sysid_nodes.explorer.action")
HELD = dict(
    zip(("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint"), (0.0, -1.2, 1.2), strict=True)
)
HOME = np.array([-1.2, -1.4, 0.2])


class Robot:
    """Logger and executor, as the explorer sees them: a robot that follows what it is told."""

    @property
    def wanted(self) -> bool:
        return not self.cancelled

    def __init__(self, cancel_in: str = "", fault_in: str = "") -> None:
        self.cancel_in, self.fault_in = cancel_in, fault_in
        self.cancelled, self.q = False, HOME
        self.phases: list[str] = []
        self.moved: Any = None
        self.late, self.deaf = 0, False

    def reach(self, phase: str) -> None:
        self.phases.append(phase)
        self.cancelled |= phase == self.cancel_in
        if phase == self.fault_in:
            raise SysIdError(f"Fault while {phase}.")

    # The motion as the logger sees it.
    def is_fresh(self, now_ns: int, age_s: float) -> bool:
        if "standing" not in (self.cancel_in, self.fault_in):
            return True
        self.phases.append("standing")
        self.cancelled |= self.cancel_in == "standing"
        return False

    @property
    def positions(self) -> np.ndarray:
        return self.q

    def reaches(self, time_ns: int) -> bool:
        """True after some calls: the states of a motion arrive after its end."""
        self.late -= 1
        return self.late < 0

    def begin(self) -> None:
        self.late = 2
        self.moved = (np.empty((0, 3)),) * 3 + (0.0,)

    def end(self) -> Any:
        if self.late >= 0 or self.deaf:
            return (np.empty((0, 3)),) * 3 + (0.0,)
        return self.moved

    # The executor.
    async def play(self, file: str, wanted: Any, report: Any, *, speed_scale: float) -> Any:
        self.reach("arming")
        piece = Trajectory.load(file)
        report(0.5)
        ended = "playing" in (self.cancel_in, self.fault_in)
        rows = slice(0, len(piece.time) // 2 if ended else None, 5)
        self.moved = (piece.q[rows], piece.v[rows], piece.a[rows], float(piece.time[rows][-1]))
        self.q = piece.q[-1]
        self.reach("playing")
        message = "cancelled" if self.cancelled else "as planned"
        return ExecuteTrajectory.Result(success=not self.cancelled, message=message)


class Waits:
    """Waits only until threads are done, at most three steps for timeouts below a minute."""

    async def until(self, done: Any, longest_s: float) -> None:
        for _ in range(3 if longest_s < 60.0 else 100_000):
            if done():
                return
            await asyncio.sleep(0.005)


@cache
def wrist() -> RobotModel:
    return RobotModel.from_urdf("ur5").with_locked(HELD)


@cache
def checker() -> MotionChecker:
    limits = MotionLimits.from_model(wrist(), tcp_frame="tool0", tcp_speed=1.0)
    return MotionChecker(wrist(), limits)


@cache
def unknowns() -> Unknowns:
    return Unknowns.of_arm(wrist())


@pytest.fixture(autouse=True)
def built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meshes are read once for all cases."""
    monkeypatch.setattr(exploring, "planning_limits", lambda config, model: checker().limits)
    monkeypatch.setattr(exploring, "MotionChecker", lambda model, limits: checker())
    monkeypatch.setattr(exploring, "Unknowns", SimpleNamespace(of_arm=lambda model: unknowns()))


def explored(robot: Robot, folder: Path) -> Any:
    """The result of a goal, as the action server gives it."""
    action: Any = object.__new__(ExploreAction)
    model = wrist()
    action._node = SimpleNamespace(model=model, waits=Waits(), now_ns=lambda: 0)
    action._config = ExplorerConfig(directory=str(folder), period_s=2.0, iterations=0)
    action._motion = action._remote = action._action = robot
    action._gate = ClockGate("states")
    action._arming = Arming(1e9)
    goal = Goal(action._arming.arm())
    try:
        return asyncio.run(action._run(goal))
    except SysIdError as err:
        return action._failed(err)


class Goal:
    """As the action server hands it on."""

    def __init__(self, token: str) -> None:
        self.request = Explore.Goal(deviation=0.01, longest=4.0, speed_scale=1.0, token=token)

    def publish_feedback(self, feedback: Any) -> None:
        """Nobody listens."""


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a robot's cancel or fault happen while a piece is planned."""

    def of(robot: Robot) -> Robot:
        usual = Explorer.next_piece

        def next_piece(self: Explorer, q: Any, stop: Any) -> Trajectory:
            robot.reach("planning")
            return usual(self, q, stop)

        monkeypatch.setattr(Explorer, "next_piece", next_piece)
        return robot

    return of


@pytest.mark.parametrize(
    ("phase", "pieces"), [("standing", 0), ("planning", 0), ("arming", 1), ("playing", 1)]
)
def test_a_cancel_ends_it_in_every_phase_and_what_was_played_counts(
    phase: str, pieces: int, planning: Any, tmp_path: Path
) -> None:
    robot = planning(Robot(cancel_in=phase))
    result = explored(robot, tmp_path)
    assert not result.success and result.ending == "aborted"
    assert "ancelled" in result.message and result.pieces == pieces
    assert robot.phases.count("playing") <= 1 and robot.phases.count("planning") <= 1


@pytest.mark.parametrize(
    ("phase", "pieces"), [("standing", 0), ("planning", 0), ("arming", 0), ("playing", 1)]
)
def test_a_fault_ends_it_in_every_phase_and_what_was_played_counts(
    phase: str, pieces: int, planning: Any, tmp_path: Path
) -> None:
    robot = planning(Robot(fault_in=phase))
    result = explored(robot, tmp_path)
    assert not result.success and result.ending == "aborted"
    said = "No filtered joint states" if phase == "standing" else f"Fault while {phase}"
    assert said in result.message and result.pieces == pieces
    assert (result.duration > 0.5) is (pieces > 0)
    assert robot.phases.count("planning") <= 1  # nothing goes on after it


def test_without_either_it_goes_on_until_its_time_is_up(tmp_path: Path) -> None:
    result = explored(Robot(), tmp_path)
    assert result.ending == "out of time" and result.pieces == 2
    assert 3.5 < result.duration < 4.1 and len(result.names) == len(result.deviation)
    assert len(list(tmp_path.rglob("piece_*.npz"))) == 2


def test_a_motion_of_which_no_state_arrives_is_not_played_again(tmp_path: Path) -> None:
    robot = Robot()
    robot.deaf = True
    result = explored(robot, tmp_path)
    assert robot.phases.count("playing") == 1 and result.ending == "aborted"
    assert "no filtered joint state of the motion" in result.message and result.pieces == 0
