# SPDX-License-Identifier: Apache-2.0
"""Peak acceleration of cancelled motions with late goals, by lateness, speed slider and driver.

    python benchmarks/nodes/lateness_table.py [--phases N]

Computed in simulated time. "all": every goal is late by the given time; "random": by a random time
up to it; "stop": only the goals after the cancel are late. "limit": the motion stops because of an
exceeded limit, and a goal that brakes earlier replaces the current one; "limit, stop": only this
goal is late, later than all before. "moved": all goals are late, and instead of a cancel the slider
moves from 100 to 60 % in 0.5 s. "guard": the motion guard plays the whole path, and the request to
stop is late by the given time (needs g++). The peak is the ratio of the robot's acceleration to the
limit of 5 rad/s^2 and must not exceed 1.05.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import typer
from fault_table import world_of

from sysid_studies.table import print_head, print_row

DRIVERS = {"ur": (1.0, 0.9, 0.8, 0.65, 0.5), "franka": (1.0,), "xarm": (1.0,)}  # and sliders
LATE = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
LARGEST = 1.05
KINDS = ("all", "random", "stop", "limit", "limit, stop", "moved")


def cancelled(vendor: str, slider: float, late: float, kind: str, phase: float) -> float:
    """Ratio of the peak acceleration of one run to its limit."""
    import test_drivers_stops as stops
    from cosimulation import run

    from sysid_core.execution import Fault, FaultCode

    world, model = world_of(vendor, slider)
    rng, done = np.random.default_rng(round(1000 * (late + phase))), []

    def happen(w: object, t: float, log: object) -> None:
        if kind == "moved":
            begin = stops.MIDDLE + late + 20.0 * phase  # anywhere in the motion
            world.scaling = float(np.interp(t, [begin, begin + 0.5], [1.0, 0.6]))
        elif t > (stops.MIDDLE + phase) / slider and not done:
            done.append(t)
            if "limit" in kind:
                world.executor.cancel(Fault(FaultCode.FORCE, {"value": 900.0, "upper": 200.0}))
            else:
                world.executor.cancel()

    def latency(k: int) -> float:
        on_time = stops.on_time(k)
        if kind.endswith("stop"):
            return late if done and late else on_time
        return on_time + (float(rng.uniform(0.0, late)) if kind == "random" else late)

    log = run(model, world, happen, latency=latency)
    return peak_of(world.robot, log.array("a"), log.array("v"))


def peak_of(robot: Any, a: np.ndarray, v: np.ndarray) -> float:
    """Largest ratio of the acceleration to its limit over the control periods (K, n); for a Franka
    over 20 ms.
    """
    import test_drivers_stops as stops
    from cosimulation import PERIOD

    if hasattr(robot, "ARMATURE"):  # as in fault_table
        a = (v[10:] - v[:-10]) / (10 * PERIOD)
    return float(np.max(np.abs(a)) / stops.LIMITS.acceleration[0])


class Guard:
    """The motion guard's control law, compiled."""

    def __init__(self, folder: str) -> None:
        from test_controllers_laws import compiled

        self.laws = compiled(Path(folder))

    def peak(self, vendor: str, speed: float, late: float, kind: str, phase: float) -> float:
        """Ratio of the peak acceleration to its limit of one run whose stop is requested late [s]."""
        import test_drivers_stops as stops
        from cosimulation import PERIOD
        from test_controllers_laws import all_well, guarded

        world, _ = world_of(vendor)
        motion, robot = world.executor.trajectory, world.robot
        rows = np.unique([*range(0, len(motion.time), 5), len(motion.time) - 1])
        path = tuple(x[rows] for x in (motion.time, motion.q, motion.v, motion.a))
        events = all_well(int((motion.duration / speed + 3.0) / PERIOD))
        events[:, 3] = speed
        events[int(((stops.MIDDLE + phase) / speed + late) / PERIOD) :, 2] = 1.0
        limits = world.executor.limits.acceleration
        _, commands, _, _ = guarded(self.laws, path, events, limits, dt=PERIOD)
        robot.q = robot._command = commands[0, 0].copy()
        a, v = [], []
        for command in commands[:, 0]:
            robot.step(command, PERIOD)
            a.append(robot.a.copy())
            v.append(robot.v.copy())
        return peak_of(robot, np.array(a), np.array(v))


def main(phases: int = 3) -> None:
    """Print the table for some instants of the cancel; exit status 1 if a peak is too high."""
    instants = 0.017 * np.arange(phases)
    worst, folder = 0.0, tempfile.mkdtemp()
    guard = Guard(folder) if shutil.which("g++") else None
    print_head("driver, slider", "goals that are late", *(f"{late} s" for late in LATE))
    for vendor, sliders in DRIVERS.items():
        for slider in sliders:
            can_slide = slider == 1.0 < len(sliders)
            kinds = KINDS if can_slide else KINDS[:-1]
            for kind in (*kinds, *["guard"] * (guard is not None)):
                peak = partial(guard.peak if guard and kind == "guard" else cancelled, vendor)
                peaks = [max(peak(slider, late, kind, float(p)) for p in instants) for late in LATE]
                worst = max(worst, *peaks)
                print_row(f"{vendor}, {slider:.0%}", kind, *(f"{x:.2f}" for x in peaks))
    print(f"largest peak {worst:.3f} of the limit")
    raise typer.Exit(int(worst > LARGEST))


if __name__ == "__main__":
    typer.run(main)
