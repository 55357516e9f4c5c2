# SPDX-License-Identifier: Apache-2.0
"""Nodes for a real robot: ros2 launch robot_sysid bringup.launch.py config:=bringup_ur.yaml

`config` is a path, or the name of a file that comes with the package. Nothing moves until a goal is
sent to trajectory_executor/execute. A node that has failed is restarted.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from sysid_nodes.bringup import read_config

ARGUMENTS = {
    "config": (None, "Configuration file of the robot: a path, or a name such as bringup_ur.yaml"),
    "namespace": ("", "Namespace of all nodes and of relative topics"),
    "use_sim_time": ("false", "Use the time of /clock, for example with a replayed bag"),
    "autostart": (
        "true",
        "Configure and activate the nodes immediately; false: a lifecycle manager does this",
    ),
    "respawn": ("true", "Restart a node that has failed"),
}


def start(context: LaunchContext) -> list:
    value = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    yes = {name: text.lower() in ("true", "1") for name, text in value.items()}
    specs = read_config(
        value["config"],
        namespace=value["namespace"],
        **({"use_sim_time": True} if yes["use_sim_time"] else {}),
        **({} if yes["autostart"] else {"autostart": False}),
    )
    return [spec.launched(respawn=yes["respawn"]) for spec in specs]


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])
