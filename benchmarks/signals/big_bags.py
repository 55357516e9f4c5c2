# SPDX-License-Identifier: Apache-2.0
"""Memory and CPU time of `sysid bag check`, `identify` and `payload` for a bag of several
gigabytes.

The bag has the format of `ros2 bag record` (chunks of 1 MiB): positions, velocities and efforts of
7 joints and a wrench at 500 Hz each, with a marked payload motion of 1 min in the middle. Each
command runs in its own process, whose peak memory `resource.getrusage` gives. Usage: source
scripts/env.sh; python benchmarks/signals/big_bags.py [GIGABYTES] [FOLDER]
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sysid_core.robot import RobotModel, pi_from_mass_com_inertia, wrench_regressor
from sysid_core.signals.bags import BagWriter, build_typestore
from sysid_studies.table import print_head, print_row

JOINT_STATE, WRENCH = "sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped"
PERIOD_NS, T0 = 2_000_000, 1_700_000_000_000_000_000
LOOP = 30_000  # samples: a minute, which is repeated
LOAD = pi_from_mass_com_inertia(0.8, [0.02, -0.01, 0.09], np.diag([4e-3, 3e-3, 2e-3]))
TOOL = pi_from_mass_com_inertia(0.3, [0.0, 0.0, 0.03], np.diag([3e-4, 3e-4, 2e-4]))
MARKS = (
    ("tare_1", 0.0, 2.0),
    ("tare_2", 3.0, 5.0),
    ("tare_3", 6.0, 8.0),
    ("oscillation", 9.0, 59.0),
)


def minute(robot: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Return values of the messages for a periodic motion of 1 min, including noise."""
    rng = np.random.default_rng(1)
    t = np.arange(LOOP) * PERIOD_NS * 1e-9
    rate = 2.0 * np.pi * np.round(np.linspace(12.0, 40.0, robot.nv)) / 60.0
    swing = (
        0.4 * (np.clip((t - 9.0) / 2.0, 0.0, 1.0) * np.clip((60.0 - t) / 2.0, 0.0, 1.0))[:, None]
    )
    q = np.array([0.0, -0.3, 0.0, 0.9, 0.2, 0.7, 0.1]) + swing * np.sin(t[:, None] * rate)
    for begin, change in ((2.0, 0.5), (5.0, 0.5), (8.0, -1.0)):  # to the next posture of the tare
        s = np.clip((t - begin) / 0.9, 0.0, 1.0)
        q[:, 4:] += (change * (10 * s**3 - 15 * s**4 + 6 * s**5))[:, None]
    v = np.gradient(q, t, axis=0)
    a = np.gradient(v, t, axis=0)
    motion = robot.frame_motion("link7", q, v, a)
    A = wrench_regressor(motion.a, motion.omega, motion.alpha)
    wrench = A @ TOOL + np.where(t < 8.5, 0.0, 1.0)[:, None] * (
        A @ LOAD
    )  # picked up after the tare
    tau = robot.inverse_dynamics(q, v, a)
    noise = 1e-5, 1e-3, 0.1
    rows = [x + sd * rng.normal(size=x.shape) for x, sd in zip((q, v, tau), noise, strict=True)]
    return np.hstack(rows), wrench + 0.05 * rng.normal(size=wrench.shape)


