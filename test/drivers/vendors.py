# SPDX-License-Identifier: Apache-2.0
"""Facts about the vendors' drivers: names, frames, rates, gains; each with its source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatch


@dataclass(frozen=True)
class States:
    """One topic of joint states: its rate [Hz], and which joints are on it."""

    topic: str
    rate: float
    joints: tuple[str, ...] = ("*",)

    def has(self, joint: str) -> bool:
        """True if a joint belongs to it."""
        return any(fnmatch(joint, pattern) for pattern in self.joints)


@dataclass(frozen=True)
class Vendor:
    """A driver. Tolerances in rad, bandwidth of the robot's own servo in rad/s."""

    action: str
    states: tuple[States, ...]
    driven: tuple[str, ...]
    wrench_topic: str
    wrench_frame: str
    wrench_rate: float
    period: float
    start: tuple[float, ...]
    path_tolerance: float = 0.0
    goal_tolerance: float = 0.0
    bandwidth: float = 66.0
    gains: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    scaling_topic: str = ""
    safety_inputs: tuple[str, ...] = ()
    deceleration_on_cancel: float | None = None
    mounting: tuple[str, float] | None = None  # of the sensor by tf_static: link, height [m]
    controller_frame: tuple[str, str] | None = (
        None  # of the wrench, by tf: in which, and the flange
    )

    def drives(self, joint: str) -> bool:
        """True if the controller moves a joint."""
        return any(fnmatch(joint, pattern) for pattern in self.driven)


ARM = ("panda_joint?", "fr3_joint?")  # not the fingers

UR = Vendor(
    # Universal_Robots_ROS2_Driver, branch jazzy at a16a2687 (2026-07-23):
    # ur_robot_driver/config/ur_controllers.yaml: scaled_joint_trajectory_controller, position
    # command, position and velocity state, action_monitor_rate 20, trajectory 0.2, goal 0.1,
    # stopped_velocity_tolerance 0.2; frame_id tool0_controller; update rate 500 Hz (e-Series).
    # ur_controllers/src/speed_scaling_state_broadcaster.cpp: std_msgs/Float64 in percent, 100 Hz.
    # gpio_controller.cpp: robot_program_running std_msgs/Bool, latched.
    # servoj looks ahead 0.03 s: a robot that is late by about that.
    # tcp_pose_broadcaster: tool0_controller in base on /tf, by the controller's own kinematics and tool.
    action="/scaled_joint_trajectory_controller/follow_joint_trajectory",
    states=(States("/joint_states", 500.0),),
    driven=(
        "shoulder_pan_joint",
        "shoulder_lift_joint",
        "elbow_joint",
        "wrist_?_joint",
    ),
    wrench_topic="/force_torque_sensor_broadcaster/wrench",
    wrench_frame="tool0_controller",
    controller_frame=("base", "tool0"),
    wrench_rate=500.0,
    period=0.002,
    start=(0.0, -1.2, 1.2, -1.2, -1.5, 0.0),
    path_tolerance=0.2,
    goal_tolerance=0.1,
    scaling_topic="/speed_scaling_state_broadcaster/speed_scaling",
    safety_inputs=(
        "/io_and_status_controller/robot_program_running std_msgs/msg/Bool data in true",
        "/io_and_status_controller/safety_mode ur_dashboard_msgs/msg/SafetyMode mode in 1,2",
    ),
)

FRANKA = Vendor(
    # franka_ros2 at 43357d15: franka_fr3_moveit_config/config/fr3_ros_controllers.yaml:
    # fr3_arm_controller, effort command with these p and d, 1 kHz; moveit.launch.py: load_gripper
    # true, joint_state_publisher merges franka/joint_states and the gripper's at 30 Hz.
    action="/fr3_arm_controller/follow_joint_trajectory",
    states=(
        States("/franka/joint_states", 500.0, ARM),
        States("/joint_states", 30.0),
    ),
    driven=ARM,
    wrench_topic="/wrench",
    wrench_frame="fr3_link8",
    wrench_rate=500.0,
    period=0.002,  # half of its rate: two cores have to do with it
    start=(0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
    gains=(
        (600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0),
        (30.0, 30.0, 30.0, 30.0, 10.0, 10.0, 5.0),
    ),
    safety_inputs=(
        "/franka_robot_state_broadcaster/robot_state franka_msgs/msg/FrankaRobotState robot_mode"
        " in 1,2 within 0.5",
    ),
)

XARM = Vendor(
    # xarm_ros2 at 3654ba7b: xarm_controller/config/xarm7_controllers.yaml: 50 Hz, position and
    # velocity command, trajectory 1.0, goal 0.01; xarm_driver.cpp: frame uf_ft_sensor_raw_data,
    # 100 Hz with report_type dev. /joint_states comes from joint_state_publisher at 10 Hz with
    # xarm7_moveit_realmove, /xarm/joint_states at 100 Hz with dev.
    action="/xarm7_traj_controller/follow_joint_trajectory",
    states=(States("/xarm/joint_states", 100.0, ("joint?",)), States("/joint_states", 10.0)),
    driven=("joint?",),
    wrench_topic="/xarm/uf_ftsensor_raw_states",
    wrench_frame="uf_ft_sensor_raw_data",
    wrench_rate=100.0,
    period=0.004,
    start=(0.0, -0.5, 0.0, 0.8, 0.0, 1.3, 0.0),
    path_tolerance=1.0,
    goal_tolerance=0.01,
    bandwidth=60.0,
    safety_inputs=(
        "/xarm/robot_states xarm_msgs/msg/RobotMsg err in 0 within 1.0",
        "/xarm/robot_states xarm_msgs/msg/RobotMsg state in 0,1,2 within 1.0",
    ),
)

DIGIT = Vendor(
    # A leg with rods: motors and some joints measured, rods not (see test data `digit`).
    action="/leg_controller/follow_joint_trajectory",
    states=(States("/joint_states", 500.0, ARM),),
    driven=ARM,
    wrench_topic="/wrench",
    wrench_frame="toe",
    wrench_rate=100.0,
    period=0.002,
    start=(0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
    bandwidth=100.0,
    deceleration_on_cancel=5.0,  # `decelerate_on_cancel: true`
)

_LEG = ("hip_*", "knee", "tarsus", "toe_a", "toe_b", "toe_pitch", "toe_roll")  # not the rods
LEG = replace(
    # Rods as they are: `own_leg.urdf`, with a sensor that only tf_static knows.
    DIGIT,
    states=(States("/joint_states", 500.0, _LEG),),
    driven=_LEG,
    start=(0.0,) * 9,
    mounting=("toe_roll_link", 0.03),
)

VENDORS = {"ur": UR, "franka": FRANKA, "xarm": XARM, "digit": DIGIT, "leg": LEG}
