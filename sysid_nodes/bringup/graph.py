# SPDX-License-Identifier: Apache-2.0
"""List of the nodes to start, as plain data for `sysid up` and the launch files."""

from __future__ import annotations

from collections.abc import Mapping
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

    def in_simulated_time(self) -> NodeSpec:
        """Return a copy that uses the clock of the simulated robot, which waits for late nodes.

        On a computer that is too slow for real time, all nodes are slowed down alike.
        """
        name = "clock" if self.executable == "simulated_robot" else "use_sim_time"
        return replace(self, parameters={name: True, **self.parameters})

    def below(self, folder: str | Path) -> NodeSpec:
        """Return a copy that reads and writes trajectories, bags and results below a folder, unless
        its folders are set explicitly.
        """
        here = str(Path(folder).resolve())
        folders: dict[str, dict[str, Any]] = {
            "trajectory_executor": {"trajectories": (here,)},
            "data_logger": {"directory": here},
            "estimator": {"directory": here, "recordings": here},
            "explorer": {"directory": here},
        }
        return replace(self, parameters={**folders.get(self.executable, {}), **self.parameters})

    def launched(self, *, respawn: bool = False) -> LifecycleNode:
        """Return the launch action of the node, which configures and activates itself.

        Args:
            respawn: Restart the node if it ends by itself; a restart moves nothing.
        """
        from launch_ros.actions import LifecycleNode  # not where nodes start as plain processes

        parameters = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.parameters.items()
            if value not in ((), [])
        }
        return LifecycleNode(
            package="robot_sysid",
            executable=self.executable,
            name=self.name,
            namespace=self.namespace,
            parameters=[parameters] if parameters else [],
            remappings=list(self.remappings.items()),
            output="screen",
            respawn=respawn,
            respawn_delay=1.0,
        )


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
