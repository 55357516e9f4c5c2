# SPDX-License-Identifier: Apache-2.0
"""rqt with the panels of robot_sysid, and PlotJuggler if installed: ros2 launch robot_sysid monitor.launch.py"""

import os
import shutil
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration


def start(context: LaunchContext) -> list:
    namespace = LaunchConfiguration("namespace").perform(context)
    config = Path(get_package_share_directory("robot_sysid")) / "config"
    environment = {**os.environ, "SYSID_NAMESPACE": namespace}
    actions: list = [
        ExecuteProcess(
            cmd=[
                shutil.which("rqt") or "rqt",
                "--force-discover",
                "--perspective-file",
                str(config / "monitor.perspective"),
            ],
            env=environment,
            output="screen",
        )
    ]
    plotjuggler = shutil.which("plotjuggler")
    if plotjuggler:
        layout = str(config / "plotjuggler.xml")
        actions.append(ExecuteProcess(cmd=[plotjuggler, "--layout", layout], output="screen"))
    else:
        actions.append(
            LogInfo(
                msg="plotjuggler isn't installed: sudo apt install ros-$ROS_DISTRO-plotjuggler-ros"
            )
        )
    return actions


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the nodes"
            ),
            OpaqueFunction(function=start),
        ]
    )
