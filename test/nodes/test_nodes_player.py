# SPDX-License-Identifier: Apache-2.0
"""The player of motions: what it waits for between the check of a motion and its begin."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from executor_play import AWAY, LIMITS, MODEL, QUICK, TRAJECTORY

from sysid_core.execution import Executor, ExecutorState, Measured, MonitorLimits
from sysid_nodes.trajectory_executor import player as module
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig
from sysid_nodes.trajectory_executor.inputs import SpeedScaling
from sysid_nodes.trajectory_executor.player import MotionPlayer

CHECK_S = 10.0  # in which no message is taken in


@pytest.fixture
def playing(monkeypatch: pytest.MonkeyPatch) -> tuple[MotionPlayer, Executor, Any]:
    """A player after the check of a motion, and what it has received before."""
    drive = SimpleNamespace(
        dropped="", completed=False, lateness=0.0, under_way=False, takes_whole=False
    )
    drive.stream = lambda command: None
    drive.stop = drive.cancel = lambda: None
    monkeypatch.setattr(module, "build_drive", lambda *_: drive)
    before = Measured(0.0, MODEL.joint_names, AWAY, np.zeros(6), None, np.zeros(6), 0.0)
    inputs = SimpleNamespace(
        time=0.0, steady=0.0, robot=SimpleNamespace(measured=before), problem=""
    )
    inputs.safety = SimpleNamespace(problem=lambda now: "")
    inputs.scaling = SpeedScaling("/scaling")
    inputs.scaling.take(100.0, 0.0)
    inputs.now = lambda: inputs.time
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: inputs.steady))
    node: Any = SimpleNamespace(config=TrajectoryExecutorConfig(), executor=None)
    watched: Any = inputs
    player = MotionPlayer(node, watched, lambda *_: None)
    limits = dataclasses.replace(
        MonitorLimits.from_limits(LIMITS), stale_after=0.2, wrench_stale_after=0.5
    )
    core = Executor(MODEL, TRAJECTORY, LIMITS, limits, settings=QUICK)
    player.play(core).send(None)
    inputs.time = CHECK_S  # of simulated time: a jump, as no message was taken in
    return player, core, inputs


def test_a_motion_begins_with_the_first_wrench_and_speed_scaling_after_a_long_check(
    playing: Any,
) -> None:
    player, core, inputs = playing
    inputs.robot.measured = dataclasses.replace(inputs.robot.measured, stamp=CHECK_S)
    player.tick()  # the joint states have come, the wrench is still the one before the check
    assert core.state is ExecutorState.CHECKING
    for k in range(6):
        inputs.time += 0.01
        fresh = {"stamp": inputs.time, "wrench_stamp": inputs.time}
        inputs.robot.measured = dataclasses.replace(inputs.robot.measured, **fresh)
        if k == 3:
            assert core.expected(inputs.robot.measured) is None  # no way is planned yet
            inputs.scaling.take(50.0, inputs.time)
        player.tick()
    assert core.state is ExecutorState.MOVING_TO_START and core.scaling == 0.5


def test_a_sensor_that_stays_silent_ends_the_run_before_anything_moves(playing: Any) -> None:
    player, core, inputs = playing
    while not core.state.is_final and inputs.steady < 5.0:
        inputs.time, inputs.steady = inputs.time + 0.1, inputs.steady + 0.1
        inputs.robot.measured = dataclasses.replace(inputs.robot.measured, stamp=inputs.time)
        player.tick()
    assert core.fault is not None and core.fault.code == "wrench_stale"
    assert core.state is ExecutorState.ABORTED and core.play is None


def test_an_error_of_a_step_ends_the_motion_with_its_words(
    playing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was raised again at every step, and the goal never ended."""
    player, core, inputs = playing
    fresh = {"stamp": CHECK_S, "wrench_stamp": CHECK_S}
    inputs.robot.measured = dataclasses.replace(inputs.robot.measured, **fresh)
    inputs.scaling.take(100.0, CHECK_S)
    monkeypatch.setattr(core, "step", lambda now, measured: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        player.tick()
    assert core.state is ExecutorState.ABORTED and "ZeroDivisionError" in core.message
    player.tick()  # nothing is played any more


def test_an_error_in_motion_brakes_and_only_a_second_one_ends_the_motion(playing: Any) -> None:
    """A controller of whole trajectories would go on to the end if nobody stopped it."""
    player, core, inputs = playing
    states = []

    def step(failing: bool) -> None:
        inputs.time += 0.01
        fresh = {"stamp": inputs.time, "wrench_stamp": inputs.time}
        q = core.play.command()[0] if core.play is not None else AWAY
        inputs.robot.measured = dataclasses.replace(inputs.robot.measured, q=q, **fresh)
        inputs.scaling.take(100.0, inputs.time)
        player._stepped = lambda *_: 1 / 0 if failing else states.append(core.state)
        player.tick()

    while core.state is not ExecutorState.MOVING_TO_START:
        step(failing=False)
    with pytest.raises(ZeroDivisionError):
        step(failing=True)
    assert not core.state.is_final
    step(failing=False)
    assert states[-1] is ExecutorState.ABORTING and "ZeroDivisionError" in core.message
    with pytest.raises(ZeroDivisionError):
        step(failing=True)
    assert core.state is ExecutorState.ABORTED


def test_no_motion_begins_if_joint_states_contradict_each_other_after_the_check(
    playing: Any,
) -> None:
    player, core, inputs = playing
    inputs.problem, inputs.steady = "joint_states jumps", 5.0
    fresh = {"stamp": CHECK_S, "wrench_stamp": CHECK_S}
    inputs.robot.measured = dataclasses.replace(inputs.robot.measured, **fresh)
    inputs.scaling.take(100.0, CHECK_S)
    player.tick()
    assert core.state is ExecutorState.ABORTED and "jumps" in core.message
