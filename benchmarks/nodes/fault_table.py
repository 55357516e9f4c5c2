# SPDX-License-Identifier: Apache-2.0
"""Fault table: reactions of emulated robots to faults in the middle of a motion.

    python benchmarks/nodes/fault_table.py [VENDOR ...] [--fault NAME ...] [--live] [--out FILE]
    python benchmarks/nodes/fault_table.py --missing   # the live cases that aren't in the file yet

In simulated time, the executor's core, a trajectory controller and a robot run in one process. With
`--live`, the executor's node and an emulated driver are separate processes (10 s to 60 s per case).
Every finished case is appended to the file, and cases in the file aren't run again; with `--out
NEW.jsonl`, all are measured anew.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from fault_simulation import KILLED, SLIDERS, simulated

ROOT = Path(__file__).resolve().parents[2]
for folder in ("test", "test/drivers", "test/nodes", "test/nodes/drivers"):
    sys.path.insert(0, str(ROOT / folder))

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
SMALL_FILE = 100_000  # that a full disk still holds [byte]
VENDORS = ("ur", "franka", "xarm", "digit")


def _nodes(vendor: str, fault: str) -> list[Any]:
    """The executor; also the logger if the fault is its full disk."""
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
    """Run one case with the executor's node and an emulated driver; None if there is no such case."""
    import emulated
    from real_ros import with_driver_messages
    from robot_sysid.srv import StartRecording
    from vendors import VENDORS

    from sysid_nodes.bringup import below, running
    from sysid_nodes.client import live_client, own_domain

    v = VENDORS[vendor]
    scaling = {**SLIDERS, **KILLED}.get(fault, 1.0)
    no_stop = fault == "protective stop" and not v.safety_inputs
    if fault == "clock step" or no_stop or (scaling < 1.0 and not v.scaling_topic):
        return None
    os.environ.update(with_driver_messages(dict(os.environ)))
    log, file = folder / "truth.npz", emulated.lively(vendor, folder / "motion.npz", 8.0)
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

            def over() -> bool:
                return executor.poll() is not None

            result, when = emulated.play(client, file, happen, 0.3, over)
            message = "" if result is None else result.message
            if fault == "driver killed":
                return {"message": message}
            emulated.pause(client, 10.0 if over() else 2.0)
            truth = emulated.truth(client, log)
            if fault == "disk full":
                lines = (folder / "logs" / "data_logger.log").read_text().splitlines()
                said = [line for line in lines if "can't be written" in line]
                message += "; the logger: " + (said[-1].split("]: ")[-1] if said else "nothing")
    return {"message": message, **_numbers(truth, when, fault)}


def _numbers(truth: Any, when: float, fault: str) -> dict[str, float]:
    """Measures of the robot's motion after an instant."""
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
    """Return a Markdown table with one line per case."""

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


def main() -> None:
    """Run the cases that aren't in the file yet, and print all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vendors", nargs="*", default=list(VENDORS))
    parser.add_argument("--fault", nargs="*", default=list(FAULTS), choices=FAULTS)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--missing", action="store_true", help="the live cases that are missing")
    parser.add_argument("--out", type=Path, default=ROWS)
    asked = parser.parse_args()
    out: Path = asked.out
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(r["vendor"], r["fault"], r["how"]) for r in rows}
    how = "live" if asked.live or asked.missing else "simulated"
    wanted = [(v, f) for f in asked.fault for v in asked.vendors]
    cases = LIVE_CASES if asked.missing else wanted
    for vendor, fault in [c for c in cases if (*c, how) not in done]:
        row = measured_case(vendor, fault, how)
        if row is None:
            continue
        rows.append(row)
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
    rows.sort(key=lambda row: (VENDORS.index(row["vendor"]), FAULTS.index(row["fault"])))
    print(table([row for row in rows if row["how"] == how]))


def measured_case(vendor: str, fault: str, how: str) -> dict[str, Any] | None:
    """Measure one case and return its row; None if there is no such case, or it failed."""
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
