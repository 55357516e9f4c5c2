# SPDX-License-Identifier: Apache-2.0
"""Fault table: reactions of emulated robots to faults in the middle of a motion.

    python benchmarks/nodes/fault_table.py [VENDOR ...] [--fault NAME ...]

The executor's core, a trajectory controller and a robot run in one process, in simulated time. The
tests in `test/nodes/drivers`, and `process_faults.py`, run the same faults with real nodes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sysid_studies.table import print_head, print_row

ROOT = Path(__file__).resolve().parents[2]
for folder in ("test", "test/drivers", "test/nodes", "test/nodes/drivers", "test/controllers"):
    sys.path.insert(0, str(ROOT / folder))

SLIDERS = {f"slider {p} %, cancel": p / 100 for p in (95, 90, 80, 65, 50)}
KILLED = {f"slider {p} %, executor killed": p / 100 for p in (90, 50)}
FAULTS = (
    "cancel",
    "executor killed",
    *SLIDERS,
    *KILLED,
    "states stop",
    "states NaN",
    "states jump back",
    "wrench dies",
    "wrench spike",
    "arm blocked",
    "protective stop",
    "driver killed",
    "clock step",
)
VENDORS = ("ur", "franka", "xarm", "digit")


def world_of(vendor: str, scaling: float = 1.0) -> tuple[Any, Any]:
    """Executor, controller and robot of a vendor, and the robot's model."""
    import test_drivers_stops as stops
    from cosimulation import EffortRobot, FollowingRobot
    from joint_trajectory_controller import JointTrajectoryController
    from vendors import VENDORS as DRIVERS

    v = DRIVERS[vendor]
    model, home = stops.MODEL, stops.HOME + 0.02
    world = stops.world(scaling, slider=bool(v.scaling_topic))
    if v.gains:
        model, home, world.executor = _of_panda(v.start)
    world.controller = JointTrajectoryController(
        model.nv,
        path_tolerance=v.path_tolerance,
        goal_tolerance=v.goal_tolerance,
        scaled=v.scaling_topic != "",
        deceleration_on_cancel=v.deceleration_on_cancel,
    )
    world.robot = (
        EffortRobot(model, home, v.gains) if v.gains else FollowingRobot(home, v.bandwidth)
    )
    return world, model


def simulated(vendor: str, fault: str) -> tuple[str, ...] | None:
    """Run one case, and return its cells; None if there is no such case."""
    import test_drivers_stops as stops
    from cosimulation import Log, World, run
    from vendors import VENDORS as DRIVERS

    from sysid_core.execution import Fault, FaultCode

    v = DRIVERS[vendor]
    scaling = {**SLIDERS, **KILLED}.get(fault, 1.0)
    no_stop = fault == "protective stop" and not v.safety_inputs
    if no_stop or (scaling < 1.0 and not v.scaling_topic):
        return None
    world, model = world_of(vendor, scaling)
    falsified = {
        "states stop": stops.Gone(),
        "states NaN": stops.nan,
        "states jump back": stops.earlier,
        "wrench dies": stops.dead_wrench,
        "wrench spike": stops.spike,
    }
    at: list[float] = []

    def happen(w: World, t: float, log: Log) -> None:
        if t < stops.MIDDLE / scaling:
            return
        at.append(t)
        if fault == "driver killed":  # a robot that nobody commands brakes by itself
            w.falsify, w.robot.braking = falsified["states stop"], True
        elif fault == "protective stop":
            w.robot.braking = True
            said = f"{v.safety_inputs[-1].split()[0]} says that the robot has stopped"
            w.executor.cancel(Fault(FaultCode.SAFETY_INPUT, {"text": said}))
        elif "killed" in fault:
            w.killed = True
        elif fault == "clock step":
            w.clock_offset = 3.0
        elif fault == "arm blocked":
            w.robot.blocked = True
        elif fault in falsified:
            w.falsify = falsified[fault]
        else:
            w.executor.cancel()

    log = run(model, world, happen)
    return _measured(v.gains is not None, fault, world, log, at[0])


def _measured(by_effort: bool, fault: str, world: Any, log: Any, begin: float) -> tuple[str, ...]:
    """Cells with time and distance to standstill, the largest ratio of acceleration to its limit, and
    the steps of the command.
    """
    import test_drivers_stops as stops

    t, v, a, q, c = (np.array(getattr(log, k)) for k in ("t", "v", "a", "q", "command"))
    began = int(np.searchsorted(t, begin))
    moving = np.flatnonzero(np.max(np.abs(v), axis=1) > 5e-3)
    end = max(int(moving[-1]), began) if len(moving) else began
    blocked = began + (11 if by_effort else 0)  # whatever holds it up stops it at once
    window = slice(blocked, None) if fault == "arm blocked" else slice(None)
    if world.robot.braking:  # the robot's own braking isn't the plan's
        window = slice(0, began)
    if by_effort:  # over 20 ms: its controller's velocity term makes a blip of one period
        a = np.vstack([np.zeros((10, v.shape[1])), (v[10:] - v[:-10]) / (t[10] - t[0])])
    step = max((step for _, step in world.controller.steps), default=0.0)
    return (
        f"{t[end] - begin:.2f}",
        f"{np.max(np.abs(q[end] - q[began])):.2f}",
        f"{np.max(np.abs(a[window]) / stops.LIMITS.acceleration[0]):.2f}",
        f"{1e3 * step:.2f}",
        f"{1e3 * np.max(np.abs(c[-1] - q[-1])):.1f}",
        "(it was killed)" if world.killed else log.message,
    )


def _of_panda(start: tuple[float, ...]) -> tuple[Any, Any, Any]:
    """Return the arm, its position, and an executor with a motion of its wrist."""
    import test_drivers_stops as stops

    from sysid_core.execution import Executor, MonitorLimits
    from sysid_core.planning import MotionChecker, MotionLimits
    from sysid_core.planning.payload.motion import oscillation
    from sysid_core.planning.transfer import MotionBuilder
    from sysid_core.robot import RobotModel

    model = RobotModel.from_urdf("panda").with_locked(
        ["panda_finger_joint1", "panda_finger_joint2"]
    )
    home = np.array(start)
    limits = MotionLimits.from_model(model, tcp_speed=1.5)
    builder = MotionBuilder(MotionChecker(model, limits), home, rate_hz=100)
    builder.rest(0.2, "still")
    motion = oscillation(home, [4, 5, 6], [0.28, 0.34, 0.36], 3.0, ramp=0.7, rate_hz=100)
    builder.play(*motion, "oscillation")
    monitor = MonitorLimits.from_limits(limits, tracking_error=0.1, stale_after=0.2)
    executor = Executor(model, builder.build(), limits, monitor, stops.ROLLING)
    return model, home + 0.02, executor


def main(
    vendors: Annotated[list[str] | None, typer.Argument()] = None, fault: list[str] | None = None
) -> None:
    """Print a row for each robot and fault."""
    print_head(
        "robot", "fault", "stands after [s]", "moved [rad]", "peak acceleration / limit",
        "step of the command [mrad]", "held against [mrad]", "message",
    )  # fmt: skip
    for vendor in vendors or VENDORS:
        for one in fault or FAULTS:
            cells = simulated(vendor, one)
            if cells is not None:
                print_row(vendor, one, *cells)


if __name__ == "__main__":
    typer.run(main)
