# SPDX-License-Identifier: Apache-2.0
"""The simulated robot and the three nodes: ros2 launch robot_sysid demo.launch.py

The robot holds the hammer of `sysid up demo`; with payload:=none, it holds nothing.
With controller:=true, computed_torque_controller controls the robot with efforts.
Nothing moves until a goal is sent to trajectory_executor/execute.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from sysid_nodes.bringup import demo_graph

# Nadeau et al. (2022), modular object: mass [kg], first moments [kg m], inertia [kg m^2].
HAMMER = "1.11207,0,0.0420469,0.0278017,0.01416,0,0.00324113,0,-0.00105117,0.0156664"


def start(context: LaunchContext) -> list:
    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    controlled = value("controller").lower() in ("true", "1")
    # Before the identification, the controller has large tracking errors.
    driven = {"command_mode": "setpoint_stream", "tracking_error": 1.0, "start_tolerance": 0.4}
    held = HAMMER if value("payload") == "hammer" else value("payload")
    payload = () if held == "none" else tuple(float(x) for x in held.split(","))
    specs = demo_graph(
        namespace=value("namespace"),
        robot={
            "robot": value("robot"),
            "sensor_frame": value("sensor_frame"),
            **({"payload": payload} if payload else {}),
        },
        executor={"tcp_frame": value("sensor_frame")} | (driven if controlled else {}),
        # Drives of the simulated robot; without them, the gains do not overcome friction.
        controller={"drive_inertia": 0.05} if controlled else None,
        logger={"effort_kind": "actuator_torque"},
        estimator={"sensor_frame": value("sensor_frame"), "shape": value("shape")},
    )
    return [spec.launched() for spec in specs]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of all nodes"
            ),
            DeclareLaunchArgument(
                "robot", default_value="xarm7", description="URDF file or robot name"
            ),
            DeclareLaunchArgument(
                "sensor_frame", default_value="link_eef", description="Frame of the F/T sensor"
            ),
            DeclareLaunchArgument(
                "payload",
                default_value="hammer",
                description="Payload: hammer, none, or m,mx,my,mz,Ixx,Ixy,Iyy,Ixz,Iyz,Izz in the sensor frame",
            ),
            DeclareLaunchArgument("shape", default_value="", description="Shape of the payload"),
            DeclareLaunchArgument(
                "controller",
                default_value="false",
                description="Control the robot with computed torque",
            ),
            OpaqueFunction(function=start),
        ]
    )
