# SPDX-License-Identifier: Apache-2.0
"""The explorer: an experiment that ends when enough is known.

It plans pieces of motion and has the trajectory executor check and play them; nothing moves without
a goal with a token of `~/arm`. It isn't part of the usual graph: who wants it starts it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import ExecuteTrajectory, Explore
from robot_sysid.msg import FilteredJointState
from robot_sysid.srv import Arm

from sysid_core.errors import SysIdError
from sysid_core.excitation import (
    MotionChecker,
    MotionLimits,
    Trajectory,
    Unknowns,
    export_trajectory,
    read_limits,
)
from sysid_core.excitation.design import Ending, Explorer, Goal
from sysid_core.robot import RobotModel
from sysid_nodes.confined import new_inside
from sysid_nodes.execution import Arming
from sysid_nodes.exploring import PlayedMotion
from sysid_nodes.lifecycle import DATA, ManagedNode, parameter, run_node

_FRESH_S = 0.5  # age of the joint state from which a piece begins
_ANSWER_S = 20.0  # for the executor to take a goal
_LONGEST_PIECE_S, _PLANNING_S = 600.0, 600.0


@dataclass(frozen=True)
class ExplorerConfig:
    """Parameters of `explorer`."""

    robot: str = parameter("", "URDF file or name; empty: wait for robot_description.")
    limits_file: str = parameter(
        "", "Limits file of `sysid limits init`, the executor's; empty: those of the URDF."
    )
    tcp_frame: str = parameter("", "Tool frame where there is no limits file; empty: the last.")
    directory: str = parameter("explorations", "Folder below which the pieces are written.")
    period_s: float = parameter(4.0, "Duration of a piece [s].", minimum=1.0, maximum=60.0)
    arm_timeout_s: float = parameter(
        30.0, "How long a token of ~/arm is good [s].", minimum=1.0, maximum=600.0
    )
    iterations: int = parameter(
        40, "Iterations of each piece's improvement.", minimum=0, maximum=1000
    )


class ExplorerNode(ManagedNode):
    """Serves `~/explore`, one goal at a time, and `~/arm`."""

    Config = ExplorerConfig

    def __init__(self) -> None:
        super().__init__("explorer")
        self._motion = PlayedMotion()
        self._playing: Any = None  # goal handle of the executor's action
        self._busy = False

    def configure(self) -> None:
        """Find the executor's action and service."""
        self._execute = self.actions.client(ExecuteTrajectory, "trajectory_executor/execute")
        self._arm = self.create_client(Arm, "trajectory_executor/arm")
        self._arming = Arming(self.config.arm_timeout_s)
        self.use_robot(self.config.robot)

    def got_robot(self, model: RobotModel) -> None:
        """Samples of this robot count from now on; its limits must make sense."""
        self._limits_of(model)
        self._motion.of(model.joint_names)

    def activate(self) -> None:
        """Listen to the logger and accept goals."""
        self.create_subscription(
            FilteredJointState, "data_logger/filtered", self._motion.take, DATA
        )
        self.create_service(Arm, "~/arm", self._on_arm)
        self.actions.serve(
            Explore,
            "~/explore",
            execute=self._on_explore,
            goal=self._on_goal,
            cancel=self._on_cancel,
        )

    def deactivate(self) -> None:
        """Stop a running motion."""
        self._stop_playing()

    def clean_up(self) -> None:
        """Stop a running motion."""
        self._stop_playing()

    def _limits_of(self, model: RobotModel) -> MotionLimits:
        c: ExplorerConfig = self.config
        if c.limits_file:
            return read_limits(c.limits_file, model)
        return MotionLimits.from_model(model, **({"tcp_frame": c.tcp_frame} if c.tcp_frame else {}))

    # ---- the action

    def _on_arm(self, request: Arm.Request, response: Arm.Response) -> Arm.Response:
        response.token, response.success = self._arming.arm(), True
        response.valid_for = self._arming.valid_for
        return response

    def _on_goal(self, goal: Explore.Goal) -> GoalResponse:
        if self._busy:
            return GoalResponse.REJECT
        self._busy = True
        return GoalResponse.ACCEPT

    def _on_cancel(self, goal: ServerGoalHandle) -> CancelResponse:
        self._stop_playing()
        return CancelResponse.ACCEPT

    def _stop_playing(self) -> None:
        if self._playing is not None:
            self._playing.cancel_goal_async()

    async def _on_explore(self, goal: ServerGoalHandle) -> Explore.Result:
        result = Explore.Result(ending="aborted")
        try:
            await self._explore(goal, result)
        except Exception as err:  # whatever it is, the goal ends and its sender is told
            text = str(err) if isinstance(err, SysIdError) else f"{type(err).__name__}: {err}"
            self.get_logger().error(f"Exploration aborted: {text}")
            result.ending, result.message = "aborted", text
        finally:
            self._playing, self._busy = None, False
        if result.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result

    async def _explore(self, goal: ServerGoalHandle, result: Explore.Result) -> None:
        request, c, model = goal.request, self.config, self.model
        if model is None:
            raise SysIdError(
                "No robot_description has arrived.", remedy="Start the robot, or set `robot`."
            )
        self._arming.use(request.token)
        wanted = Goal(request.deviation, tuple(request.parameters), request.longest)
        limits = self._limits_of(model)
        explorer: Explorer = await self._aside(
            lambda: Explorer(
                MotionChecker(model, limits),
                Unknowns.of_arm(model),
                wanted,
                period=c.period_s,
                n_iterations=c.iterations,
                seed=request.seed,
            )
        )
        folder = new_inside(c.directory, "", "The folder for the pieces")
        folder.mkdir(parents=True)
        while explorer.ending is Ending.OPEN:
            self._tell(goal, explorer, "planning")
            file = folder / f"piece_{explorer.n_pieces + 1}.npz"
            q = await self._standing_at()

            def plan(q: Any = q, file: Path = file) -> Trajectory:
                piece = explorer.next_piece(q, stop=lambda: goal.is_cancel_requested)
                return export_trajectory(model, piece, limits, file)

            await self._aside(plan)
            if goal.is_cancel_requested:
                raise SysIdError("Cancelled.")
            self._motion.begin()
            played = await self._play(goal, explorer, file, await self._armed())
            await self._aside(lambda: explorer.add(*self._motion.end()))
            self._report(explorer, result)
            if not played.success:
                raise SysIdError(f"The executor stopped the motion: {played.message}")
        result.success = explorer.ending is Ending.REACHED
        result.ending, result.message = explorer.ending.value, str(explorer)

    async def _standing_at(self) -> Any:
        """Where the robot stands, by a state that isn't older than it looks."""
        fresh = lambda: self._motion.is_fresh(self.now_ns(), _FRESH_S)  # noqa: E731
        await self.waits.until(fresh, _ANSWER_S)
        if not fresh():
            raise SysIdError(
                "No filtered joint states come.", remedy="Start the data_logger and the robot."
            )
        return self._motion.positions

    def _report(self, explorer: Explorer, result: Explore.Result) -> None:
        known = explorer.expectation
        result.names, result.deviation = list(known.names), known.relative.tolist()
        result.duration, result.pieces = explorer.duration, explorer.n_pieces

    def _tell(
        self, goal: ServerGoalHandle, explorer: Explorer, state: str, progress: float = 0.0
    ) -> None:
        goal.publish_feedback(
            Explore.Feedback(
                state=state,
                piece=explorer.n_pieces + 1,
                duration=explorer.duration,
                open=len(explorer.open_names),
                progress=progress,
            )
        )

    # ---- the executor

    async def _armed(self) -> str:
        future = self._arm.call_async(Arm.Request())
        await self.waits.until(future.done, _ANSWER_S)
        if not future.done() or not future.result().success:
            words = future.result().message if future.done() else "it doesn't answer"
            raise SysIdError(f"The executor can't be armed: {words}.", remedy="Is it running?")
        return str(future.result().token)

    async def _play(
        self, goal: ServerGoalHandle, explorer: Explorer, file: Path, token: str
    ) -> ExecuteTrajectory.Result:
        request = ExecuteTrajectory.Goal(
            trajectory_file=str(file), speed_scale=goal.request.speed_scale, token=token
        )
        if not self._execute.server_is_ready():
            raise SysIdError("There is no trajectory_executor.", remedy="Start it.")
        sent = self._execute.send_goal_async(
            request,
            feedback_callback=lambda m: self._tell(goal, explorer, "playing", m.feedback.progress),
        )
        await self.waits.until(sent.done, _ANSWER_S)
        handle = sent.result() if sent.done() else None
        if handle is None or not handle.accepted:
            raise SysIdError("The executor refused the piece.", remedy="Is another motion running?")
        self._playing = handle
        if goal.is_cancel_requested:  # it came while the goal was on its way
            handle.cancel_goal_async()
        ended = handle.get_result_async()
        await self.waits.until(ended.done, _LONGEST_PIECE_S)
        self._playing = None
        if not ended.done():
            handle.cancel_goal_async()
            raise SysIdError("The executor doesn't end the piece.", remedy="Look at its log.")
        return ended.result().result

    async def _aside(self, work: Callable[[], Any]) -> Any:
        """Work in a thread of its own, while messages go on."""
        out: dict[str, Any] = {}

        def run() -> None:
            try:
                out["result"] = work()
            except Exception as err:  # raised again where it is awaited
                out["error"] = err

        thread = Thread(target=run, name="planning", daemon=True)
        thread.start()
        await self.waits.until(lambda: not thread.is_alive(), _PLANNING_S)
        if "error" in out:
            raise out["error"]
        if "result" not in out:
            raise SysIdError("Planning takes too long.", remedy="Ask for fewer iterations.")
        return out["result"]


def main(args: list[str] | None = None) -> int:
    """Entry point."""
    return run_node(ExplorerNode, args)


if __name__ == "__main__":
    sys.exit(main())
