"""On a real robot: ros2 launch robot_sysid bringup.launch.py config:=config/bringup_ur.yaml

Nothing moves until a goal is sent to trajectory_executor/execute.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from sysid_nodes.bringup import read_config
from sysid_nodes.launching import launch_nodes


def start(context: LaunchContext) -> list:
    config = LaunchConfiguration("config").perform(context)
    namespace = LaunchConfiguration("namespace").perform(context)
    return launch_nodes(read_config(config, namespace=namespace))


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "config", description="YAML of the robot, see config/bringup_*.yaml"
            ),
            DeclareLaunchArgument("namespace", default_value="", description="of all nodes"),
            OpaqueFunction(function=start),
        ]
    )
