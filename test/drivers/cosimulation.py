# SPDX-License-Identifier: Apache-2.0
"""Executor, controller and robot in one process and in simulated time: exact, without waiting for a
clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin
from joint_trajectory_controller import Goal, JointTrajectoryController

from sysid_core.execution import Executor, ExecutorState, Fault, FaultCode, Measured, Outgoing
from sysid_core.robot import RobotModel

PERIOD = 0.002  # of the controller [s]
RATE = 5  # control periods per step of the executor
_BRAKE = 220.0  # [1/s]; a fifth of the speed is lost in a millisecond


def goal_of(out: Outgoing) -> Goal:
    """Goal sent to the controller: points of the trajectory, as a message would have them."""
    t = out.trajectory
    return Goal(t.time - t.time[0], t.q, t.v, t.a, stamp=out.begin or 0.0, goal_time=5.0)


class FollowingRobot:
    """Joints behind a position servo: a critically damped filter of the command, n joints.

    UR's servoj looks 30 ms ahead, so that the robot follows about that much later. While `blocked`
    is set, the robot stands still; while `braking` is set, it brakes by itself with a time constant
    of 4.5 ms.

    Args:
        q: Initial positions, shape (n,).
        bandwidth: Bandwidth of the servo [rad/s].
    """

    def __init__(self, q: np.ndarray, bandwidth: float = 66.0) -> None:
        self.q, self.v = np.array(q, dtype=float), np.zeros(len(q))
        self.a, self._command = np.zeros(len(q)), self.q
        self.w = bandwidth
        self.blocked = self.braking = False
        self._maps: dict[tuple[bool, float], np.ndarray] = {}

    def weaken(self, bandwidth: float) -> None:
        """Follow with another bandwidth from now on [rad/s]."""
        self.w = bandwidth
        self._maps.clear()

    def step(self, q_c: np.ndarray, dt: float) -> None:
        """Follow a command for a time step."""
        before, self._command = self._command, q_c
        if self.blocked:
            self.v, self.a = 0 * self.v, 0 * self.v
            return
        self.q, self.v, self.a = self.moved(np.array([self.q, self.v, before, q_c]), dt)

    def moved(self, x: np.ndarray, dt: float) -> np.ndarray:
        """q, v and a after a time step; x (4, n) has q, v, the previous command and this one."""
        key = (self.braking, dt)
        if key not in self._maps:  # linear, and the same for each joint
            self._maps[key] = self.stepped(np.eye(4), dt)
        return self._maps[key] @ x

    def stepped(self, x: np.ndarray, dt: float) -> np.ndarray:
        """The same in four steps of Euler's method."""
        self.q, self.v, before, q_c = x
        h = dt / 4
        for k in range(4):
            target = before + (k + 1) / 4 * (q_c - before)
            a = -self.v * _BRAKE if self.braking else self.acceleration(target, (q_c - before) / dt)
            self.v = self.v + h * a
            self.q = self.q + h * self.v
        return np.array([self.q, self.v, a])

    def acceleration(self, q_c: np.ndarray, v_c: np.ndarray) -> np.ndarray:
        """Acceleration of the servo for a command, shape (n,) [rad/s^2]."""
        return self.w**2 * (q_c - self.q) - 2 * self.w * self.v


class EffortRobot(FollowingRobot):
    """Rigid robot that compensates its own gravity, as a Franka does, moved by a PD controller's
    torques.

    Args:
        model: The robot.
        q: Initial positions, shape (n,).
        gains: p [N m/rad] and d [N m s/rad] of each joint.
    """

    ARMATURE = 0.1  # of each joint [kg m^2]

    def __init__(self, model: RobotModel, q: np.ndarray, gains: tuple[Any, Any]) -> None:
        super().__init__(q)
        self._tree, self._data = model.pin_model, model.pin_model.createData()
        self._p, self._d = (np.array(g[: len(q)]) for g in gains)

    moved = FollowingRobot.stepped  # not linear

    def acceleration(self, q_c: np.ndarray, v_c: np.ndarray) -> np.ndarray:
        """Acceleration by the equation of motion, shape (n,) [rad/s^2]."""
        effort = self._p * (q_c - self.q) + self._d * (v_c - self.v)
        M = np.array(pin.crba(self._tree, self._data, self.q))
        M = np.triu(M) + np.triu(M, 1).T + self.ARMATURE * np.eye(len(self.q))
        coriolis = np.array(pin.nonLinearEffects(self._tree, self._data, self.q, self.v))
        coriolis -= np.array(pin.computeGeneralizedGravity(self._tree, self._data, self.q))
        return np.linalg.solve(M, effort - coriolis)


