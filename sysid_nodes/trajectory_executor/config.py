# SPDX-License-Identifier: Apache-2.0
"""Parameters of the trajectory executor."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.errors import SysIdError
from sysid_core.signals import EffortKind
from sysid_nodes.lifecycle import CommonConfig, parameter
from sysid_nodes.trajectory_executor.arming import arm_timeout
from sysid_nodes.trajectory_executor.drive import CommandMode

NO_GROUND = -1000.0


@dataclass(frozen=True)
class TrajectoryExecutorConfig(CommonConfig):
    """Parameters of `trajectory_executor`."""

    command_mode: CommandMode = parameter(
        CommandMode.TOPIC, "Interface through which motions are sent to the robot."
    )
    action_name: str = parameter(
        "joint_trajectory_controller/follow_joint_trajectory",
        "Action of the robot's controller, for command_mode follow_joint_trajectory.",
    )
    rate_hz: float = parameter(
        100.0, "Rate of monitoring and streamed commands [Hz].", minimum=20.0, maximum=1000.0
    )
    tcp_frame: str = parameter("", "Link whose speed is limited; empty: the last link.", live=True)
    tcp_speed: float = parameter(
        0.25, "Limit of the TCP's speed [m/s].", minimum=0.01, maximum=5.0, live=True
    )
    acceleration: float = parameter(
        5.0, "Limit of every joint's acceleration [rad/s^2].", minimum=0.1, maximum=100.0, live=True
    )
    velocity_share: float = parameter(
        1.0,
        "Share of the URDF's velocity limits that motions may use.",
        minimum=0.01,
        maximum=1.0,
        live=True,
    )
    effort_share: float = parameter(
        1.0,
        "Share of the URDF's effort limits that motions may use.",
        minimum=0.01,
        maximum=1.0,
        live=True,
    )
    ground_height: float = parameter(
        -1000.0,
        "Height of the ground, below which nothing may move [m]; -1000 for no ground.",
        minimum=-1000.0,
        maximum=1000.0,
        live=True,
    )
    workspace: tuple[float, ...] = parameter(
        (),
        "Workspace box of the robot: x y z of two corners; list of numbers, 6 or none [m].",
        live=True,
    )
    self_collision: bool = parameter(True, "Enables the check of self-collisions.", live=True)
    effort_kind: EffortKind = parameter(
        EffortKind.UNKNOWN,
        "Kind of `effort` in joint_states; only torques are monitored.",
    )
    tracking_error: float = parameter(
        0.1,
        "Largest tracking error; the motion is aborted beyond it [rad or m].",
        minimum=0.001,
        maximum=1.0,
        live=True,
    )
    start_tolerance: float = parameter(
        0.02,
        "Largest distance from the start at which the motion may begin [rad or m]; choose a larger value for controllers with a steady-state error."
        "",
        minimum=0.001,
        maximum=0.5,
        live=True,
    )
    rest_velocity: float = parameter(
        0.02,
        "Speed below which a joint counts as at rest [rad/s or m/s]; choose a larger value for noisy velocities.",
        minimum=0.001,
        maximum=0.2,
        live=True,
    )
    max_force: float = parameter(
        200.0,
        "Largest measured force; the motion is aborted beyond it [N].",
        minimum=1.0,
        maximum=5000.0,
        live=True,
    )
    max_torque: float = parameter(
        30.0,
        "Largest measured torque; the motion is aborted beyond it [N m].",
        minimum=0.1,
        maximum=1000.0,
        live=True,
    )
    stale_s: float = parameter(
        0.2,
        "Largest age of joint_states; the motion is aborted beyond it [s].",
        minimum=0.01,
        maximum=2.0,
        live=True,
    )
    max_step_s: float = parameter(
        0.25,
        "Longest stall of the clock or of this process; the motion is aborted beyond it [s].",
        minimum=0.05,
        maximum=2.0,
        live=True,
    )
    slow_start_s: float = parameter(
        1.0,
        "Duration of the acceleration to full speed [s].",
        minimum=0.05,
        maximum=20.0,
        live=True,
    )
    stop_lead_s: float = parameter(
        0.5,
        "Minimum time by which a goal that stops the robot because of an exceeded limit is sent before it begins to brake [s]; only for controllers that receive whole trajectories."
        " A smaller value stops the robot earlier, but the command has a step if the goal is later than this.",
        minimum=0.0,
        maximum=1.0,
        live=True,
    )
    wrench_stale_s: float = parameter(
        0.5,
        "Largest age of the last wrench [s]; an older wrench aborts the motion. The age is not checked if no wrench has arrived since the node was started.",
        minimum=0.01,
        maximum=10.0,
        live=True,
    )
    require_wrench: bool = parameter(
        False, "Requires a measured wrench for every motion.", live=True
    )
    dead_man_s: float = parameter(
        0.65,
        "Dead-man time: if this node has died or is disconnected, the robot brakes this long after the last goal [s].",
        minimum=0.4,
        maximum=3.0,
        live=True,
    )
    without_dead_man: bool = parameter(
        False,
        "Permits motions in a command_mode in which the robot moves on, or stops abruptly, when this node dies."
        "",
    )
    arm_timeout_s: float = arm_timeout()
    trajectories: tuple[str, ...] = parameter(
        ("plan", "trajectories", "results", "explorations"),
        "Folders below which goals may name trajectories, relative to one of them or in full.",
    )
    limits_file: str = parameter(
        "",
        "Limits file of `sysid limits init`; replaces tcp_frame, tcp_speed, acceleration, velocity_share, effort_share,"
        " ground_height, workspace and self_collision.",
    )
    speed_scaling_topic: str = parameter(
        "",
        "Float64 topic with the robot's own speed scaling in percent, such as UR's; none: the robot"
        " has no slider; empty: it is estimated from the feedback of the controller's action.",
    )
    safety_inputs: tuple[str, ...] = parameter(
        (),
        "Conditions that must hold during motion, one text per input: TOPIC TYPE FIELD in VALUE,VALUE [within"
        " SECONDS].",
    )
    enable_topic: str = parameter(
        "",
        "Bool topic that must be true while moving, such as UR's robot_program_running; empty: none.",
    )

    @property
    def rolls(self) -> bool:
        """True if every goal sent to the robot ends at rest, so that the robot stops if this node
        dies.
        """
        return self.command_mode is CommandMode.FOLLOW or (
            self.command_mode is CommandMode.TOPIC and bool(self.speed_scaling_topic)
        )

    @property
    def no_dead_man(self) -> str:
        """Behaviour of the robot if this node dies; empty if a dead-man timeout stops the robot."""
        if self.command_mode is CommandMode.TOPIC and not self.rolls:
            return "when this node dies, the robot executes its trajectory to the end"
        if self.command_mode is CommandMode.POSITION:
            return "when this node dies, the robot stops at once, without a ramp"
        return ""

    def require_dead_man(self) -> None:
        """Raise an error unless a dead-man timeout stops the robot, or motions without it are
        permitted.

        Raises:
            SysIdError: The mode has no dead-man function, and `without_dead_man` is false.
        """
        if self.no_dead_man and not self.without_dead_man:
            raise SysIdError(
                f"command_mode {self.command_mode.value} has no dead-man function: {self.no_dead_man}.",
                remedy="Use command_mode follow_joint_trajectory; or set speed_scaling_topic ('none'"
                " for a robot without a slider) in joint_trajectory; or without_dead_man: true where nobody can be injured, as in simulation."
                "",
            )
