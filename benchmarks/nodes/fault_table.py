# SPDX-License-Identifier: Apache-2.0
"""Fault table: what emulated robots do when something goes wrong in the middle of a motion.

    python benchmarks/nodes/fault_table.py [VENDOR ...] [--fault NAME ...] [--live] [--out FILE] [--docs]
    python benchmarks/nodes/fault_table.py --missing --docs   # the live cases that aren't in the file yet

In simulated time the executor's core, a trajectory controller and a robot run in one process; with
`--live` the executor's node and an emulated driver are processes of their own (ten seconds to a minute
a case). Every case is appended to the file as it ends, and those that are there aren't run again;
`--table` only prints what the file holds, `--docs` writes it to docs/faults.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
for folder in ("test", "test/drivers", "test/nodes", "test/nodes/drivers"):
    sys.path.insert(0, str(ROOT / folder))

SLIDERS = {f"slider {p} %, cancel": p / 100 for p in (95, 90, 80, 65, 50)}
KILLED = {f"slider {p} %, executor killed": p / 100 for p in (90, 50)}
LIVE_FAULTS: dict[str, dict[str, Any]] = {
    "states stop": {"states": "stop"},
    "states NaN": {"states": "nan"},
    "states jump back": {"states": "back"},
    "wrench dies": {"wrench": "stop"},
    "wrench spike": {"wrench": "spike"},
    "arm blocked": {"blocked": True},
    "protective stop": {"protective_stop": True},
}
FAULTS = (
    "cancel",
    "executor killed",
    *SLIDERS,
    *KILLED,
    *LIVE_FAULTS,
    "driver killed",
    "disk full",
    "clock step",
)
# What each robot should be measured at with its real nodes; twenty seconds a case where nothing else runs.
LIVE_CASES = (
    *(
        ("ur", fault)
        for fault in ("cancel", "executor killed", *SLIDERS, *LIVE_FAULTS, "disk full")
    ),
    *(("franka", fault) for fault in ("cancel", "executor killed", "protective stop")),
    *(
        ("xarm", fault)
        for fault in ("cancel", "executor killed", "protective stop", "driver killed")
    ),
    *(("digit", fault) for fault in ("cancel", "executor killed")),
)
ROWS = ROOT / "benchmarks" / "nodes" / "fault_table.jsonl"
PAGE = ROOT / "docs" / "faults.md"
SMALL_FILE = 100_000  # that a full disk still holds [byte]
VENDORS = ("ur", "franka", "xarm", "digit")


def simulated(vendor: str, fault: str) -> dict[str, Any] | None:
    """One case in simulated time; None where there is none."""
    import test_drivers_stops as stops
    from cosimulation import EffortRobot, FollowingRobot, Log, World, run
    from joint_trajectory_controller import JointTrajectoryController
    from vendors import VENDORS as DRIVERS

    v = DRIVERS[vendor]
    scaling = {**SLIDERS, **KILLED}.get(fault, 1.0)
    no_stop = fault == "protective stop" and not v.safety_inputs
    if fault == "disk full" or no_stop or (scaling < 1.0 and not v.scaling_topic):
        return None
    model, home = stops.MODEL, stops.HOME + 0.02
    world = stops.world(scaling)
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
            w.executor.cancel(f"{v.safety_inputs[-1].split()[0]} says that the robot has stopped")
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
    return _measured(vendor, fault, world, log, at[0])


def _measured(vendor: str, fault: str, world: Any, log: Any, begin: float) -> dict[str, Any]:
    """Time and distance to standstill, and the largest acceleration over its limit."""
    import test_drivers_stops as stops
    from vendors import VENDORS as DRIVERS

    v = DRIVERS[vendor]
    t, v_, a, q, c = (np.array(getattr(log, k)) for k in ("t", "v", "a", "q", "command"))
    began = int(np.searchsorted(t, begin))
    moving = np.flatnonzero(np.max(np.abs(v_), axis=1) > 5e-3)
    end = max(int(moving[-1]), began) if len(moving) else began
    blocked = began + (11 if v.gains else 0)  # whatever holds it up stops it at once
    window = slice(blocked, None) if fault == "arm blocked" else slice(None)
    if world.robot.braking:  # the robot's own braking isn't the plan's
        window = slice(0, began)
    if v.gains:  # over 20 ms as live: its controller's velocity term makes a blip of one period
        a = np.vstack([np.zeros((10, v_.shape[1])), (v_[10:] - v_[:-10]) / (t[10] - t[0])])
    return {
        "time": float(t[end] - begin),
        "distance": float(np.max(np.abs(q[end] - q[began]))),
        "measured": float(np.max(np.abs(a[window]) / stops.LIMITS.acceleration[0])),
        "step": max((step for _, step in world.controller.steps), default=0.0),
        "push": float(np.max(np.abs(c[-1] - q[-1]))),
        "message": "" if world.killed else log.message,
    }


def _of_panda(start: tuple[float, ...]) -> tuple[Any, Any, Any]:
    """The arm, where it stands, and an executor with a motion of its wrist."""
    import test_drivers_stops as stops

    from sysid_core.excitation import MotionBuilder, MotionChecker, MotionLimits
    from sysid_core.excitation.execution import Executor, MonitorLimits
    from sysid_core.excitation.payload import oscillation
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


def _nodes(vendor: str, fault: str) -> list[Any]:
    """The executor, and the logger where its disk is full."""
    import emulated

    from sysid_nodes.bringup import NodeSpec

    topics = emulated.remappings(vendor)
    limits = emulated.executor_of(vendor, stale_s=0.5, wrench_stale_s=0.5)
    executor, logger = "trajectory_executor", "data_logger"
    specs = [NodeSpec(executor, executor, parameters=limits, remappings=topics)]
    if fault == "disk full":
        robot = {"robot": emulated.ROBOTS[vendor]}
        specs.append(NodeSpec(logger, logger, parameters=robot, remappings=topics))
    return specs


def live(vendor: str, fault: str, folder: Path) -> dict[str, Any] | None:
    """One case with the executor's node and an emulated driver; None where there is none."""
    import emulated
    from real_ros import real_ros_environment
    from robot_sysid.srv import StartRecording
    from vendors import VENDORS

    from sysid_nodes.bringup import below, running
    from sysid_nodes.client import live_client, own_domain

    v = VENDORS[vendor]
    scaling = {**SLIDERS, **KILLED}.get(fault, 1.0)
    no_stop = fault == "protective stop" and not v.safety_inputs
    if fault == "clock step" or no_stop or (scaling < 1.0 and not v.scaling_topic):
        return None
    found = real_ros_environment()
    assert isinstance(found, dict), found
    os.environ.update(found)
    log, file = folder / "truth.npz", emulated.lively(vendor, folder / "motion.npz")
    specs = _nodes(vendor, fault)
    with own_domain() as domain:
        os.environ.update(domain)
        with (
            running(below(specs, folder), folder / "logs") as nodes,
            live_client("") as client,
            emulated.driver(vendor, log) as robot,
        ):
            client.wait_for_active("trajectory_executor")
            emulated.cause(client, scaling=scaling)
            emulated.pause(client, 1.0)
            executor = nodes.processes["trajectory_executor"]

            if fault == "disk full":  # a file of the logger can't grow any more
                small = (SMALL_FILE, SMALL_FILE)
                resource.prlimit(nodes.processes["data_logger"].pid, resource.RLIMIT_FSIZE, small)

            def happen() -> None:
                if fault == "disk full":
                    client.node.create_client(StartRecording, "data_logger/start").call_async(
                        StartRecording.Request()
                    )
                elif fault == "driver killed":
                    robot.send_signal(signal.SIGKILL)
                elif "killed" in fault:
                    executor.send_signal(signal.SIGKILL)
                elif fault in LIVE_FAULTS:
                    emulated.cause(client, **LIVE_FAULTS[fault])
                else:
                    emulated.play.handle.cancel_goal_async()

            timeout = 30.0 / scaling if "killed" in fault and fault != "driver killed" else 90.0
            result, when = emulated.play(client, file, happen, 0.3, timeout)
            message = "" if result is None else result.message
            if fault == "driver killed":
                return {"message": message}
            emulated.pause(client, 2.0)
            truth = emulated.truth(client, log)
            if fault == "disk full":
                lines = (folder / "logs" / "data_logger.log").read_text().splitlines()
                said = [line for line in lines if "can't be written" in line]
                message += "; the logger: " + (said[-1].split("]: ")[-1] if said else "nothing")
    return {"message": message, **_numbers(truth, when, fault)}


