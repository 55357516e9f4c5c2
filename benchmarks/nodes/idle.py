#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost of idle nodes: memory, and processor time until active, beside empty rclpy nodes.

`python benchmarks/nodes/idle.py` (half a minute). PSS shares what processes have in common; RSS counts it
for each. The last line is four lifecycle nodes that do nothing: the floor of rclpy and its DDS.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sysid_nodes.bringup import NodeSpec, below, running
from sysid_nodes.client import live_client, own_domain

ROBOT = {"robot": "xarm7"}
NODES = (
    NodeSpec("trajectory_executor", "trajectory_executor", parameters=ROBOT),
    NodeSpec("data_logger", "data_logger", parameters=ROBOT),
    NodeSpec(
        "estimator",
        "estimator",
        parameters={**ROBOT, "sensor_frame": "link_eef", "shape": "box 0.1 0.1 0.1"},
    ),
    NodeSpec(
        "payload_bridge",
        "payload_bridge",
        parameters={"service_type": "std_srvs/srv/Trigger", "service_name": "vendor/set_payload"},
    ),
)
EMPTY = """
import rclpy
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.lifecycle import LifecycleNode
rclpy.init()
node, executor = LifecycleNode("empty{k}"), EventsExecutor()
executor.add_node(node)
print("up", flush=True)
while True:
    executor.spin_once(timeout_sec=0.1)
"""
SETTLE_S = 5.0
TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> tuple[float, float]:
    """RSS and PSS of a process [MB of 2^20 bytes]."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    found = {line.split()[0]: int(line.split()[1]) / 1024 for line in lines[1:]}
    return found["Rss:"], found["Pss:"]


def cpu_s(pid: int) -> float:
    """Processor time of a process so far [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def table(rows: dict[str, tuple[float, float, float]], what: str) -> None:
    """Print a line for each process and their sum."""
    for name, (rss, pss, cpu) in rows.items():
        print(f"| {name} | {rss:.0f} | {pss:.0f} | {cpu:.2f} |")
    sums = [sum(row[k] for row in rows.values()) for k in range(3)]
    print(f"| **{what}** | **{sums[0]:.0f}** | **{sums[1]:.0f}** | {sums[2]:.2f} |")


def ours() -> None:
    """Our four nodes."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(below(NODES, folder), Path(folder)) as nodes,
    ):
        active: dict[str, float] = {}
        with live_client() as client:
            for spec in NODES:
                client.wait_for_active(spec.name, 60.0)
                active[spec.name] = cpu_s(nodes.processes[spec.name].pid)
            end = time.monotonic() + SETTLE_S
            client.wait_until(lambda: time.monotonic() > end, 60.0, "the nodes to settle")
            found = {n: (*memory_mb(p.pid), active[n]) for n, p in nodes.processes.items()}
    table(found, "four nodes")


def empty() -> None:
    """Four nodes that do nothing."""
    processes = [
        subprocess.Popen([sys.executable, "-c", EMPTY.format(k=k)], stdout=subprocess.PIPE)
        for k in range(len(NODES))
    ]
    try:
        for process in processes:
            assert process.stdout is not None and process.stdout.readline()
        cpu = [cpu_s(process.pid) for process in processes]
        time.sleep(SETTLE_S)
        table(
            {f"empty {k}": (*memory_mb(p.pid), cpu[k]) for k, p in enumerate(processes)},
            "four empty nodes",
        )
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    """Measure and print."""
    with own_domain() as variables:
        os.environ.update(variables)
        print("| node | RSS [MB] | PSS [MB] | CPU until active [s] |\n|---|---|---|---|")
        ours()
        empty()


if __name__ == "__main__":
    main()
