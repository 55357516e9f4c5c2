# SPDX-License-Identifier: Apache-2.0
"""rqt with the panels of robot_sysid, and PlotJuggler if installed: ros2 launch robot_sysid monitor.launch.py"""

import os
import shutil
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import Action, LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration


def start(context: LaunchContext) -> list:
    environment = {
        **os.environ,
        "SYSID_NAMESPACE": LaunchConfiguration("namespace").perform(context),
    }
    config = Path(get_package_share_directory("robot_sysid")) / "config"

    def program(name: str, package: str, *arguments: str) -> Action:
        found = shutil.which(name)
        if found is None:
            return LogInfo(
                msg=f"{name} isn't installed: sudo apt install ros-$ROS_DISTRO-{package}"
            )
        return ExecuteProcess(cmd=[found, *arguments], env=environment, output="screen")

    perspective, layout = config / "monitor.perspective", config / "plotjuggler.xml"
    return [
        program("rqt", "rqt-gui", "--force-discover", "--perspective-file", str(perspective)),
        program("plotjuggler", "plotjuggler-ros", "--layout", str(layout)),
    ]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the nodes"
            ),
            OpaqueFunction(function=start),
        ]
    )
