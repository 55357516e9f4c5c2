# SPDX-License-Identifier: Apache-2.0
"""Commands keep the limits whatever happens while a robot moves: a search for counterexamples.

Executor, controller and robot run in simulated time, goals come up to half a second late, and the
speed slider is reported by a topic, by the time in the controller's feedback, by both, or not at
all (then it is inferred from the robot's positions). One case is left out: the slider is moved
while a goal is later than all previous ones, or while nothing reports the slider. Goals can't keep
the limits then: a goal under way can't be called back, and it tells a controller that has its own
time where to be at which time of the clock. A guard that brakes at the control rate can keep them.
The slider is therefore moved only if all goals are equally late and a topic reports it, or if goals
are on time and the feedback reports it.

A stop sent with less lead than goals may be late ("lead" of 0.06 s) is never later than the latest
previous goal.

`SYSID_FUZZ_EXAMPLES=N` searches longer (every night in CI), and what it finds is kept in `.hypothesis`.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from cosimulation import Log, World, run
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_drivers_stops import LIMITS, MIDDLE, MODEL, earlier, nan, on_time, spike, world

from sysid_core.execution import Measured

EXAMPLES = int(os.environ.get("SYSID_FUZZ_EXAMPLES", "12"))
LARGEST_STEP = 5e-5  # [rad] at a take-over: 0.2 rad/s^2 of a servo with 66 rad/s
# Where no topic tells the slider, the controller's reports do, and a goal follows one at once: till it
# is there a ramp goes unseen. A place is as exact as quintics follow the slow start.
LARGEST_STEP_UNTOLD = 2e-4
SLACK = 1.05


@dataclass(frozen=True)
class Event:
    """Something that happens once, at a time [s]."""

    at: float
    kind: str
    amount: float


KINDS = (
    "cancel",
    "clock",
    "earlier",
    "elsewhere",
    "future",
    "gone",
    "kill",
    "late",
    "limit",
    "nan",
    "slider",
    "stall",
)
EVENTS = st.lists(
    st.builds(Event, st.floats(0.3, 4.5), st.sampled_from(KINDS), st.floats(0.0, 1.0)),
    min_size=1,
    max_size=4,
)


class Story:
    """Events that befall a world, and how late goals are meanwhile."""

    def __init__(
        self, events: list[Event], latenesses: list[float], lead: float, told: bool
    ) -> None:
        self.events, self.latenesses, self.lead = list(events), latenesses, lead
        self.late, self.limited, self.latest = False, False, 0.0
        kinds = {event.kind for event in events}
        if "slider" in kinds:
            self.late, self.latenesses = "late" in kinds, [max(latenesses) if told else 0.0]
        self.stalled_until = -1.0
        self.frozen: Measured | None = None
        self.sliding: tuple[float, float, float] | None = None

    def happen(self, w: World, t: float, log: Log) -> None:
        for event in [e for e in self.events if e.at <= t]:
            self.events.remove(event)
            self.begin(event, w, t)
        if self.sliding is not None:  # a robot's own ramp
            begin, before, after = self.sliding
            w.scaling = float(np.interp(t, [begin, begin + 0.5], [before, after]))

    def begin(self, event: Event, w: World, t: float) -> None:
        if event.kind == "cancel":
            w.executor.cancel()
        elif event.kind == "kill":
            w.killed = True
        elif event.kind == "nan":
            w.falsify = nan
        elif event.kind == "limit":
            w.falsify, self.limited = spike, True
        elif event.kind == "earlier":
            w.falsify = earlier
        elif event.kind == "elsewhere":
            q, faster = 2.0 * (event.amount - 0.5), 10.0 ** (10.0 * event.amount)
            w.falsify = lambda m, now: dataclasses.replace(m, q=m.q + q, v=faster * m.v)
        elif event.kind == "gone":
            w.falsify = self.freeze
        elif event.kind == "future":
            w.falsify = lambda m, now: dataclasses.replace(m, stamp=m.stamp + 1e9 * event.amount)
        elif event.kind == "clock":
            w.clock_offset = 20.0 * (event.amount - 0.5)
        elif event.kind == "slider":
            self.sliding = (t, w.scaling, 0.3 + 0.7 * event.amount)
        elif event.kind == "late":
            self.late = True
        elif event.kind == "stall":
            self.stalled_until = t + event.amount

    def freeze(self, m: Measured, now: float) -> Measured:
        self.frozen = self.frozen or m
        return self.frozen

    def latency(self, k: int) -> float:
        late = self.latenesses[k % len(self.latenesses)] if self.late else 0.0
        if self.limited and self.lead < max(self.latenesses):
            return min(on_time(k) + late, self.latest)
        self.latest = max(self.latest, on_time(k) + late)
        return on_time(k) + late


def commands_keep_the_limits(w: World, log: Log, slid_late: bool = False) -> None:
    command, dt = log.array("command"), log.t[1] - log.t[0]
    v = np.diff(command, axis=0) / dt
    assert np.all(command >= LIMITS.lower) and np.all(command <= LIMITS.upper)
    assert np.max(np.abs(v) / LIMITS.velocity) <= SLACK
    largest = LARGEST_STEP if w.told_scaling and w.controller.says_time else LARGEST_STEP_UNTOLD
    if not slid_late:
        assert max((step for _, step in w.controller.steps), default=0.0) <= largest
    # The robot is the filter: a step of an encoder's size isn't an acceleration.
    assert np.max(np.abs(log.array("a")) / LIMITS.acceleration) <= SLACK
    if log.state[-1].is_final or w.killed:  # a slider at 30 % takes longer than a story
        assert np.max(np.abs(log.v[-1])) < 1e-3


def search(examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=examples < 100,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        events=EVENTS,
        scaling=st.one_of(st.just(1.0), st.floats(0.4, 0.99)),
        says=st.sampled_from(["topic", "feedback", "both", "neither"]),
        latenesses=st.lists(st.floats(0.0, 0.45), min_size=1, max_size=5),
        lead=st.sampled_from([0.06, 0.5]),
    )
    @example(  # found by the search: the stop ended early, by the age of a report on a clock that jumped
        events=[Event(2.0, "clock", 1.0), Event(2.0, "earlier", 0.0)],
        scaling=1.0,
        says="feedback",
        latenesses=[0.0],
        lead=0.06,
    )
    @example(  # the stop could not overtake a goal whose lateness was not known yet: 183 mrad
        events=[Event(1.272, "late", 0.0), Event(1.611, "limit", 0.0)],
        scaling=1.0,
        says="both",
        latenesses=[0.0, 0.45, 0.0],
        lead=0.06,
    )
    @example(  # while the stop waited for such a goal, the time of the controller was 10 ms off
        events=[Event(0.3, "late", 0.0), Event(2.37, "limit", 0.0)],
        scaling=1.0,
        says="both",
        latenesses=[0.05],
        lead=0.06,
    )
    @example(  # a robot that moved slowly at half its speed was taken to stand
        events=[Event(0.392, "clock", 0.291)],
        scaling=0.5,
        says="neither",
        latenesses=[0.0],
        lead=0.06,
    )
    @example(  # the same, when its state was not known
        events=[Event(0.405, "future", 0.652)],
        scaling=0.411,
        says="neither",
        latenesses=[0.0],
        lead=0.06,
    )
    @example(  # goals that were late while the slider moved: 16 times the acceleration limit
        events=[Event(3.2, "slider", 0.43), Event(0.3, "late", 0.0)],
        scaling=1.0,
        says="both",
        latenesses=[0.3],
        lead=0.5,
    )
    @example(  # a goal was sent long after the last report of a slider that moved
        events=[Event(3.417, "slider", 0.18)],
        scaling=1.0,
        says="feedback",
        latenesses=[0.0],
        lead=0.06,
    )
    @example(  # a cancel hid that the process had stalled: 5 mrad, off the path as it was known
        events=[Event(2.0, "stall", 1.0), Event(2.01, "cancel", 0.0)],
        scaling=1.0,
        says="topic",
        latenesses=[0.0],
        lead=0.06,
    )
    @example(  # goals of the motion that were later than all before: 9 mrad, 1.4 times the velocity limit
        events=[Event(3.0, "late", 0.0)],
        scaling=1.0,
        says="feedback",
        latenesses=[0.25, 0.4375],
        lead=0.06,
    )
    @example(  # the same after a stall of the executor: 17 mrad
        events=[Event(2.33, "late", 0.0), Event(2.33, "stall", 0.24)],
        scaling=1.0,
        says="topic",
        latenesses=[0.44],
        lead=0.5,
    )
    def run_one(
        events: list[Event], scaling: float, says: str, latenesses: list[float], lead: float
    ) -> None:
        if says == "neither":
            events = [event for event in events if event.kind != "slider"]
        told = says in ("topic", "both")
        w = world(scaling, stop_lead=lead, slider=told)
        w.controller.says_time, w.told_scaling = says in ("feedback", "both"), told
        story = Story(events, latenesses, lead, told)
        slid_late = story.late  # by up to 30 ms: a step, but one that the robot's servo smooths
        log = run(
            MODEL,
            w,
            story.happen,
            latency=story.latency,
            stalled=lambda t: t < story.stalled_until,
            longest=25.0,
            rest_after=0.1,
        )
        commands_keep_the_limits(w, log, slid_late)

    run_one()


@pytest.mark.timeout(max(1200, 10 * EXAMPLES))
def test_no_sequence_of_faults_delays_and_kills_makes_a_command_pass_the_limits():
    search(EXAMPLES)


NUMBERS = st.one_of(st.floats(), st.floats(-4.0, 4.0))
ROWS = st.one_of(  # None: as measured
    st.none(),
    st.lists(NUMBERS, min_size=MODEL.nv, max_size=MODEL.nv),
    st.lists(NUMBERS, max_size=8),
)
NAMES = st.one_of(
    st.none(),
    st.permutations(MODEL.joint_names),
    st.lists(st.sampled_from([*MODEL.joint_names, "finger"]), max_size=8),
)


@settings(max_examples=max(EXAMPLES // 6, 1), deadline=None, derandomize=EXAMPLES < 100)
@given(joint_names=NAMES, q=ROWS, v=ROWS, effort=ROWS, wrench=ROWS, states=st.integers(1, 100))
def test_no_measured_state_makes_a_command_pass_the_limits(states: int, **rows: Any):
    """Some stops began at a false state, and some states raised an error, so that nothing stopped."""
    w, left = world(), [states]
    names = rows.pop("joint_names")
    false = {key: np.array(row, dtype=float) for key, row in rows.items() if row is not None}
    false |= {} if names is None else {"joint_names": tuple(names)}

    def falsify(m: Measured, now: float) -> Measured:
        left[0] -= 1
        return dataclasses.replace(m, **false, wrench_stamp=m.stamp) if left[0] >= 0 else m

    def begin(w: World, t: float, log: Log) -> None:
        if t > MIDDLE:
            w.falsify = falsify

    commands_keep_the_limits(w, run(MODEL, w, begin, longest=8.0, rest_after=0.1))


@pytest.mark.parametrize("late", [0.45])
def test_the_search_would_see_a_step(late: float):
    """The oracle itself fails on a controller that gets a goal which starts at another position."""
    w, done = world(), []

    def push(w: World, t: float, log: Log) -> None:
        if t > 2.4 and not done:
            done.append(t)
            play = w.executor.play
            assert play is not None
            play.stop_from(play.command()[0] + 0.01, play.command()[1])

    log = run(MODEL, w, push, longest=8.0)
    with pytest.raises(AssertionError):
        commands_keep_the_limits(w, log)
