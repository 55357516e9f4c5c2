# SPDX-License-Identifier: Apache-2.0
"""Two robots in one graph, by namespace; and no parameter of any node lies."""

from __future__ import annotations

import dataclasses
import math
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_nodes import EXECUTOR, Start, simulated
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from robot_sysid.msg import FilteredJointState
from robot_sysid.srv import StartRecording
from sensor_msgs.msg import JointState

from sysid_core.planning import Trajectory
from sysid_nodes.bringup import NodeSpec, demo_graph
from sysid_nodes.client import LiveClient, LiveError
from sysid_nodes.computed_torque_controller.config import ComputedTorqueControllerConfig
from sysid_nodes.data_logger.config import DataLoggerConfig
from sysid_nodes.estimator.config import EstimatorConfig
from sysid_nodes.payload_bridge.config import PayloadBridgeConfig
from sysid_nodes.simulated_robot.config import SimulatedRobotConfig
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig

pytestmark = [pytest.mark.ros, pytest.mark.slow]

SCHEMAS = {
    "simulated_robot": SimulatedRobotConfig,
    "trajectory_executor": TrajectoryExecutorConfig,
    "data_logger": DataLoggerConfig,
    "estimator": EstimatorConfig,
    "computed_torque_controller": ComputedTorqueControllerConfig,
    "payload_bridge": PayloadBridgeConfig,
}


def attempts(schema: type) -> list[tuple[str, Any, bool]]:
    """Names, values, and whether an active node may take them, for every parameter."""
    rows: list[tuple[str, Any, bool]] = []
    for field in dataclasses.fields(schema):
        live, default = field.metadata["live"], field.default
        value = default.value if isinstance(default, Enum) else default
        if isinstance(value, tuple):
            if value:  # an empty one has no type
                rows.append((field.name, list(value), live))
            continue
        rows.append((field.name, value, live))
        rows.append((field.name, 5 if isinstance(value, str) else "five", False))
        if isinstance(value, float):
            rows += [(field.name, x, False) for x in (math.nan, math.inf, -1e308)]
        if field.metadata["choices"]:
            rows.append((field.name, "none of them", False))
        for end, sign in (("minimum", -1), ("maximum", 1)):
            if field.metadata[end] is not None:
                rows.append((field.name, type(value)(field.metadata[end] + sign), False))
    return rows


def check_parameters(client: LiveClient) -> None:
    for node, schema in SCHEMAS.items():
        rows = attempts(schema)
        given = [Parameter(name, value=value).to_parameter_msg() for name, value, _ in rows]
        answer = client.call(
            SetParameters, f"{node}/set_parameters", SetParameters.Request(parameters=given)
        )
        wrong = [
            f"{node}: {name} := {value!r}: {result.successful} {result.reason}"
            for (name, value, may), result in zip(rows, answer.results, strict=True)
            if result.successful is not may or not (may or result.reason)
        ]
        assert not wrong, "\n".join(wrong)


def test_two_robots_share_nothing_and_every_parameter_is_taken_or_refused_with_a_reason(
    start_nodes: Start, wave: tuple[Path, Trajectory], tmp_path: Path
) -> None:
    file, motion = wave
    own = {"effort_kind": "actuator_torque"}
    left, right = (
        demo_graph(
            namespace=side,
            robot=simulated(motion, clock=side == "left"),  # there is one /clock
            executor=EXECUTOR,
            logger={**own, "directory": str(tmp_path / side)},
        )
        for side in ("left", "right")
    )
    left = tuple(spec.in_simulated_time() for spec in left)
    controller = NodeSpec(
        "computed_torque_controller",
        "computed_torque_controller",
        "left",
        {"robot": "xarm7"},
        {"effort_commands": "unused"},
    )
    bridge = {"service_type": "std_srvs/srv/Trigger", "service_name": "vendor/set_payload"}
    more = (controller, NodeSpec("payload_bridge", "payload_bridge", "left", bridge))
    client, nodes = start_nodes([*left, *more, *right[:3]], "left")
    for name in SCHEMAS:
        client.wait_for_active(name, 60.0)
    for spec in right[:3]:
        client.wait_for_active(f"/right/{spec.name}", 60.0)

    seen: list[JointState] = []
    node = client.node
    node.create_subscription(JointState, "/right/joint_states", seen.append, 10)
    heard: list[Any] = []
    node.create_subscription(FilteredJointState, "/right/data_logger/filtered", heard.append, 10)
    client.wait_until(lambda: bool(heard), 20.0, "the right robot's filtered states")
    ours = Path(client.start_recording(""))
    request = StartRecording.Request()
    theirs = Path(client.call(StartRecording, "/right/data_logger/start", request).path)
    assert (ours.parent, theirs.parent) == (tmp_path / "left", tmp_path / "right")
    assert client.execute(str(file), lambda _: None, timeout_s=90.0).success
    client.stop_recording()
    moved = np.ptp([message.position for message in seen], axis=0).max()
    assert len(seen) > 10 and moved < 0.01  # the other robot stood
    topics: set[str] = set()
    for name, namespace in node.get_node_names_and_namespaces():
        if namespace in ("/left", "/right"):  # not those of an earlier test, which fade slowly
            topics |= {t for t, _ in node.get_publisher_names_and_types_by_node(name, namespace)}
            topics |= {t for t, _ in node.get_subscriber_names_and_types_by_node(name, namespace)}
    assert len(topics) > 10
    shared = {"/parameter_events", "/rosout", "/diagnostics", "/clock"}
    assert [t for t in topics - shared if not t.startswith(("/left/", "/right/"))] == []
    with pytest.raises(LiveError, match="not permitted"):
        client.execute("/etc/passwd", lambda _: None, timeout_s=20.0)
    check_parameters(client)  # last: it sets what is live to its default
    nodes.check()
