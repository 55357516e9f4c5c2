# SPDX-License-Identifier: Apache-2.0
"""Bringup file: a small YAML file that describes the nodes on a real robot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, create_model

from sysid_core.errors import SysIdError
from sysid_core.files import FileKind, FileSchema, Name
from sysid_nodes.bringup.graph import TOPICS, NodeSpec, bringup_graph
from sysid_nodes.lifecycle import check, class_of


def find_config(name: str | Path) -> Path:
    """Find a bringup file by its path, or by the name of a file that this package provides."""
    path = Path(name)
    if path.is_file() or path.is_absolute():
        return path
    for folder in (_share() / "config", Path(__file__).resolve().parents[2] / "config"):
        if (folder / path.name).is_file():
            return folder / path.name
    return path


def _share() -> Path:
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        return Path(get_package_share_directory("robot_sysid"))
    except PackageNotFoundError:
        return Path()


_FILE = FileKind("bringup file", "Start from one of config/bringup_*.yaml.")
_ROS = "ros__parameters"
CONTROLLER = "computed_torque_controller"
ALWAYS = ("trajectory_executor", "data_logger", "estimator")  # the others where they have a section
SCHEMAS = {
    node: class_of(node, "Config")
    for node in (*ALWAYS, "payload_bridge", CONTROLLER, "runner", "explorer", "simulated_robot")
}


def read_config(path: str | Path, *, namespace: str = "", **common: Any) -> tuple[NodeSpec, ...]:
    """Return the nodes of a bringup file; every parameter is checked against the schema of its
    node.

    The file has `topics` (topic names of the robot), `common` (parameters of every node, such as
    `joints`, `lock`, `use_sim_time`), and one section of parameters per node. `payload_bridge`,
    `computed_torque_controller`, `runner`, `explorer` and `simulated_robot` are started only if
    they have a section. If there is a `simulated_robot`, all nodes use its clock, which waits for
    them. A ROS parameter file (`/**: ros__parameters: …`) is accepted as well; topics then keep the
    names that the nodes define.

    Args:
        path: The YAML file, or the name of a file that this package provides.
        namespace: Prefix of all nodes' names and of relative topics; bags and results go to folders
            of this name.
        common: Parameters for all nodes, which override those in the file.

    Raises:
        SysIdError: An unknown section, topic or parameter, or a value of the wrong kind.
    """
    path = find_config(path)
    file = _read(path)
    unknown = [
        FileSchema.unknown_key(topic, TOPICS) for topic in file.topics if topic not in TOPICS
    ]
    if unknown:
        raise _FILE.refusal(path, f"`topics` {unknown[0]}")
    given = file.model_fields_set
    values: dict[str, dict[str, Any]] = {}
    for node, schema in SCHEMAS.items():
        try:
            section = {**(file.common or {}), **(getattr(file, node) or {}), **common}
            values[node] = {name: check(schema, name, x) for name, x in section.items()}
        except SysIdError as err:
            raise _FILE.refusal(path, f"`{node}`: {err.message}", err.remedy) from err
        _keep_apart(values[node], schema, namespace)
    started = {node: x for node, x in values.items() if node in ALWAYS or node in given}
    specs = bringup_graph(started, namespace=namespace, **file.topics)
    if "simulated_robot" in started:
        return tuple(spec.in_simulated_time() for spec in specs)
    return specs


def _keep_apart(values: dict[str, Any], schema: type, namespace: str) -> None:
    """Let each robot write its bags and results to a folder of its own."""
    if namespace and hasattr(schema, "directory"):  # the default
        folder = Path(values.get("directory", schema.directory))
        values["directory"] = str(folder / namespace.strip("/"))


def _read(path: Path) -> Any:
    """Content of a bringup file, checked against its schema; ROS parameter files are also accepted."""
    raw = _FILE.read_yaml(path)
    if not isinstance(raw, dict) or not any(
        isinstance(section, dict) and _ROS in section for section in raw.values()
    ):
        return _FILE.read_schema(path, _File)
    sections: dict[str, dict[str, Any]] = {}
    for pattern, section in raw.items():
        own = section.get(_ROS) if isinstance(section, dict) else None
        name = "common" if pattern in ("/**", "**") else str(pattern).rsplit("/", 1)[-1]
        if not isinstance(own, dict) or name not in _File.model_fields:
            raise _FILE.refusal(
                path,
                f"`{pattern}` is not a node of robot_sysid with `{_ROS}`",
                f"Nodes: {', '.join(SCHEMAS)}.",
            )
        sections.setdefault(name, {}).update(own)
    return _File(**sections)


_File: Any = create_model(
    "_File",
    __base__=FileSchema,
    topics=(dict[str, Name], Field(default_factory=dict)),
    **dict.fromkeys(("common", *SCHEMAS), (dict[str, Any] | None, None)),
)