def _numbers(truth: Any, when: float, fault: str) -> dict[str, float]:
    """What the robot did from an instant on."""
    import emulated

    after = truth.since(when)
    time, distance = after.standstill
    own = fault in ("arm blocked", "protective stop")  # the robot's deceleration isn't ours
    rows = truth.since(when + 0.3) if own else truth
    steps = [step for _, step in truth.steps]
    return {
        "time": time,
        "distance": distance,
        "measured": float(rows.acceleration.max() / emulated.ACCELERATION),
        "step": float(max(steps, default=0.0)),
        "push": float(np.max(np.abs(after.command[-1] - after.q[-1]))),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown, one line a case."""

    def number(row: dict[str, Any], key: str, scale: float, digits: int) -> str:
        return f"{scale * row[key]:.{digits}f}" if key in row else "–"

    lines = [
        "| robot | fault | how | stands after [s] | moved [rad] | peak acceleration / limit"
        " | step of the command [mrad] | held against [mrad] | message | load |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row["vendor"], row["fault"], row["how"], number(row, "time", 1, 2)]
        cells += [number(row, "distance", 1, 2), number(row, "measured", 1, 2)]
        cells += [number(row, "step", 1e3, 2), number(row, "push", 1e3, 1)]
        cells += [row["message"] or "(it was killed)", f"{row['load']:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_page(rows: list[dict[str, Any]]) -> None:
    """Put the tables into docs/faults.md, between its marks."""
    page = PAGE.read_text(encoding="utf-8")
    for how in ("simulated", "live"):
        own = sorted(
            (row for row in rows if row["how"] == how),
            key=lambda row: (VENDORS.index(row["vendor"]), FAULTS.index(row["fault"])),
        )
        begin, end = f"<!-- {how} -->", f"<!-- end of {how} -->"
        inside = f"{begin}\n{table(own)}\n{end}"
        page = re.sub(f"{begin}.*{end}", lambda _, text=inside: text, page, flags=re.S)
    PAGE.write_text(page, encoding="utf-8")


def main() -> None:
    """Run the cases that aren't in the file yet, and print all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vendors", nargs="*", default=list(VENDORS))
    parser.add_argument("--fault", nargs="*", default=list(FAULTS), choices=FAULTS)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--missing", action="store_true", help="the live cases that are missing")
    parser.add_argument("--table", action="store_true", help="only print")
    parser.add_argument("--docs", action="store_true", help="write docs/faults.md")
    parser.add_argument("--out", type=Path, default=ROWS)
    asked = parser.parse_args()
    out: Path = asked.out
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(r["vendor"], r["fault"], r["how"]) for r in rows}
    how = "live" if asked.live or asked.missing else "simulated"
    wanted = [(v, f) for f in asked.fault for v in asked.vendors]
    cases = LIVE_CASES if asked.missing else wanted
    for vendor, fault in [] if asked.table else [c for c in cases if (*c, how) not in done]:
        row = measured_case(vendor, fault, how)
        if row is None:
            continue
        rows.append(row)
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
    print(table(rows))
    if asked.docs:
        write_page(rows)


def measured_case(vendor: str, fault: str, how: str) -> dict[str, Any] | None:
    """One row; None where there is no such case, or it failed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            answer = (
                live(vendor, fault, Path(folder)) if how == "live" else simulated(vendor, fault)
            )
        except Exception as err:  # the next case may work
            print(f"{vendor}, {fault}: {err}", file=sys.stderr, flush=True)
            return None
    if answer is None:
        return None
    return {"vendor": vendor, "fault": fault, "how": how, "load": os.getloadavg()[0], **answer}


if __name__ == "__main__":
    main()
