# SPDX-License-Identifier: Apache-2.0
"""Real nodes in processes of their own, on a ROS domain of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from busy_machine import patience
from forked_python import Forked
from live_nodes import FRAME, PATIENT, TCP_SPEED, Start

from sysid_core.planning import MotionChecker, MotionLimits, Trajectory
from sysid_core.planning.payload import plan_payload_motion
from sysid_core.planning.payload.motion import oscillation
from sysid_core.planning.payload.plan import PayloadPlan
from sysid_core.planning.transfer import MotionBuilder
from sysid_core.robot import RobotModel
from sysid_nodes.bringup import NodeSpec
from sysid_nodes.bringup.processes import NodeProcesses, running
from sysid_nodes.client import LiveClient, own_domain


def say_logs(folder: Path) -> None:
    """Print the last words of each node."""
    for path in sorted(folder.rglob("logs/*.log")):
        print(f"--- {path.stem}", *path.read_text(errors="replace").splitlines()[-25:], sep="\n")


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
                replace(spec, parameters={"without_dead_man": True, **PATIENT, **spec.parameters})
                if spec.executable == "trajectory_executor"
                else spec
                for spec in specs
            ]
            own = {"data_logger", "estimator"}  # what they write; plans are shared
            specs = [
                *(s.below(tmp_path) for s in specs if s.executable in own),
                *(s.below(shared) for s in specs if s.executable not in own),
            ]
            stack.callback(say_logs, tmp_path)  # shown where the test fails
            nodes = stack.enter_context(running(specs, tmp_path / "logs", start=Forked))
            client = stack.enter_context(LiveClient.open(namespace))
            client.patience = patience()
            return client, nodes

        yield start


@pytest.fixture(scope="session")
def short_plan(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PayloadPlan]:
    """A payload motion of ten seconds, checked and written."""
    model, limits = _arm()
    plan = plan_payload_motion(
        model, limits, duration=2.0, n_tare=3, still=0.4, n_candidates=40, mean_angular_speed=1.5
    )
    path = tmp_path_factory.mktemp("plan") / "motion.npz"
    MotionChecker(model, limits).export(plan.trajectory, path)
    return path, plan


@pytest.fixture(scope="session")
def wave(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trajectory]:
    """Four seconds of motion from which nothing is weighed, checked and written."""
    model, limits = _arm()
    home = np.array([0.0, -0.3, 0.0, 0.9, 0.0, 1.2, 0.0])
    checker = MotionChecker(model, limits)
    builder = MotionBuilder(checker, home, rate_hz=100)
    builder.rest(0.2, "still")
    builder.play(*oscillation(home, [4, 5, 6], [0.28, 0.34, 0.36], 4.0, ramp=0.8), "wave")
    trajectory = builder.build()
    path = tmp_path_factory.mktemp("wave") / "motion.npz"
    checker.export(trajectory, path)
    return path, trajectory


def _arm() -> tuple[RobotModel, MotionLimits]:
    model = RobotModel.from_urdf("xarm7")
    return model, MotionLimits.from_model(model, tcp_frame=FRAME, tcp_speed=TCP_SPEED)
