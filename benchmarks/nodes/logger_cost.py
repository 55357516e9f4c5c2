# SPDX-License-Identifier: Apache-2.0
"""CPU time per message of the logger alone, without DDS: back to back, and at the messages' rate.

The same code takes longer if the caches are cold at every message: the difference of the two times.
Usage: source scripts/env.sh; python benchmarks/nodes/logger_cost.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable

import numpy as np

from sysid_core.signals import EffortKind
from sysid_core.signals.bags import build_typestore
from sysid_nodes.data_logger.live_filtering import LiveFiltering
from sysid_nodes.data_logger.recorder import BagRecording

JOINTS, WRENCHES = "sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped"
COUNT, PERIOD_NS, T0 = 2_000, 2_000_000, 1_700_000_000_000_000_000


def messages() -> list[tuple[bytes, bytes]]:
    """Serialised joint state and wrench of each sample."""
    store, rng = build_typestore(), np.random.default_rng(0)
    types, names = store.types, [f"joint{j}" for j in range(7)]
    vector, out = types["geometry_msgs/msg/Vector3"], []
    for k in range(COUNT):
        stamp = types["builtin_interfaces/msg/Time"](*divmod(T0 + k * PERIOD_NS, 1_000_000_000))
        header = types["std_msgs/msg/Header"](stamp, "sensor")
        q = np.sin(7e-4 * k * np.arange(1, 8)) + 1e-5 * rng.normal(size=7)
        w = rng.normal(size=6)
        wrench = types["geometry_msgs/msg/Wrench"](vector(*w[:3]), vector(*w[3:]))
        pair = (
            store.serialize_cdr(types[JOINTS](header, names, q, 0.0 * q, 3.0 * q), JOINTS),
            store.serialize_cdr(types[WRENCHES](header, wrench), WRENCHES),
        )
        out.append((bytes(pair[0]), bytes(pair[1])))
    return out


def cost(
    work: Callable[[bytes, bytes, int], None], pairs: list[tuple[bytes, bytes]], pause: float
) -> float:
    """CPU time of the process per message [µs]."""
    begin = time.process_time()
    for k, pair in enumerate(pairs):
        work(*pair, T0 + k * PERIOD_NS)
        if pause:
            time.sleep(pause)
    return 1e6 * (time.process_time() - begin) / (2 * len(pairs))


def main() -> None:
    pairs, period = messages(), PERIOD_NS * 1e-9
    filtering = LiveFiltering(
        effort_kind=EffortKind.LINK_TORQUE,
        max_gap_s=0.1,
        stale_s=1.0,
        send_joints=lambda data, mirror: None,
        send_wrench=lambda data, mirror: None,
    )
    filtering.use_joints([f"joint{j}" for j in range(7)])

    def filters(state: bytes, wrench: bytes, now: int) -> None:
        filtering.take_joints(state, now)
        filtering.take_wrench(wrench, now)

    asleep = cost(lambda state, wrench, now: None, pairs, period)
    print(f"filtering, back to back: {cost(filters, pairs, 0.0):.0f} µs a message")
    filtering.restart()
    print(f"filtering, paced at 500 Hz: {cost(filters, pairs, period) - asleep:.0f} µs a message")
    with tempfile.TemporaryDirectory() as folder:
        topics = {"/joint_states": JOINTS, "/wrench": WRENCHES}
        bag = BagRecording(f"{folder}/bag", topics, custom_data={}, chunk_bytes=4096)

        def record(state: bytes, wrench: bytes, now: int) -> None:
            bag.put("/joint_states", state, now)
            bag.put("/wrench", wrench, now)

        print(f"recording, paced: {cost(record, pairs, period) - asleep:.0f} µs a message")
        bag.close()
    print(f"(a pause itself costs {2.0 * asleep:.0f} µs)")


if __name__ == "__main__":
    main()
