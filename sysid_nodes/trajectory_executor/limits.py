# SPDX-License-Identifier: Apache-2.0
"""Limits and settings of motions, from the parameters of the executor."""

from __future__ import annotations

from typing import Any, Protocol

from sysid_core.execution import ExecutorSettings, MonitorLimits
from sysid_core.planning import LimitsFile, MotionLimits
from sysid_core.robot import RobotModel
from sysid_nodes.lifecycle import ParameterError
from sysid_nodes.trajectory_executor.config import NO_GROUND, TrajectoryExecutorConfig
from sysid_nodes.trajectory_executor.drive import CommandMode
from sysid_nodes.trajectory_executor.inputs import NO_SCALING

RESEND = 0.15  # share of the dead-man's time between two goals


class LimitsConfig(Protocol):
    """Parameters for motion limits, common to the executor and the planning nodes."""

    @property
    def limits_file(self) -> str:
        """Path of the limits file of `sysid limits init`; empty if there is none."""

    @property
    def tcp_frame(self) -> str:
        """Frame with limited speed; empty for the last frame."""


def planning_limits(config: LimitsConfig, model: RobotModel, **others: Any) -> MotionLimits:
    """Return the motion limits of the limits file, or of the URDF if there is no file.

    Args:
        config: Configuration with the path of the limits file.
        model: Robot model.
        others: Further limits, used without a file; see `MotionLimits.from_model`.

    Raises:
        SysIdError: A limit is invalid; no limit is ignored silently.
    """
    if config.limits_file:
        return LimitsFile.read(config.limits_file, model)
    return MotionLimits.from_model(model, tcp_frame=config.tcp_frame or None, **others)


def motion_limits(config: TrajectoryExecutorConfig, model: RobotModel) -> MotionLimits:
    """Return the limits that every motion of the robot must respect.

    Raises:
        SysIdError: A limit is invalid; no limit is ignored silently.
    """
    corners = tuple(float(x) for x in config.workspace)
    if len(corners) not in (0, 6):
        raise ParameterError(
            f"Parameter 'workspace' has {len(corners)} numbers.",
            remedy="Give six numbers (x y z of the lower corner, then of the upper corner), or none.",
        )
    return planning_limits(
        config,
        model,
        acceleration=config.acceleration,
        velocity_share=config.velocity_share,
        effort_share=config.effort_share,
        tcp_speed=config.tcp_speed,
        ground_height=config.ground_height if config.ground_height > NO_GROUND else None,
        workspace=(corners[:3], corners[3:]) if corners else None,
        self_collision=config.self_collision,
    )


def monitor_limits(config: TrajectoryExecutorConfig, limits: MotionLimits) -> MonitorLimits:
    """Return the limits that abort a running motion when they are exceeded."""
    return MonitorLimits.from_limits(
        limits,
        tracking_error=config.tracking_error,
        force=config.max_force,
        torque=config.max_torque,
        stale_after=config.stale_s,
        # Where the robot gets goals that last, a short stall of this process harms nobody.
        max_step=max(config.max_step_s, 0.6 * config.dead_man_s)
        if config.rolls
        else config.max_step_s,
        wrench_stale_after=config.wrench_stale_s,
    )


def executor_settings(config: TrajectoryExecutorConfig, speed_scale: float) -> ExecutorSettings:
    """Return the settings for playing a motion.

    Args:
        config: Parameters of the executor.
        speed_scale: Fraction of the planned speed.
    """
    holds = config.command_mode is CommandMode.POSITION  # set points are extrapolated instead
    return ExecutorSettings(
        speed_scale=speed_scale,
        longest_step=2.0 / config.rate_hz if holds else float("inf"),
        slow_start=config.slow_start_s,
        start_tolerance=config.start_tolerance,
        rest_velocity=config.rest_velocity,
        horizon=config.dead_man_s if config.command_mode.takes_whole else 0.0,
        guarded=config.command_mode is CommandMode.GUARD,
        resend=RESEND * config.dead_man_s,
        stop_lead=config.stop_lead_s,
        clocked=config.command_mode is CommandMode.FOLLOW,
        slider=config.speed_scaling_topic not in ("", NO_SCALING),
    )


def limits_in_force(config: TrajectoryExecutorConfig, limits: MotionLimits) -> list[str]:
    """Return all active limits as text, one per line."""
    motion = limits.as_dict()
    motion.pop("notes", None)
    rows = [f"motion {key}: {_short(value)}" for key, value in motion.items()]
    rows += [
        f"monitor {key}: {_short(value)}"
        for key, value in monitor_limits(config, limits).as_dict().items()
    ]
    dead_man = f"{config.dead_man_s:g} s"
    if config.command_mode is CommandMode.GUARD:
        dead_man = "of the motion guard: its executor_timeout"
    elif not config.rolls:
        dead_man = config.no_dead_man or "of the controller that receives the set points"
    return [*rows, f"dead-man: {dead_man}", *(f"safety input: {x}" for x in config.safety_inputs)]


def _short(value: object) -> str:
    if value in (None, [], ()):
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_short(x) for x in value) + "]"
    return str(value)
