"""The simulated robot and the three nodes: ros2 launch robot_sysid demo.launch.py

Nothing moves until a goal is sent to trajectory_executor/execute.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from sysid_nodes import graph
from sysid_nodes.launching import launch_nodes


def start(context: LaunchContext) -> list:
    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    specs = graph.demo(
        namespace=value("namespace"),
        robot={"robot": value("robot"), "sensor_frame": value("sensor_frame")},
        executor={"tcp_frame": value("sensor_frame")},
        logger={"effort_kind": "actuator_torque"},
        estimator={"sensor_frame": value("sensor_frame"), "shape": value("shape")},
    )
    return launch_nodes(specs)


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="of all nodes"),
            DeclareLaunchArgument("robot", default_value="xarm7", description="URDF or name"),
            DeclareLaunchArgument(
                "sensor_frame", default_value="link_eef", description="of the F/T sensor"
            ),
            DeclareLaunchArgument("shape", default_value="", description="of the payload"),
            OpaqueFunction(function=start),
        ]
    )
