# SPDX-License-Identifier: Apache-2.0
"""The live pipeline at 500 Hz and 1 kHz: messages lost, latency, CPU per node and message.

Simulated robot (an xArm 7), logger (filtering and recording) and estimator run as real processes
over DDS. The latency is the time from the arrival of the raw sample in another process to the
arrival of the filtered one. Usage: source scripts/env.sh; python benchmarks/nodes/live.py [SECONDS]
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import rclpy
import typer
from rich.console import Console
from robot_sysid.msg import FilteredJointState
from sensor_msgs.msg import JointState

from sysid_core.signals.bags import StoredBag, read_bag
from sysid_nodes.bringup import demo_graph, live
from sysid_nodes.client import LiveClient, own_domain
from sysid_nodes.lifecycle import qos
from sysid_studies.table import print_head, print_row

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(rate_hz: float, seconds: float, folder: Path) -> tuple[str, ...]:
    """Return the row of the table for a rate of the samples."""
    specs = demo_graph(
        robot={"robot": "xarm7", "rate_hz": rate_hz},
        logger={"effort_kind": "actuator_torque"},
    )
    specs = tuple(spec for spec in specs if spec.name != "trajectory_executor")
    came: dict[bytes, float] = {}  # when the raw sample reached this process, by stamp
    added: list[float] = []  # by the logger, to what DDS needs for the raw one
    specs = tuple(spec.below(folder) for spec in specs)
    with live(specs, folder, "", Console(stderr=True)) as (nodes, client):
        bag = client.start_recording(str(folder / "bag"))

        def arrived(data: bytes) -> None:
            if bytes(data[4:12]) in came:
                added.append(time.time() - came[bytes(data[4:12])])

        def raw(data: bytes) -> None:
            came[bytes(data[4:12])] = time.time()

        client.node.create_subscription(
            FilteredJointState, "data_logger/filtered", arrived, qos.DATA, raw=True
        )
        client.node.create_subscription(JointState, "joint_states", raw, qos.DATA, raw=True)
        spin(client, 1.0)  # until everybody has found everybody
        added.clear()
        logger = nodes.processes["data_logger"].pid
        before = cpu_seconds(logger)
        span = spin(client, seconds)
        cpu = cpu_seconds(logger) - before
        late = 1e3 * np.array(added)  # what comes later is slower: real-time throttling
        load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        client.stop_recording()
    stamps = read_bag(bag).joints.stamps_ns
    expected = round((stamps[-1] - stamps[0]) * 1e-9 * rate_hz) + 1
    return (
        f"{rate_hz:.0f} Hz",
        f"{100 * cpu / span:.0f} % ({1e6 * cpu / StoredBag.open(bag).count:.0f} µs a message)",
        f"{expected - len(stamps)} of {expected}",
        *(f"{np.percentile(late, p):.2f} ms" for p in (50, 90, 99)),
        load,
    )


def spin(client: LiveClient, seconds: float) -> float:
    """Receive messages for some time; return the elapsed time [s]."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        rclpy.spin_once(client.node, timeout_sec=0.05)
    return time.monotonic() - begin


def main(seconds: float = 20.0) -> None:
    """Print a row for each rate."""
    print_head("rate", "logger's CPU", "lost in the bag", "latency p50", "p90", "p99", "load")
    with own_domain() as environment:
        os.environ.update(environment)
        for rate in (500.0, 1000.0):
            with tempfile.TemporaryDirectory() as folder:
                print_row(*measure(rate, seconds, Path(folder)))


if __name__ == "__main__":
    typer.run(main)
