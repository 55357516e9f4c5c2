# SPDX-License-Identifier: Apache-2.0
"""CPU time of the signals room: filters per sample, bags per message."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from sysid_core.signals import JointStream, StreamMonitor
from sysid_core.signals.bags import BagWriter, build_typestore, read_bag
from sysid_core.signals.filters import JointFilter, NoiseLevels
from sysid_core.signals.filters.smoother import smooth_joints
from sysid_core.signals.wrench import WrenchFilter

JOINT_STATE = "sensor_msgs/msg/JointState"
SAMPLES, JOINTS, PERIOD_NS = 5000, 7, 1_000_000


def per_sample(work: Callable[[], object], samples: int = SAMPLES) -> float:
    """CPU microseconds, the best of three."""
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best / samples * 1e6


def main() -> None:
    rng = np.random.default_rng(1)
    t = np.arange(SAMPLES) * PERIOD_NS
    q = 0.5 * np.sin(t[:, None] * 1e-9 * np.linspace(1.0, 6.0, JOINTS))
    q = q + 1e-4 * rng.normal(size=q.shape)
    v, effort = np.gradient(q, PERIOD_NS * 1e-9, axis=0), 10.0 * q
    given = NoiseLevels(np.array(1e-4), np.array(100.0), np.array(1e-2))

    def filter_all(noise: NoiseLevels | None, rates: bool) -> None:
        joint_filter = JointFilter(JOINTS, noise=noise, effort_noise=noise)
        for k in range(SAMPLES):
            joint_filter.update(k * PERIOD_NS, q[k], *((v[k], effort[k]) if rates else ()))

    def filter_wrench() -> None:
        wrench_filter = WrenchFilter()
        for k in range(SAMPLES):
            wrench_filter.update(k * PERIOD_NS, effort[k, :6])

    def count() -> None:
        monitor = StreamMonitor()
        for k in range(SAMPLES):
            monitor.add(k * PERIOD_NS, k * PERIOD_NS)

    stream = JointStream(tuple(f"j{k}" for k in range(JOINTS)), t, q, v=v)
    rows = [
        ("JointFilter, positions, noise given", per_sample(lambda: filter_all(given, False))),
        ("JointFilter, positions, self-tuned", per_sample(lambda: filter_all(None, False))),
        ("JointFilter, q + v + effort, noise given", per_sample(lambda: filter_all(given, True))),
        ("JointFilter, q + v + effort, self-tuned", per_sample(lambda: filter_all(None, True))),
        ("WrenchFilter, self-tuned", per_sample(filter_wrench)),
        ("StreamMonitor", per_sample(count)),
        ("smooth_joints", per_sample(lambda: smooth_joints(stream))),
    ]
    with tempfile.TemporaryDirectory() as folder:
        rows += bag_rows(Path(folder), stream, effort)
    table = Table(title=f"{JOINTS} joints, {SAMPLES} samples", box=None)
    table.add_column("what")
    table.add_column("µs per sample", justify="right")
    table.add_column("share of a core at 1 kHz", justify="right")
    for what, microseconds in rows:
        table.add_row(what, f"{microseconds:.1f}", f"{microseconds / 10:.1f} %")
    Console().print(table)


def bag_rows(folder: Path, stream: JointStream, effort: np.ndarray) -> list[tuple[str, float]]:
    store = build_typestore()
    types = store.types
    messages = []
    for k, stamp_ns in enumerate(stream.stamps_ns.tolist()):
        stamp = types["builtin_interfaces/msg/Time"](
            sec=stamp_ns // 10**9 + 1, nanosec=stamp_ns % 10**9
        )
        message = types[JOINT_STATE](
            header=types["std_msgs/msg/Header"](stamp=stamp, frame_id=""),
            name=list(stream.names),
            position=stream.q[k],
            velocity=stream.v[k],
            effort=effort[k],
        )
        messages.append(bytes(store.serialize_cdr(message, JOINT_STATE)))
    paths = iter(folder / str(k) for k in range(3))

    def write() -> None:
        with BagWriter(next(paths)) as writer:
            writer.add_topic("/joint_states", JOINT_STATE)
            for k, data in enumerate(messages):
                writer.write("/joint_states", data, k)

    return [
        ("BagWriter, serialised JointState, 4 KiB chunks", per_sample(write)),
        ("read_bag", per_sample(lambda: read_bag(folder / "0"))),
    ]


if __name__ == "__main__":
    main()