@dataclass
class Log:
    """Log of the simulation, one row per control period."""

    t: list[float] = field(default_factory=list)
    q: list[np.ndarray] = field(default_factory=list)
    v: list[np.ndarray] = field(default_factory=list)
    a: list[np.ndarray] = field(default_factory=list)
    command: list[np.ndarray] = field(default_factory=list)
    state: list[ExecutorState] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    message: str = ""

    def array(self, key: str) -> np.ndarray:
        return np.array(getattr(self, key))

    def since(self, state: ExecutorState) -> float:
        """Time at which a state was entered."""
        return self.t[self.state.index(state)]


@dataclass
class World:
    """All objects of one run, so that faults can act on them."""

    executor: Executor
    controller: JointTrajectoryController
    robot: FollowingRobot
    scaling: float = 1.0
    told_scaling: bool = True  # by a topic
    feedback: bool = True
    silent: bool = False  # the controller, results included
    killed: bool = False  # the executor
    clock_offset: float = 0.0  # of the executor's machine, suddenly
    falsify: Callable[[Measured, float], Measured | None] = lambda measured, now: measured


def run(
    model: RobotModel,
    world: World,
    happen: Callable[[World, float, Log], None] = lambda world, t, log: None,
    *,
    latency: Callable[[int], float] = lambda k: 0.0035 + 0.0015 * (k % 3),
    stalled: Callable[[float], bool] = lambda t: False,
    longest: float = 120.0,
    rest_after: float = 1.0,
) -> Log:
    """Play a trajectory until it has ended and the robot stands.

    While the executor's process is stalled, messages of the controller wait; they are delivered
    before the executor's next step.
    """
    log, way = Log(), []  # goals on their way: arrival, goal or None for a cancel
    said: list[tuple[float | None, np.ndarray, float]] = []
    w, core = world, world.executor
    core.start()
    now, k, sent, ended, longest_way = 1000.0, 0, 0, None, 0.0
    origins: dict[int, float] = {}
    while now - 1000.0 < longest:
        now += PERIOD
        k += 1
        while way and way[0][0] <= now:
            arrived, goal, sent_at = way.pop(0)
            longest_way = max(longest_way, arrived - sent_at)
            if goal is None:
                w.controller.cancel(w.robot.q, w.robot.v)
            elif not w.controller.follow(goal, now) and not w.killed:
                core.give_up(Fault(FaultCode.DROPPED, {"text": "refused"}))
        command = w.controller.update(now, PERIOD, w.robot.q, w.robot.v, w.scaling)
        w.robot.step(command[0], PERIOD)
        happen(w, now - 1000.0, log)
        for key, value in (
            ("t", now - 1000.0),
            ("q", w.robot.q.copy()),
            ("v", w.robot.v.copy()),
            ("a", w.robot.a.copy()),
            ("command", command[0]),
            ("state", core.state),
        ):
            getattr(log, key).append(value)
        if k % RATE or w.killed or core.state.is_final:
            standing = np.max(np.abs(w.robot.v)) < 1e-3
            if (w.killed or core.state.is_final) and standing:
                ended = now if ended is None else ended
                if now - ended > rest_after:
                    break
            continue
        active = w.controller.goal
        feedback = w.feedback and not w.silent and k % 25 == 0  # 20 Hz
        if feedback and active is not None and id(active) in origins and not active.outcome:
            at = origins[id(active)] + active.at if active.at > 0.0 else None
            if active is log.goals[-1]:
                said.append((at, w.controller.desired, now))
        if stalled(now - 1000.0):
            continue
        core.scaling = w.scaling if w.told_scaling else None
        for at, q, stamp in said:
            core.clock(at, q, stamp)
        said.clear()
        played = active is not None and active.outcome == "succeeded"
        if played and active is log.goals[-1] and not w.silent:
            core.finished()
        there = now + w.clock_offset
        core.lateness = max(longest_way, now - way[0][2] if way else 0.0)
        core.under_way = bool(way)
        measured = Measured(there - 0.002, model.joint_names, w.robot.q.copy(), w.robot.v.copy())
        core.step(there, w.falsify(measured, there))
        out = core.outgoing(there)
        if out is not None:
            goal, sent = goal_of(out), sent + 1
            origins[id(goal)] = out.origin
            log.goals.append(goal)
            way.append((max(now + latency(sent), way[-1][0] if way else 0.0), goal, now))
        if core.state is ExecutorState.ABORTED:
            way.append((now + latency(sent), None, now))
    log.message = core.message
    return log
