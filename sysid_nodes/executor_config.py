# SPDX-License-Identifier: Apache-2.0
"""Parameters of the trajectory executor, and the core's settings that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.excitation import MotionLimits
from sysid_core.excitation.execution import ExecutorSettings, MonitorLimits
from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind
from sysid_nodes.lifecycle import parameter
from sysid_nodes.robot_drive import MODES


@dataclass(frozen=True)
class TrajectoryExecutorConfig:
    """Parameters of `trajectory_executor`."""

    robot: str = parameter("", "URDF file or name; empty: wait for robot_description.")
    command_mode: str = parameter("joint_trajectory", "How the robot is driven.", choices=MODES)
    action_name: str = parameter(
        "joint_trajectory_controller/follow_joint_trajectory",
        "Action of the robot's controller, for command_mode follow_joint_trajectory.",
    )
    rate_hz: float = parameter(
        100.0, "Of monitoring and streamed commands [Hz].", minimum=20.0, maximum=1000.0
    )
    tcp_frame: str = parameter("", "Link whose speed is limited; empty: the last.")
    tcp_speed: float = parameter(0.25, "Limit of the TCP's speed [m/s].", minimum=0.01, maximum=5.0)
    acceleration: float = parameter(
        5.0, "Limit of every joint's acceleration [rad/s^2].", minimum=0.1, maximum=100.0
    )
    velocity_share: float = parameter(
        1.0, "Share of the URDF's velocity limits.", minimum=0.01, maximum=1.0
    )
    effort_share: float = parameter(
        1.0, "Share of the URDF's effort limits.", minimum=0.01, maximum=1.0
    )
    ground_height: float = parameter(
        -1000.0, "Nothing moves below it [m]; -1000 for no ground.", minimum=-1000.0, maximum=1000.0
    )
    workspace: tuple[float, ...] = parameter(
        (), "Box that holds the robot: x y z of two corners; list of numbers, 6 or none [m]."
    )
    self_collision: bool = parameter(True, "Whether contact of the robot with itself is checked.")
    effort_kind: str = parameter(
        "unknown",
        "What `effort` of joint_states means; torques are monitored, anything else isn't.",
        choices=tuple(kind.value for kind in EffortKind),
    )
    tracking_error: float = parameter(
        0.1, "Abort beyond it [rad or m].", minimum=0.001, maximum=1.0
    )
    start_tolerance: float = parameter(
        0.02,
        "Begin the motion within this distance from its start [rad or m]; controllers that hold"
        " badly need more.",
        minimum=0.001,
        maximum=0.5,
    )
    max_force: float = parameter(200.0, "Abort beyond this measured force [N].", minimum=1.0)
    max_torque: float = parameter(30.0, "Abort beyond this measured torque [N m].", minimum=0.1)
    stale_s: float = parameter(
        0.2, "Abort when joint_states are older [s].", minimum=0.01, maximum=2.0
    )
    max_step_s: float = parameter(
        0.25,
        "Abort when the clock (or this process) stalls for longer [s].",
        minimum=0.05,
        maximum=2.0,
    )
    slow_start_s: float = parameter(
        1.0, "Time in which the speed rises to full [s].", minimum=0.05, maximum=20.0
    )
    stop_lead_s: float = parameter(
        0.05,
        "Time that a stop needs to reach a whole-trajectory controller [s].",
        minimum=0.0,
        maximum=1.0,
    )
    enable_topic: str = parameter(
        "",
        "Bool topic that must be true while moving, such as UR's robot_program_running; empty: none.",
    )

    def motion_limits(self, model: RobotModel) -> MotionLimits:
        """What every motion of the robot must keep to."""
        corners = tuple(self.workspace)
        return MotionLimits.from_model(
            model,
            acceleration=self.acceleration,
            velocity_share=self.velocity_share,
            effort_share=self.effort_share,
            tcp_frame=self.tcp_frame or None,
            tcp_speed=self.tcp_speed,
            ground_height=self.ground_height if self.ground_height > -1000.0 else None,
            workspace=(corners[:3], corners[3:]) if len(corners) == 6 else None,  # type: ignore[arg-type]
            self_collision=self.self_collision,
        )

    def monitor_limits(self, limits: MotionLimits) -> MonitorLimits:
        """When a running motion is aborted."""
        return MonitorLimits.from_limits(
            limits,
            tracking_error=self.tracking_error,
            force=self.max_force,
            torque=self.max_torque,
            stale_after=self.stale_s,
            max_step=self.max_step_s,
        )

    def settings(self, speed_scale: float, takes_whole: bool) -> ExecutorSettings:
        """How a motion is played."""
        return ExecutorSettings(
            speed_scale=speed_scale,
            slow_start=self.slow_start_s,
            start_tolerance=self.start_tolerance,
            stop_lead=self.stop_lead_s if takes_whole else 0.0,
        )
