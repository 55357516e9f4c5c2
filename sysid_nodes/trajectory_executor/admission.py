# SPDX-License-Identifier: Apache-2.0
"""Conditions that must hold before a motion starts."""

from __future__ import annotations

from robot_sysid.action import ExecuteTrajectory

from sysid_core.errors import SysIdError
from sysid_core.execution import Executor
from sysid_core.planning import Trajectory, check_motion
from sysid_core.robot import RobotModel
from sysid_nodes.security import existing_inside
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig
from sysid_nodes.trajectory_executor.drive import RobotDrive
from sysid_nodes.trajectory_executor.inputs import RobotState
from sysid_nodes.trajectory_executor.limits import executor_settings, monitor_limits, motion_limits
from sysid_nodes.trajectory_executor.safety_inputs import SafetyInputs


class Admission:
    """Check of all conditions for the start of a motion.

    Args:
        drive: Command interface of the robot.
        robot: Newest state of the robot.
        safety: Safety conditions that must be fulfilled.
    """

    def __init__(self, drive: RobotDrive, robot: RobotState, safety: SafetyInputs) -> None:
        self.drive, self.robot, self.safety = drive, robot, safety

    def ready(self, model: RobotModel | None, check_only: bool) -> bool:
        """Return True if all conditions of a goal are met, or may be met soon."""
        there = self.robot.measured is not None and self.drive.ready
        return model is not None and (check_only or there)

    def admit(
        self,
        request: ExecuteTrajectory.Goal,
        model: RobotModel | None,
        config: TrajectoryExecutorConfig,
        now: float,
    ) -> Executor:
        """Create the executor of a goal, ready to check it.

        Raises:
            SysIdError: The goal is refused; the error contains the reason and the recommended
                action.
        """
        if model is None:
            raise SysIdError(
                "No robot_description has arrived.",
                remedy="Start robot_state_publisher, remap robot_description, or set `robot`.",
            )
        scale = request.speed_scale
        if not (request.check_only or 0.0 < scale <= 1.0):
            raise SysIdError(
                f"A speed_scale of {scale:g} is invalid.",
                remedy="Give the share of the planned speed, above 0 and at most 1; begin with 0.2."
                "",
            )
        if not request.check_only:
            self._require_robot(model, config, now)
        trajectory = _load(request.trajectory_file, config.trajectories).without_held(model)
        trajectory.belongs_to(model)
        limits = motion_limits(config, model)
        if request.check_only:
            check_motion(model, trajectory, limits).raise_if_unsafe()
        settings = executor_settings(config, scale if scale > 0.0 else 1.0)
        return Executor(model, trajectory, limits, monitor_limits(config, limits), settings)

    def forbidden(self, now: float) -> tuple[str, str] | None:
        """Return the reason why the robot must not move now, and what to do; None if it may."""
        if words := self.safety.problem(now):
            return words, "resume the robot at its controller first"
        if words := self.robot.problem:
            return (
                words,
                "end the other node that publishes it (`ros2 topic info -v`), or check the encoders",
            )
        return None

    def _require_robot(
        self, model: RobotModel, config: TrajectoryExecutorConfig, now: float
    ) -> None:
        """Raise an error unless the state of the robot is known, motions are permitted, and the
        robot receives commands.
        """
        config.require_dead_man()
        if forbidden := self.forbidden(now):
            words, remedy = forbidden
            raise SysIdError(f"{words}.", remedy=f"{remedy[0].upper()}{remedy[1:]}.")
        if self.robot.measured is None:
            others = f", only of {list(self.robot.others)}" if self.robot.others else ""
            raise SysIdError(
                f"No joint state of {model.name} has arrived{others}.",
                remedy="Check that the driver is running, that joint_states is remapped to its topic, and that robot_description belongs to the same robot (joint names, prefix)."
                "",
            )
        self.robot.begin()
        if config.require_wrench and not self.robot.has_wrench:
            raise SysIdError(
                "No wrench has arrived.",
                remedy="Check that the driver of the sensor is running, and that wrench is remapped to its topic.",
            )
        self.drive.begin()


def _load(name: str, folders: tuple[str, ...]) -> Trajectory:
    """Read a trajectory from a regular file; a pipe is refused, because it would block the
    executor.

    Raises:
        SysIdError: The file does not exist, is not permitted, or is not a trajectory.
    """
    path = existing_inside(folders, name, "The trajectory")
    if not path.is_file():
        raise SysIdError(
            f"Can't read the trajectory '{name}': it is not a file.",
            remedy="Create it with `sysid plan`.",
        )
    return Trajectory.load(path)
