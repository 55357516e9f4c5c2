# SPDX-License-Identifier: Apache-2.0
"""Parameters of the trajectory executor, and the core's settings that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_core.excitation import MotionLimits, read_limits
from sysid_core.excitation.execution import ExecutorSettings, MonitorLimits
from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind
from sysid_nodes.lifecycle import ParameterError, parameter

FOLLOW, TOPIC, POSITION, SETPOINT = (
    "follow_joint_trajectory",
    "joint_trajectory",
    "position_stream",
    "setpoint_stream",
)
MODES = (FOLLOW, TOPIC, POSITION, SETPOINT)
NO_SCALING = "none"


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
    tcp_frame: str = parameter("", "Link whose speed is limited; empty: the last.", live=True)
    tcp_speed: float = parameter(
        0.25, "Limit of the TCP's speed [m/s].", minimum=0.01, maximum=5.0, live=True
    )
    acceleration: float = parameter(
        5.0, "Limit of every joint's acceleration [rad/s^2].", minimum=0.1, maximum=100.0, live=True
    )
    velocity_share: float = parameter(
        1.0, "Share of the URDF's velocity limits.", minimum=0.01, maximum=1.0, live=True
    )
    effort_share: float = parameter(
        1.0, "Share of the URDF's effort limits.", minimum=0.01, maximum=1.0, live=True
    )
    ground_height: float = parameter(
        -1000.0,
        "Nothing moves below it [m]; -1000 for no ground.",
        minimum=-1000.0,
        maximum=1000.0,
        live=True,
    )
    workspace: tuple[float, ...] = parameter(
        (),
        "Box that holds the robot: x y z of two corners; list of numbers, 6 or none [m].",
        live=True,
    )
    self_collision: bool = parameter(
        True, "Whether contact of the robot with itself is checked.", live=True
    )
    effort_kind: str = parameter(
        "unknown",
        "What `effort` of joint_states means; torques are monitored, anything else isn't.",
        choices=tuple(kind.value for kind in EffortKind),
    )
    tracking_error: float = parameter(
        0.1, "Abort beyond it [rad or m].", minimum=0.001, maximum=1.0, live=True
    )
    start_tolerance: float = parameter(
        0.02,
        "Begin the motion within this distance from its start [rad or m]; controllers that hold"
        " badly need more.",
        minimum=0.001,
        maximum=0.5,
        live=True,
    )
    max_force: float = parameter(
        200.0, "Abort beyond this measured force [N].", minimum=1.0, live=True
    )
    max_torque: float = parameter(
        30.0, "Abort beyond this measured torque [N m].", minimum=0.1, live=True
    )
    stale_s: float = parameter(
        0.2, "Abort when joint_states are older [s].", minimum=0.01, maximum=2.0, live=True
    )
    max_step_s: float = parameter(
        0.25,
        "Abort when the clock (or this process) stalls for longer [s].",
        minimum=0.05,
        maximum=2.0,
        live=True,
    )
    slow_start_s: float = parameter(
        1.0, "Time in which the speed rises to full [s].", minimum=0.05, maximum=20.0, live=True
    )
    stop_lead_s: float = parameter(
        0.05,
        "Time that a stop needs to reach a whole-trajectory controller [s].",
        minimum=0.0,
        maximum=1.0,
        live=True,
    )
    wrench_stale_s: float = parameter(
        0.5,
        "Abort when the wrench of a sensor that has measured is older [s].",
        minimum=0.01,
        maximum=10.0,
        live=True,
    )
    require_wrench: bool = parameter(
        False, "Whether a motion needs a wrench that is measured.", live=True
    )
    dead_man_s: float = parameter(
        0.8,
        "The robot brakes so long after the last goal of a node that died or was cut off [s].",
        minimum=0.4,
        maximum=3.0,
        live=True,
    )
    arm_timeout_s: float = parameter(
        30.0, "How long a token of ~/arm is good [s].", minimum=1.0, maximum=600.0
    )
    limits_file: str = parameter(
        "",
        "Limits file of `sysid limits init`; replaces tcp_frame, tcp_speed, acceleration, the shares,"
        " ground_height, workspace and self_collision.",
    )
    speed_scaling_topic: str = parameter(
        "",
        "Float64 topic with the robot's own speed scaling in percent, such as UR's; none: the robot"
        " has no slider; empty: only the controller's action says it.",
    )
    safety_inputs: tuple[str, ...] = parameter(
        (),
        "What must be true while moving, a text per input: TOPIC TYPE FIELD in VALUE,VALUE [within"
        " SECONDS].",
    )
    enable_topic: str = parameter(
        "",
        "Bool topic that must be true while moving, such as UR's robot_program_running; empty: none.",
    )

    def motion_limits(self, model: RobotModel) -> MotionLimits:
        """What every motion of the robot must keep to.

        Raises:
            SysIdError: A limit is malformed: none is ever left out in silence.
        """
        if self.limits_file:
            return read_limits(self.limits_file, model)
        corners = tuple(float(x) for x in self.workspace)
        if len(corners) not in (0, 6):
            raise ParameterError(
                f"Parameter 'workspace' has {len(corners)} numbers.",
                remedy="Give 6, x y z of the lower and of the upper corner, or none.",
            )
        return MotionLimits.from_model(
            model,
            acceleration=self.acceleration,
            velocity_share=self.velocity_share,
            effort_share=self.effort_share,
            tcp_frame=self.tcp_frame or None,
            tcp_speed=self.tcp_speed,
            ground_height=self.ground_height if self.ground_height > -1000.0 else None,
            workspace=(corners[:3], corners[3:]) if corners else None,  # type: ignore[arg-type]
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
            # Where the robot gets goals that last, a short stall of this process harms nobody.
            max_step=max(self.max_step_s, 0.6 * self.dead_man_s) if self.rolls else self.max_step_s,
            wrench_stale_after=self.wrench_stale_s,
        )

    @property
    def rolls(self) -> bool:
        """Whether the robot gets goals that each end at rest, so that it stops without this node."""
        return self.command_mode == FOLLOW or (
            self.command_mode == TOPIC and bool(self.speed_scaling_topic)
        )

    def settings(self, speed_scale: float, *, latency: float, blends: bool) -> ExecutorSettings:
        """How a motion is played.

        Args:
            speed_scale: Share of the planned speed.
            latency: Time that a goal takes to the controller [s].
            blends: Whether the controller goes on from what it commands when a goal replaces one.
        """
        whole = self.command_mode in (FOLLOW, TOPIC)
        return ExecutorSettings(
            speed_scale=speed_scale,
            slow_start=self.slow_start_s,
            start_tolerance=self.start_tolerance,
            horizon=self.dead_man_s if whole else 0.0,
            resend=0.25 * self.dead_man_s,
            stop_lead=self.stop_lead_s,
            splice_ahead=0.1 if blends else 0.0,
            clocked=self.command_mode == FOLLOW,
            latency=latency,
        )

    def in_force(self, limits: MotionLimits) -> list[str]:
        """Every limit in force, one a line."""
        motion = limits.as_dict()
        motion.pop("notes", None)
        rows = [f"motion {key}: {_short(value)}" for key, value in motion.items()]
        rows += [
            f"monitor {key}: {_short(value)}"
            for key, value in self.monitor_limits(limits).as_dict().items()
        ]
        dead_man = f"{self.dead_man_s:g} s" if self.rolls else "none in this command_mode"
        return [*rows, f"dead-man: {dead_man}", *(f"safety input: {x}" for x in self.safety_inputs)]


def _short(value: object) -> str:
    if value in (None, [], ()):
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_short(x) for x in value) + "]"
    return str(value)
