# SPDX-License-Identifier: Apache-2.0
"""From the plain node graph to launch actions; needs launch_ros, which every ROS 2 has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sysid_nodes.bringup.graph import NodeSpec

if TYPE_CHECKING:
    from launch_ros.actions import LifecycleNode


def launch_nodes(specs: Sequence[NodeSpec], *, respawn: bool = False) -> list[LifecycleNode]:
    """One lifecycle node action per spec; the nodes configure and activate themselves.

    Args:
        specs: What to start.
        respawn: Start a node that ends by itself again; nothing moves on a start.
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
