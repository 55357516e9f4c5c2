#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of the nodes over a long time: at rest, and with a marked motion that starts every minute.

`python benchmarks/nodes/soak.py [--minutes N] [--rate-hz N]`. A simulated xArm 7 publishes joint states
and wrenches at the given rate. Executor, logger and estimator receive them; the logger records the
motions. It prints the anonymous memory every 30 s, and its slope over the second half of the time.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import typer
from rich.console import Console
from robot_sysid.msg import Mark

from sysid_nodes.bringup import demo_graph, live
from sysid_nodes.client import own_domain
from sysid_nodes.lifecycle import qos
from sysid_studies.table import print_head, print_row

EVERY_S = 30.0  # two of them are a motion
FRAME = {"sensor_frame": "link_eef"}


def memory_mb(pid: int) -> float:
    """Anonymous memory of a process, which is its own: other processes that share its libraries come
    and go [MB of 2^20 bytes].
    """
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Anonymous:"))


def soak(minutes: float, rate_hz: float, moves: bool) -> None:
    """Print the memory over time."""
    specs = demo_graph(
        robot={"robot": "xarm7", "rate_hz": rate_hz, **FRAME},
        logger={"effort_kind": "actuator_torque"},
        estimator=FRAME | {"shape": "box 0.1 0.1 0.1"},
    )
    times: list[float] = []
    sizes: list[list[float]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        live([spec.below(folder) for spec in specs], Path(folder), "", Console(stderr=True)) as (
            nodes,
            client,
        ),
    ):
        marks = client.node.create_publisher(Mark, "marks", qos.DATA)
        if moves:
            client.start_recording(str(Path(folder) / "bag"))
        print_head(f"{'in motion' if moves else 'at rest'} [s]", *nodes.processes)
        begin = time.monotonic()
        while time.monotonic() - begin < 60.0 * minutes:
            for label in ("motion:end", "motion:start") if moves and len(times) % 2 == 0 else ():
                marks.publish(Mark(label=label, stamp=client.node.get_clock().now().to_msg()))
            look = time.monotonic() + EVERY_S
            client.wait_until(lambda until=look: time.monotonic() > until, 60.0, "a look")
            times.append(time.monotonic() - begin)
            sizes.append([memory_mb(p.pid) for p in nodes.processes.values()])
            print_row(f"{times[-1]:.0f}", *(f"{x:.1f}" for x in sizes[-1]))
        if moves:
            client.stop_recording()
    half = len(times) // 2
    slopes = np.polyfit(times[half:], np.array(sizes[half:]), 1)[0]
    print("slope [kB/s]: " + ", ".join(f"{1024 * s:.2f}" for s in slopes), flush=True)


def main(minutes: float = 10.0, rate_hz: float = 1000.0) -> None:
    """Measure at rest and in motion."""
    with own_domain() as variables:
        os.environ.update(variables)
        for moves in (False, True):
            soak(minutes, rate_hz, moves)


if __name__ == "__main__":
    typer.run(main)
