# SPDX-License-Identifier: Apache-2.0
"""List of the nodes to start, as plain data for `sysid up` and the launch files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from launch_ros.actions import LifecycleNode

# Between the nodes and a robot, by the nodes' names for them.
TOPICS = (
    "joint_states",
    "wrench",
    "robot_description",
    "tf",
    "tf_static",
    "joint_trajectory",
    "position_commands",
    "effort_commands",
)


@dataclass(frozen=True)
class NodeSpec:
    """Node to be started.

    Attributes:
        executable: Module of `sysid_nodes`, and name for `ros2 run robot_sysid`.
        name: Node name.
        namespace: Namespace of the node, such as "left_arm"; "" for none.
        parameters: Parameter values by name.
        remappings: Remappings of topics and actions: new name by original name.
    """

    executable: str
    name: str
    namespace: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    remappings: Mapping[str, str] = field(default_factory=dict)


def bringup_graph(
    parameters: Mapping[str, Mapping[str, Any]], *, namespace: str = "", **topics: str
) -> tuple[NodeSpec, ...]:
    """Return the nodes that run on a real robot.

    Args:
        parameters: Parameters of each node, by its name.
        namespace: Namespace of all nodes; each robot in a ROS graph needs a namespace of its own.
        topics: Topic names of the robot by the names in `TOPICS`; only those that differ.
    """
    remappings = {name: topic for name, topic in topics.items() if name != topic}
    return tuple(
        NodeSpec(name, name, namespace, values, remappings) for name, values in parameters.items()
    )


def demo_graph(
    *,
    namespace: str = "",
    robot: Mapping[str, Any] | None = None,
    executor: Mapping[str, Any] | None = None,
    logger: Mapping[str, Any] | None = None,
    estimator: Mapping[str, Any] | None = None,
    controller: Mapping[str, Any] | None = None,
) -> tuple[NodeSpec, ...]:
    """Return three nodes and a simulated robot, for the demos.

    Args:
        namespace: Namespace of all nodes.
        robot: Parameters of `simulated_robot`.
        executor: Parameters of `trajectory_executor`.
        logger: Parameters of `data_logger`.
        estimator: Parameters of `estimator`.
        controller: Parameters of `computed_torque_controller`; None: the robot's own controller is
            used.
    """
    parameters = {
        "simulated_robot": robot or {},
        "trajectory_executor": {"without_dead_man": True, **(executor or {})},  # it can hurt nobody
        "data_logger": logger or {},
        "estimator": estimator or {},
    }
    if controller is not None:
        parameters["computed_torque_controller"] = controller
    return bringup_graph(parameters, namespace=namespace)


def in_simulated_time(specs: Iterable[NodeSpec]) -> tuple[NodeSpec, ...]:
    """Return a copy of the nodes, set to use the clock of the simulated robot, which waits for late
    nodes.

    On a computer that is too slow for real time, all nodes are slowed down alike.
    """
    return tuple(
        replace(
            spec,
            parameters={
                ("clock" if spec.executable == "simulated_robot" else "use_sim_time"): True,
                **spec.parameters,
            },
        )
        for spec in specs
    )


def below(specs: Iterable[NodeSpec], folder: str | Path) -> tuple[NodeSpec, ...]:
    """Return a copy of the nodes, set to read and write files below one folder, unless their
    folders are set explicitly.

    Args:
        specs: Specifications of the nodes.
        folder: Folder of trajectories, bags and results.
    """
    here = str(Path(folder).resolve())
    folders: dict[str, dict[str, Any]] = {
        "trajectory_executor": {"trajectories": (here,)},
        "data_logger": {"directory": here},
        "estimator": {"directory": here, "recordings": here},
        "explorer": {"directory": here},
    }
    return tuple(
        replace(spec, parameters={**folders.get(spec.executable, {}), **spec.parameters})
        for spec in specs
    )


def launch_nodes(specs: Sequence[NodeSpec], *, respawn: bool = False) -> list[LifecycleNode]:
    """Create one lifecycle node action per node; the nodes configure and activate themselves.

    Args:
        specs: Specifications of the nodes to start.
        respawn: Restart a node that ends by itself; a restart moves nothing.
    """
    from launch_ros.actions import LifecycleNode  # not where nodes start as plain processes

    actions = []
    for spec in specs:
        parameters = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in spec.parameters.items()
            if value not in ((), [])
        }
        actions.append(
            LifecycleNode(
                package="robot_sysid",
                executable=spec.executable,
                name=spec.name,
                namespace=spec.namespace,
                parameters=[parameters] if parameters else [],
                remappings=list(spec.remappings.items()),
                output="screen",
                respawn=respawn,
                respawn_delay=1.0,
            )
        )
    return actions
