"""The nodes on a real robot, described by one small YAML file."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from pydantic import Field
from rich.console import Console

from sysid_core.errors import SysIdError
from sysid_core.files import FileKind, FileSchema, Name, read_schema, unknown_key
from sysid_nodes import (
    computed_torque_controller,
    data_logger,
    estimator,
    graph,
    trajectory_executor,
)
from sysid_nodes.lifecycle import check
from sysid_nodes.processes import running
from sysid_nodes.vendor_payload import PayloadBridgeConfig

_FILE = FileKind("bringup file", "Start from one of config/bringup_*.yaml.")
CONTROLLER = "computed_torque_controller"
SCHEMAS = {
    "trajectory_executor": trajectory_executor.TrajectoryExecutorConfig,
    "data_logger": data_logger.DataLoggerConfig,
    "estimator": estimator.EstimatorConfig,
    "payload_bridge": PayloadBridgeConfig,
    CONTROLLER: computed_torque_controller.ComputedTorqueControllerConfig,
}


def read_config(path: str | Path, *, namespace: str = "") -> tuple[graph.NodeSpec, ...]:
    """The node graph of a bringup file, every parameter checked against its schema.

    The file has `topics` (names of the robot's own), and one section of parameters per node;
    `payload_bridge` and `computed_torque_controller` are started only where they have one.

    Args:
        path: The YAML file.
        namespace: Prefix of all nodes' names.

    Raises:
        SysIdError: An unknown section, topic or parameter, or a value of the wrong kind.
    """
    file = read_schema(path, _File, _FILE)
    unknown = [
        unknown_key(topic, graph.TOPICS) for topic in file.topics if topic not in graph.TOPICS
    ]
    if unknown:
        raise _FILE.refusal(path, f"`topics` {unknown[0]}")
    given = file.model_fields_set
    values: dict[str, dict[str, Any]] = {}
    for node, schema in SCHEMAS.items():
        try:
            section = getattr(file, node) or {}
            values[node] = {name: check(schema, name, value) for name, value in section.items()}
        except SysIdError as err:
            raise _FILE.refusal(path, f"`{node}`: {err.message}", err.remedy) from err
    return graph.bringup(
        namespace=namespace,
        executor=values["trajectory_executor"],
        logger=values["data_logger"],
        estimator=values["estimator"],
        payload_bridge=values["payload_bridge"] if "payload_bridge" in given else None,
        controller=values[CONTROLLER] if CONTROLLER in given else None,
        **file.topics,
    )


class _File(FileSchema):
    topics: dict[str, Name] = Field(default_factory=dict)
    trajectory_executor: dict[str, Any] | None = None
    data_logger: dict[str, Any] | None = None
    estimator: dict[str, Any] | None = None
    payload_bridge: dict[str, Any] | None = None
    computed_torque_controller: dict[str, Any] | None = None


def run(config: Path | None, out: Path, *, namespace: str = "") -> int:
    """Start the nodes and stay until interrupted."""
    if config is None:
        raise SysIdError(
            "A bringup needs to know the robot.",
            remedy="Give --config; start from config/bringup_ur.yaml, _franka.yaml or _xarm.yaml.",
        )
    specs = read_config(config, namespace=namespace)
    console = Console()
    console.print(
        f"ROS_DOMAIN_ID={os.environ.get('ROS_DOMAIN_ID', '0')}: starting"
        f" {', '.join(spec.name for spec in specs)}. Nothing moves until a goal is sent to"
        " trajectory_executor/execute. Ctrl-C ends."
    )
    with running(specs, out / "logs") as nodes:
        try:
            while True:
                nodes.check()
                time.sleep(0.5)
        except KeyboardInterrupt:
            console.print("Stopping the nodes.")
    return 0