def generate(path: Path, gigabytes: float) -> float:
    """Write the bag; return its duration [s]."""
    robot, store = RobotModel.from_urdf("xarm7"), build_typestore()
    types, n = store.types, robot.nv
    joints, wrenches = minute(robot)
    stamp = types["builtin_interfaces/msg/Time"](sec=0, nanosec=0)
    header = types["std_msgs/msg/Header"]
    marked = 1e6 + np.arange(3 * n + 6)
    state = types[JOINT_STATE](
        header(stamp, ""), list(robot.joint_names), *np.split(marked[: 3 * n], 3)
    )
    vector = types["geometry_msgs/msg/Vector3"]
    force, torque = vector(*marked[3 * n : 3 * n + 3]), vector(*marked[3 * n + 3 :])
    wrench = types[WRENCH](header(stamp, "link7"), types["geometry_msgs/msg/Wrench"](force, torque))
    data = [
        bytearray(store.serialize_cdr(state, JOINT_STATE)),
        bytearray(store.serialize_cdr(wrench, WRENCH)),
    ]
    places = [
        [bytes(data[k]).find(struct.pack("<d", x)) for x in block]
        for k, block in enumerate((marked[: 3 * n : n], marked[3 * n :: 6]))
    ]
    count = round(gigabytes * 1e9 / sum(len(x) + 31 for x in data))
    middle = (count // 2 // LOOP) * LOOP
    with BagWriter(path, custom_data={"effort_kind": "link_torque"}, chunk_bytes=1 << 20) as writer:
        writer.add_topic("/joint_states", JOINT_STATE)
        writer.add_topic("/wrench", WRENCH)
        writer.add_topic("/marks", "std_msgs/msg/String")
        writer.add_topic("/robot_description", "std_msgs/msg/String")
        text = types["std_msgs/msg/String"]
        urdf = store.serialize_cdr(text(robot.urdf_xml), "std_msgs/msg/String")
        writer.write("/robot_description", bytes(urdf), T0)
        marks = sorted(
            (middle + round(at * 1e9 / PERIOD_NS), f"{label}:{edge}")
            for label, start, end in MARKS
            for at, edge in ((start, "start"), (end, "end"))
        )
        for k in range(count):
            now = T0 + k * PERIOD_NS
            for kind, topic in enumerate(("/joint_states", "/wrench")):
                struct.pack_into("<iI", data[kind], 4, *divmod(now, 1_000_000_000))
                values = (joints, wrenches)[kind][k % LOOP]
                for place, block in zip(
                    places[kind], np.split(values, len(places[kind])), strict=True
                ):
                    data[kind][place : place + 8 * len(block)] = block.tobytes()
                writer.write(topic, bytes(data[kind]), now)
            while marks and marks[0][0] <= k:
                mark = text(marks.pop(0)[1])
                writer.write("/marks", bytes(store.serialize_cdr(mark, "std_msgs/msg/String")), now)
    return count * PERIOD_NS * 1e-9


def measured(*command: str) -> tuple[float, float, float, int]:
    """Peak memory [MB], CPU time [s], wall time [s] and exit status of a command."""
    code = (
        "import resource, subprocess, sys; r = subprocess.run(sys.argv[1:], capture_output=True);"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "sys.stderr.buffer.write(r.stderr[-2000:]) if r.returncode > 1 else None;"
        "print(u.ru_maxrss / 1024, u.ru_utime + u.ru_stime, r.returncode)"
    )
    begin = time.monotonic()
    run = subprocess.run([sys.executable, "-c", code, *command], stdout=subprocess.PIPE, text=True)
    memory, cpu, status = run.stdout.split()
    return float(memory), float(cpu), time.monotonic() - begin, int(status)


def main(
    gigabytes: Annotated[float, typer.Argument()] = 2.0,
    scratch: Annotated[Path | None, typer.Argument(metavar="FOLDER")] = None,
) -> None:
    """Write the bag and print a row for each command."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        bag, out = Path(folder) / "bag", str(Path(folder) / "out")
        seconds = generate(bag, gigabytes)
        size = sum(file.stat().st_size for file in bag.iterdir()) / 1e9
        sysid = [sys.executable, "-m", "sysid_cli"]
        commands = {
            "bag info": ["bag", "info", str(bag)],
            "bag check": ["bag", "check", str(bag)],
            "identify": ["identify", str(bag), "--robot", "xarm7", "--out", out],
            "payload": ["payload", str(bag), "--sensor-frame", "link7", "--out", out],
        }
        print(f"{size:.2f} GB, {seconds / 60.0:.0f} min at 500 Hz:\n")
        print_head("command", "peak MB", "CPU s", "wall s", "CPU s per GB", "exit status")
        for name, command in commands.items():
            memory, cpu, wall, status = measured(*sysid, *command)
            print_row(name, *(f"{x:.0f}" for x in (memory, cpu, wall, cpu / size)), status)


if __name__ == "__main__":
    typer.run(main)
