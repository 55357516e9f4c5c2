"""The nodes on a real robot, described by one small YAML file."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from sysid_core.errors import SysIdError
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
        path: Of the YAML file.
        namespace: Of all nodes.

    Raises:
        SysIdError: An unknown section, topic or parameter, or a value of the wrong kind.
    """
    try:
        raw: Any = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as err:
        raise SysIdError(
            f"The bringup file '{path}' can't be read: {err}.",
            remedy="Start from one of config/bringup_*.yaml.",
        ) from err
    if not isinstance(raw, dict):
        raise SysIdError(f"'{path}' is not a mapping.", remedy="Start from config/bringup_*.yaml.")
    unknown = set(raw) - {"topics", *SCHEMAS}
    topics = raw.get("topics") or {}
    unknown |= set(topics) - set(graph.TOPICS)
    if unknown:
        raise SysIdError(
            f"'{path}' has unknown entries: {sorted(unknown)}.",
            remedy=f"Sections: topics ({', '.join(graph.TOPICS)}), {', '.join(SCHEMAS)}.",
        )
    values = {
        node: {name: check(schema, name, value) for name, value in (raw.get(node) or {}).items()}
        for node, schema in SCHEMAS.items()
    }
    return graph.bringup(
        namespace=namespace,
        executor=values["trajectory_executor"],
        logger=values["data_logger"],
        estimator=values["estimator"],
        payload_bridge=values["payload_bridge"] if "payload_bridge" in raw else None,
        controller=values[CONTROLLER] if CONTROLLER in raw else None,
        **topics,
    )


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
