# SPDX-License-Identifier: Apache-2.0
"""Common parts of live tests: the payload and parameters of a simulated xArm 7."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from busy_machine import pace, patience

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from sysid_core.planning import Trajectory  # noqa: E402
from sysid_core.robot import pi_from_mass_com_inertia  # noqa: E402
from sysid_nodes.bringup import NodeSpec  # noqa: E402
from sysid_nodes.bringup.processes import NodeProcesses  # noqa: E402
from sysid_nodes.client import LiveClient  # noqa: E402

PAYLOAD = pi_from_mass_com_inertia(0.8, [0.0, 0.02, 0.03], np.diag([0.004, 0.003, 0.005]))
FRAME = "link_eef"
# Fast enough for a test; the simulated robot hurts nobody.
TCP_SPEED = 1.0

Start = Callable[[Sequence[NodeSpec]], tuple[LiveClient, NodeProcesses]]


def pause(client: LiveClient, seconds: float) -> None:
    """Let time pass."""
    end = time.monotonic() + seconds
    client.wait_until(lambda: time.monotonic() > end, seconds + 5.0, "some time")


def clocked() -> dict[str, Any]:
    """Parameters of a simulated robot whose time runs slower by the factor by which the machine is
    slower.
    """
    return {"clock": True, "pace": pace(), "patience_s": 3.0 * patience()}


def simulated(motion: Trajectory | None = None, **more: Any) -> dict[str, Any]:
    """Parameters of a simulated xArm 7 that holds `PAYLOAD`, where a motion begins.

    With `clock=True` simulated time runs slower by the factor by which the machine is slower, so
    that limits in the robot's time (stale states, a clock's jump) are as far away as on a quiet
    machine.
    """
    if more.get("clock"):
        more = {**clocked(), **more}
    start = [0.0] * 7 if motion is None else motion.q[0].tolist()
    return {
        "robot": "xarm7",
        "sensor_frame": FRAME,
        "payload": PAYLOAD.tolist(),
        "start": start,
        "rate_hz": 100.0,  # as slow as robots are: half the messages cost half the processor time
        "wrench_bias": [1.0, -2.0, 0.5, 0.05, -0.03, 0.02],
        **more,
    }


# Of an executor whose process may be held up by others on the machine.
PATIENT = {"stale_s": 2.0, "max_step_s": 2.0, "wrench_stale_s": 4.0}
EXECUTOR = {"tcp_frame": FRAME, "tcp_speed": TCP_SPEED, "stop_lead_s": 0.4}
