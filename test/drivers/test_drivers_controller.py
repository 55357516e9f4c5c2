# SPDX-License-Identifier: Apache-2.0
"""The emulated joint_trajectory_controller against the compiled one, command by command.

`controller_commands.csv` has what joint_trajectory_controller 5.17 (kilted) commanded at 100 Hz:
speed scaling, an offset of the measured positions, and the commands of two joints. In each period
the robot covered half of the distance to the command. Goals and cancels were sent between periods,
as listed in `CASES`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joint_trajectory_controller import Goal, JointTrajectoryController

PERIOD, CLOCK = 0.01, 1000.0
HOME = np.array([0.1, -0.2])
with Path(__file__).with_name("controller_commands.csv").open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))


def goal(to, seconds, points, start=HOME, first=0.0, **more) -> Goal:
    """From rest to rest."""
    u, far = np.linspace(0.0, 1.0, points + 1)[:, None], np.array(to)
    s, ds = 10 * u**3 - 15 * u**4 + 6 * u**5, 30 * u**2 - 60 * u**3 + 30 * u**4
    dds = 60 * u - 180 * u**2 + 120 * u**3
    v, a = far * ds / seconds, far * dds / seconds**2
    return Goal(first + seconds * u[:, 0], start + far * s, v, a, **more)


@dataclass
class Case:
    """A case: goals, their outcomes, the period of a cancel, and settings of the controller. Each
    goal has the number of periods after which it is sent, and its start relative to that time
    (None: at once).
    """

    goals: list[tuple[int, Goal, float | None]]
    outcomes: tuple[str, ...] = ("succeeded",)
    cancel: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def there(when: float | None = None, **more) -> tuple[int, Goal, float | None]:
    return 3, goal([0.5, -0.3], 1.0, 10, **more), when


BACK = 53, goal([-0.4, 0.2], 0.8, 8, start=np.array([0.35, -0.35])), 0.04
TIGHT = {"path_tolerance": 0.2, "goal_tolerance": 0.05}
CASES = {
    "now": Case([there()]),
    "ahead": Case([there(0.053, start=np.array([0.12, -0.21]))]),
    "first_point_later": Case([there(first=0.2)]),
    "late": Case([there(-0.137)]),
    "preempted": Case([there(), BACK], ("aborted", "succeeded")),
    "preempted_from_desired": Case(
        [there(), BACK], ("aborted", "succeeded"), settings={"from_desired": True}
    ),
    "slow": Case([there()]),
    "cancelled": Case([there()], ("canceled",), cancel=50),
    "cancelled_braking": Case(
        [there()], ("canceled",), 50, {"deceleration_on_cancel": np.array([3.0, 2.0])}
    ),
    "path_tolerance": Case(
        [there()], ("aborted",), settings={"path_tolerance": 0.1, "goal_tolerance": 0.05}
    ),
    # It counts seconds since 1970 in doubles: its 0.2 s came a rounding before 20 periods.
    "goal_tolerance": Case([there(goal_time=0.2 - 1e-6)], ("aborted",), settings=TIGHT),
    "goal_tolerance_reached_late": Case([there(goal_time=0.5)], settings=TIGHT),
}


@pytest.mark.parametrize("name", CASES)
def test_the_emulated_controller_commands_what_the_compiled_one_does(name):
    case, rows = CASES[name], [row for row in ROWS if row["case"] == name]
    none = {"path_tolerance": 0.0, "goal_tolerance": 0.0}
    controller = JointTrajectoryController(2, scaled=True, **(none | case.settings))
    commands = np.array([[float(row["j1"]), float(row["j2"])] for row in rows])
    q, v, ours = HOME, np.zeros(2), []
    measured = q, v
    for k, row in enumerate(rows):
        for after, sent, start in case.goals:
            if after == k:
                sent.stamp = 0.0 if start is None else CLOCK + PERIOD * k + start
                assert controller.follow(sent, CLOCK + PERIOD * k)
        if case.cancel == k:
            controller.cancel(*measured)
        measured = q + float(row["push"]), v
        now = CLOCK + PERIOD * (k + 1)
        ours.append(controller.update(now, PERIOD, *measured, float(row["scaling"]))[0])
        step = 0.5 * (commands[k] - q)
        q, v = q + step, step / PERIOD
    assert len(ours) > 50
    # Its clock counts nanoseconds; a scaled period is cut to one.
    assert np.array(ours) == pytest.approx(commands, abs=2e-7)
    assert tuple(sent.outcome for _, sent, _ in case.goals) == case.outcomes


def test_the_emulated_controller_refuses_what_the_compiled_one_does():
    controller = JointTrajectoryController(2)
    moving = goal([0.5, -0.3], 1.0, 10)
    moving.v[-1, 0] = 5e-7
    assert not controller.follow(moving, CLOCK)
    assert not controller.follow(goal([0.5, -0.3], 1.0, 10, stamp=CLOCK - 5.0), CLOCK)
