# SPDX-License-Identifier: Apache-2.0
"""The live pipeline at 500 Hz and 1 kHz: messages lost, latency, CPU per node and message.

Simulated robot, logger (filtering and recording) and estimator run as real processes over DDS.
After them, `echo.py`, which computes nothing, measures the cost of rclpy and DDS for the same
messages. Usage: source scripts/env.sh; python benchmarks/nodes/live.py [seconds]
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import rclpy
from rich.console import Console
from rich.table import Table
from robot_sysid.msg import FilteredJointState, FilteredWrench
from sensor_msgs.msg import JointState

from sysid_core.signals.bags import open_bag, read_bag
from sysid_nodes.bringup import below, demo_graph, running
from sysid_nodes.client import LiveClient, live_client, own_domain
from sysid_nodes.lifecycle import DATA

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(rate_hz: float, seconds: float, folder: Path) -> dict[str, object]:
    specs = demo_graph(
        robot={"robot": "xarm7", "rate_hz": rate_hz},
        logger={"effort_kind": "actuator_torque"},
    )
    specs = tuple(spec for spec in specs if spec.name != "trajectory_executor")
    came: dict[bytes, float] = {}  # when the raw sample reached this process, by stamp
    latencies: list[float] = []  # of the filtered one, from its stamp
    added: list[float] = []  # by the logger, to what DDS needs for the raw one
    with (
        running(below(specs, folder), folder / "logs") as nodes,
        live_client(check=nodes.check) as client,
    ):
        for spec in specs:
            client.wait_for_active(spec.name)
        bag = client.start_recording(str(folder / "bag"))

        def arrived(data: bytes) -> None:
            sec, nanosec = struct.unpack_from("<iI", data, 4)
            now = time.time()
            latencies.append(now - sec - 1e-9 * nanosec)
            if bytes(data[4:12]) in came:
                added.append(now - came[bytes(data[4:12])])

        def raw(data: bytes) -> None:
            came[bytes(data[4:12])] = time.time()

        client.node.create_subscription(
            FilteredJointState, "data_logger/filtered", arrived, DATA, raw=True
        )
        client.node.create_subscription(JointState, "joint_states", raw, DATA, raw=True)
        spin(client, 1.0)  # until everybody has found everybody
        latencies.clear()
        added.clear()
        before = {name: cpu_seconds(p.pid) for name, p in nodes.processes.items()}
        span = spin(client, seconds)
        cpu_s = {n: cpu_seconds(p.pid) - before[n] for n, p in nodes.processes.items()}
        late = latencies.copy(), added.copy()  # what comes later is slower: real-time throttling
        load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        client.stop_recording()
        empty = empty_node(client)
    return row(rate_hz, bag, *late, cpu_s, span, load) | empty


def spin(client: LiveClient, seconds: float) -> float:
    """Receive messages for some time; return the elapsed time [s]."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        rclpy.spin_once(client.node, timeout_sec=0.05)
    return time.monotonic() - begin


def empty_node(client: LiveClient) -> dict[str, object]:
    """Cost of `echo.py`, measured after the latencies, since receiving messages takes CPU time as
    well.
    """
    echoed: list[int] = []
    for kind, topic in ((FilteredJointState, "filtered"), (FilteredWrench, "wrench")):
        client.node.create_subscription(
            kind, f"echo/{topic}", lambda data: echoed.append(len(data)), DATA, raw=True
        )
    with subprocess.Popen([sys.executable, str(Path(__file__).with_name("echo.py"))]) as process:
        client.wait_until(lambda: bool(echoed), 30.0, "the empty node")
        echoed.clear()
        before = cpu_seconds(process.pid)
        span = spin(client, 10.0)
        cost = cpu_seconds(process.pid) - before
        process.terminate()
    return {
        "empty node [µs/message]": f"{1e6 * cost / len(echoed):.0f}",
        "empty node [% of a core]": f"{100 * cost / span:.0f}",
    }


def row(
    rate_hz: float,
    bag: str,
    latencies: list[float],
    added: list[float],
    cpu_s: dict[str, float],
    span: float,
    load: str,
) -> dict[str, object]:
    recording = read_bag(bag)
    stamps = recording.joints.stamps_ns
    expected = round((stamps[-1] - stamps[0]) * 1e-9 * rate_hz) + 1
    ms, more = 1e3 * np.array(latencies), 1e3 * np.array(added)
    return {
        "rate": f"{rate_hz:.0f} Hz",
        "in bag": len(stamps),
        "lost": expected - len(stamps),
        "bag messages": open_bag(bag).count,
        "filtered": len(ms),
        **{f"after the stamp, p{p} [ms]": f"{np.percentile(ms, p):.2f}" for p in (50, 90, 99)},
        **{f"after the raw one, p{p} [ms]": f"{np.percentile(more, p):.2f}" for p in (50, 90, 99)},
        "logger [µs/message]": f"{1e6 * cpu_s['data_logger'] / open_bag(bag).count:.0f}",
        "load average": load,
        **{f"{name} [% of a core]": f"{100 * s / span:.0f}" for name, s in cpu_s.items()},
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    rows = []
    with own_domain() as environment:
        os.environ.update(environment)
        for rate in (500.0, 1000.0):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(measure(rate, seconds, Path(folder)))
    table = Table("", *(str(row["rate"]) for row in rows), box=None)
    for name in list(rows[0])[1:]:
        table.add_row(name, *(str(row[name]) for row in rows))
    Console().print(table)
    print(
        f"xArm 7, joint states and wrench, {seconds:.0f} s each; the table of docs/evidence/nodes.md:\n"
    )
    print(
        "| rate | logger's CPU | an empty node's | lost in the bag | latency p50 | p90 | p99 | load |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        cpu = f"{row['data_logger [% of a core]']} % ({row['logger [µs/message]']} µs a message)"
        cpu += f" | {row['empty node [% of a core]']} % ({row['empty node [µs/message]']} µs)"
        late = " | ".join(f"{row[f'after the raw one, p{p} [ms]']} ms" for p in (50, 90, 99))
        print(f"| {row['rate']} | {cpu} | {row['lost']} | {late} | {row['load average']} |")
    print("\nLatency: from the raw sample's arrival in another process to the filtered one's.")


if __name__ == "__main__":
    main()
