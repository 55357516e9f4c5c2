# SPDX-License-Identifier: Apache-2.0
"""Action that plans and plays motions until the requested accuracy is reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import Explore

from sysid_core.clock_gate import ClockGate
from sysid_core.errors import SysIdError
from sysid_core.planning import MotionChecker, MotionLimits, Trajectory
from sysid_core.planning.design import Ending, Explorer, Goal, Unknowns
from sysid_nodes.explorer.played_motion import PlayedMotion
from sysid_nodes.lifecycle import ManagedNode
from sysid_nodes.security import new_inside
from sysid_nodes.trajectory_executor import RemoteAction, planning_limits

_LONGEST_S = 600.0


async def aside(node: ManagedNode, work: Callable[[], Any]) -> Any:
    """Run a function in a separate thread while messages are processed.

    Args:
        node: Node whose messages are processed while the function runs.
        work: Function to run; its result is returned, and its error is raised.

    Raises:
        SysIdError: The function takes too long.
    """
    out: dict[str, Any] = {}

    def run() -> None:
        try:
            out["result"] = work()
        except Exception as err:  # raised again where it is awaited
            out["error"] = err

    thread = Thread(target=run, name="aside", daemon=True)
    thread.start()
    await node.waits.until(lambda: not thread.is_alive(), _LONGEST_S)
    if "error" in out:
        raise out["error"]
    if "result" not in out:
        raise SysIdError(
            "Planning takes longer than permitted.",
            remedy="Request fewer iterations of the optimisation.",
        )
    return out["result"]


FRESH_S = 0.5  # age of the joint state from which a piece begins
_PATIENCE_S = 20.0  # for one to come


class ExploreAction(RemoteAction):
    """Server of the action `~/explore` and the service `~/arm`.

    Args:
        node: Explorer node.
        motion: Measured motion of the robot.
        gate: Check of the stamps of this motion.
    """

    def __init__(self, node: ManagedNode, motion: PlayedMotion, gate: ClockGate) -> None:
        super().__init__(node, Explore, "~/explore")
        self._motion, self._gate = motion, gate
        self._result = Explore.Result()  # of the goal under way

    def _failed(self, err: SysIdError) -> Explore.Result:
        """End the goal after a failure; the data of earlier motions are kept."""
        self._result.ending, self._result.message = "aborted", str(err)
        return self._result

    async def _run(self, goal: ServerGoalHandle) -> Explore.Result:
        result = self._result = Explore.Result(ending="aborted")
        request, c, model = goal.request, self._config, self._node.model
        if model is None:
            raise SysIdError(
                "No robot_description has arrived.", remedy="Start the robot, or set `robot`."
            )
        self._arming.use(request.token)
        wanted = Goal(request.deviation, tuple(request.parameters), request.longest)
        limits = planning_limits(c, model)
        explorer: Explorer = await aside(
            self._node,
            lambda: Explorer(
                MotionChecker(model, limits),
                Unknowns.of_arm(model),
                wanted,
                period=c.period_s,
                n_iterations=c.iterations,
                seed=request.seed,
            ),
        )
        folder = new_inside(c.directory, "", "The folder for the pieces")
        folder.mkdir(parents=True)
        while explorer.ending is Ending.OPEN:
            file = folder / f"piece_{explorer.n_pieces + 1}.npz"
            await self._plan_piece(goal, explorer, limits, file)
            await self._play_piece(goal, explorer, file)
        result.success = explorer.ending is Ending.REACHED
        result.ending, result.message = explorer.ending.value, str(explorer)
        return result

    async def _plan_piece(
        self, goal: ServerGoalHandle, explorer: Explorer, limits: MotionLimits, file: Path
    ) -> None:
        self._report(goal, explorer, "planning")
        q = await self._standing_at()

        def plan() -> Trajectory:
            piece = explorer.next_piece(q, stop=lambda: not self._action.wanted)
            return MotionChecker(explorer.checker.model, limits).export(piece, file)

        await aside(self._node, plan)
        self._require_wanted()

    async def _play_piece(self, goal: ServerGoalHandle, explorer: Explorer, file: Path) -> None:
        """Play a motion; the data measured during it are used even if it was aborted."""
        await self._standing_at()  # the stream may have stopped during the planning
        self._motion.begin()
        try:
            played = await self._remote.play(
                str(file),
                lambda: self._action.wanted,
                lambda done: self._report(goal, explorer, "playing", done),
                speed_scale=goal.request.speed_scale,
            )
        finally:
            # A reliable reader that lost a message gets the later ones seconds late.
            ended = self._gate.stamp_at(self._node.now_ns())
            await self._node.waits.until(lambda: self._motion.reaches(ended), _PATIENCE_S)
            moved = self._motion.end()
            await aside(self._node, lambda: explorer.add(*moved))
            self._fill(self._result, explorer)
        if not played.success:
            raise SysIdError(
                f"The executor stopped the motion: {played.message}",
                remedy="Remove the cause, arm again, and continue the exploration.",
            )
        if not len(moved[0]):  # else the same motion would be played without end
            raise SysIdError(
                "The robot was moved, but no filtered joint state of the motion has arrived.",
                remedy="Check that the data_logger runs and filters this robot's joints.",
            )

    async def _standing_at(self) -> Any:
        """Current posture of the robot, from a recent joint state."""
        fresh = lambda: self._motion.is_fresh(self._node.now_ns(), FRESH_S)  # noqa: E731
        await self._node.waits.until(lambda: fresh() or not self._action.wanted, _PATIENCE_S)
        self._require_wanted()
        if not fresh():
            raise SysIdError(
                "No filtered joint states arrive.", remedy="Start the data_logger and the robot."
            )
        return self._motion.positions

    def _fill(self, result: Explore.Result, explorer: Explorer) -> None:
        known = explorer.expectation
        result.names, result.deviation = list(known.names), known.relative.tolist()
        result.duration, result.pieces = explorer.duration, explorer.n_pieces

    def _report(
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
