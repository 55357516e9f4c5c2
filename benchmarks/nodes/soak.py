#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of the nodes over a long time: at rest, and with a marked motion that starts every minute.

`python benchmarks/nodes/soak.py [--minutes N] [--rate-hz N]`. A process publishes joint states and wrenches
of an xArm 7 at the given mean rate. Executor, logger and estimator receive them; the logger records
the motions. It prints the proportional set size every 30 s, and its slope over the second half of
the time.
"""

from __future__ import annotations

import os
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import typer
from rich.console import Console

from sysid_core.robot import RobotModel
from sysid_nodes.bringup import NodeSpec, live
from sysid_nodes.client import own_domain
from sysid_studies.table import print_head, print_row

Process = get_context("spawn").Process  # ROS of its own
EVERY_S, MOTION_S = 30.0, 60.0
FRAME = {"sensor_frame": "link_eef", "shape": "box 0.1 0.1 0.1"}
NODES = (
    NodeSpec("trajectory_executor", "trajectory_executor"),
    NodeSpec("data_logger", "data_logger", parameters={"effort_kind": "actuator_torque"}),
    NodeSpec("estimator", "estimator", parameters=FRAME),
)


def memory_mb(pid: int) -> float:
    """Proportional set size of a process [MB of 2^20 bytes]."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def publish(rate_hz: float, moves: bool) -> None:
    """Publish joint states and wrenches until the process is ended."""
    import rclpy
    from geometry_msgs.msg import WrenchStamped
    from robot_sysid.msg import Mark
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String

    from sysid_nodes.lifecycle import qos

    rclpy.init()
    node = rclpy.create_node("robot")
    model = RobotModel.from_urdf("xarm7")
    node.create_publisher(String, "robot_description", qos.LATCHED).publish(
        String(data=model.urdf_xml)
    )
    states = node.create_publisher(JointState, "joint_states", qos.DATA)
    wrenches = node.create_publisher(WrenchStamped, "wrench", qos.DATA)
    marks = node.create_publisher(Mark, "marks", qos.DATA)
    names, rng = list(model.joint_names), np.random.default_rng(0)
    begin, k, motion = time.monotonic(), 0, -1
    while True:
        t = k / rate_hz
        if t > time.monotonic() - begin:
            time.sleep(0.002)
            continue
        k += 1
        turns = 1.0 if moves else 0.0
        stamp = node.get_clock().now().to_msg()
        q, v = (
            0.3 * turns * np.sin(2.0 * t) * np.ones(7),
            0.6 * turns * np.cos(2.0 * t) * np.ones(7),
        )
        state = JointState(name=names, position=q.tolist(), velocity=v.tolist())
        state.header.stamp = stamp
        state.effort = rng.normal(0.0, 0.1, 7).tolist()
        states.publish(state)
        wrench = WrenchStamped()
        wrench.header.stamp, wrench.header.frame_id = stamp, FRAME["sensor_frame"]
        wrench.wrench.force.z = -9.0 + 0.1 * float(rng.normal())
        wrenches.publish(wrench)
        if moves and int(t // MOTION_S) != motion:
            for label in ["motion:end"] * (motion >= 0) + ["motion:start"]:
                marks.publish(Mark(label=label, stamp=stamp))
            motion = int(t // MOTION_S)


def soak(minutes: float, rate_hz: float, moves: bool) -> None:
    """Print the memory over time."""
    robot = Process(target=publish, args=(rate_hz, moves))
    robot.start()
    times: list[float] = []
    sizes: list[list[float]] = []
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            live(
                [spec.below(folder) for spec in NODES], Path(folder), "", Console(stderr=True)
            ) as (nodes, client),
        ):
            if moves:
                client.start_recording(str(Path(folder) / "bag"))
            begin = time.monotonic()
            print_head(f"{'in motion' if moves else 'at rest'} [s]", *nodes.processes)
            while time.monotonic() - begin < 60.0 * minutes:
                look = time.monotonic() + EVERY_S
                client.wait_until(lambda until=look: time.monotonic() > until, 60.0, "a look")
                times.append(time.monotonic() - begin)
                sizes.append([memory_mb(p.pid) for p in nodes.processes.values()])
                print_row(f"{times[-1]:.0f}", *(f"{x:.1f}" for x in sizes[-1]))
    finally:
        robot.kill()
        robot.join()
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
