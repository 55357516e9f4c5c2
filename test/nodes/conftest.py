# SPDX-License-Identifier: Apache-2.0
"""Real nodes in processes of their own, on a ROS domain of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from sysid_core.excitation import MotionLimits, export_trajectory  # noqa: E402
from sysid_core.excitation.payload import PayloadPlan, plan_payload_motion  # noqa: E402
from sysid_core.robot import RobotModel, pi_from_mass_com_inertia  # noqa: E402
from sysid_nodes.bringup import (  # noqa: E402
    NodeProcesses,
    NodeSpec,
    below,
    running,
)
from sysid_nodes.client import LiveClient, live_client, own_domain  # noqa: E402

PAYLOAD = pi_from_mass_com_inertia(0.8, [0.0, 0.02, 0.03], np.diag([0.004, 0.003, 0.005]))
FRAME = "link_eef"
# Fast enough for a test; the simulated robot hurts nobody.
TCP_SPEED = 1.0

Start = Callable[[Sequence[NodeSpec]], tuple[LiveClient, NodeProcesses]]


def pause(client: LiveClient, seconds: float) -> None:
    """Let time pass."""
    end = time.monotonic() + seconds
    client.wait_until(lambda: time.monotonic() > end, seconds + 5.0, "some time")


@pytest.fixture
def start_nodes(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Starts nodes and a client that calls them; stops them at the end of the test."""
    shared = tmp_path_factory.getbasetemp()
    with ExitStack() as stack:
        for key, value in stack.enter_context(own_domain()).items():
            monkeypatch.setenv(key, value)

        def start(
            specs: Sequence[NodeSpec], namespace: str = ""
        ) -> tuple[LiveClient, NodeProcesses]:
            specs = [
                replace(spec, parameters={"without_dead_man": True, **spec.parameters})
                if spec.executable == "trajectory_executor"
                else spec
                for spec in specs
            ]
            own = {"data_logger", "estimator"}  # what they write; plans are shared
            specs = [
                *below([s for s in specs if s.executable in own], tmp_path),
                *below([s for s in specs if s.executable not in own], shared),
            ]
            nodes = stack.enter_context(running(specs, tmp_path / "logs"))
            client = stack.enter_context(live_client(namespace))
            return client, nodes

        yield start


@pytest.fixture(scope="session")
def short_plan(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PayloadPlan]:
    """A payload motion of some seconds, checked and written."""
    model = RobotModel.from_urdf("xarm7")
    limits = MotionLimits.from_model(model, tcp_frame=FRAME, tcp_speed=TCP_SPEED)
    plan = plan_payload_motion(
        model, limits, duration=4.0, n_tare=3, still=0.6, n_candidates=40, mean_angular_speed=1.5
    )
    path = tmp_path_factory.mktemp("plan") / "motion.npz"
    export_trajectory(model, plan.trajectory, limits, path)
    return path, plan


def simulated(plan: PayloadPlan | None = None, **more: Any) -> dict[str, Any]:
    """Parameters of a simulated xArm 7 that holds `PAYLOAD`."""
    start = [0.0] * 7 if plan is None else plan.trajectory.q[0].tolist()
    return {
        "robot": "xarm7",
        "sensor_frame": FRAME,
        "payload": PAYLOAD.tolist(),
        "start": start,
        "wrench_bias": [1.0, -2.0, 0.5, 0.05, -0.03, 0.02],
        **more,
    }


EXECUTOR = {
    "tcp_frame": FRAME,
    "tcp_speed": TCP_SPEED,
    "stale_s": 1.5,
    "max_step_s": 1.5,
    "wrench_stale_s": 4.0,
    "stop_lead_s": 0.4,
}
