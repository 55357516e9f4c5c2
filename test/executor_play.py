# SPDX-License-Identifier: Apache-2.0
"""An executor that plays a motion on a robot that follows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sysid_core.execution import (
    Command,
    Executor,
    ExecutorSettings,
    ExecutorState,
    Measured,
)
from sysid_core.planning import MotionChecker, MotionLimits, Trajectory
from sysid_core.planning.payload.motion import oscillation
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.robot import RobotModel

MODEL = RobotModel.from_urdf("ur5")
LIMITS = MotionLimits.from_model(MODEL, tcp_frame="tool0", tcp_speed=1.0)
HOME = np.array([0.0, -1.2, 1.2, -1.2, -1.5, 0.0])
AWAY = HOME + 0.05
QUICK = ExecutorSettings(slow_start=0.3, settle_time=0.05, settle_timeout=1.0)


def lively_trajectory() -> Trajectory:
    """A wrist oscillation that uses most of the acceleration limit."""
    builder = MotionBuilder(MotionChecker(MODEL, LIMITS), HOME, rate_hz=200)
    builder.rest(0.2, "still")
    builder.play(
        *oscillation(HOME, [3, 4, 5], [0.28, 0.34, 0.36], 3.0, ramp=0.7, rate_hz=200), "oscillation"
    )
    builder.rest(0.2, "settle")
    return builder.build()


TRAJECTORY = lively_trajectory()
Change = Callable[[Measured, float], Measured | None]


def play(
    *,
    q_start: np.ndarray = AWAY,
    steps: np.ndarray | None = None,
    change: Change = lambda measured, now: measured,
    during: ExecutorState | None = None,
    after: float = 0.0,
    cancel_after: float = np.inf,
    executor: Executor | None = None,
) -> tuple[list[float], list[Command]]:
    """A run with a robot that follows perfectly; `change` falsifies what it measures.

    The change begins `after` seconds after the state `during` was entered.
    """
    executor = executor or Executor(MODEL, TRAJECTORY, LIMITS, settings=QUICK)
    executor.start()
    now, q, v = 0.0, q_start, np.zeros(6)
    times, commands, entered = [], [], None
    for k in range(100_000):
        if executor.state is during and entered is None:
            entered = now
        measured: Measured | None = Measured(now, MODEL.joint_names, q, v)
        if entered is not None and now - entered >= after:
            measured = change(measured, now)
        if entered is not None and now - entered >= cancel_after:
            executor.cancel()
        command = executor.step(now, measured)
        times.append(now)
        commands.append(command)
        if command.q is not None:
            q, v = command.q, command.v
        if command.state.is_final:
            return times, commands
        now += 0.005 if steps is None else steps[k % len(steps)]
    raise AssertionError("the run does not end")


def states(commands: list[Command]) -> list[str]:
    return list(dict.fromkeys(c.state.value for c in commands))


def assert_smooth(times: list[float], commands: list[Command], q_start: np.ndarray) -> None:
    """Velocity jumps stay below a_max dt, positions follow velocities, the end is at rest."""
    moving = [(t, c) for t, c in zip(times, commands, strict=True) if c.q is not None]
    t = np.array([t for t, _ in moving])
    q, v = (np.array([getattr(c, key) for _, c in moving]) for key in ("q", "v"))
    dt = np.diff(t)[:, None]
    assert np.all(np.abs(np.diff(v, axis=0)) <= LIMITS.acceleration * dt * (1 + 1e-9) + 1e-12)
    assert np.all(np.abs(v) <= LIMITS.velocity)
    np.testing.assert_array_equal(v[0], 0.0)
    np.testing.assert_array_equal(v[-1], 0.0)
    np.testing.assert_allclose(q[0], q_start, atol=1e-12)
    error = np.abs(np.diff(q, axis=0) - 0.5 * dt * (v[:-1] + v[1:]))
    assert np.all(error <= 0.5 * LIMITS.acceleration * dt**2 + 1e-3 * dt)
