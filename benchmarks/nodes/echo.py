# SPDX-License-Identifier: Apache-2.0
"""Minimal CPU time of a node in rclpy: it receives each joint state and wrench, and publishes a
message of this package.

It computes nothing: `live.py` thus measures the cost of rclpy and DDS.
"""

from __future__ import annotations

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.serialization import serialize_message
from robot_sysid.msg import FilteredJointState, FilteredWrench
from sensor_msgs.msg import JointState

from sysid_nodes.lifecycle import DATA, stop_flag

JOINTS = 7


def main() -> None:
    from rclpy.experimental.events_executor import EventsExecutor

    rclpy.init()
    node = Node("echo")
    fields = ("position", "velocity", "acceleration", "effort")
    values = {f"{field}{end}": np.zeros(JOINTS) for field in fields for end in ("", "_sd")}
    state = serialize_message(
        FilteredJointState(name=[f"joint{j}" for j in range(JOINTS)], **values)
    )
    wrench = serialize_message(FilteredWrench())
    states = node.create_publisher(FilteredJointState, "~/filtered", DATA)
    wrenches = node.create_publisher(FilteredWrench, "~/wrench", DATA)
    node.create_subscription(
        JointState, "joint_states", lambda data: states.publish(state), DATA, raw=True
    )
    node.create_subscription(
        WrenchStamped, "wrench", lambda data: wrenches.publish(wrench), DATA, raw=True
    )
    executor = EventsExecutor()
    executor.add_node(node)
    with stop_flag() as stopped:
        while not stopped():
            executor.spin_once(timeout_sec=0.1)
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
