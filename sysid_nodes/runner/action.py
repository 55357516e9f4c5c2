# SPDX-License-Identifier: Apache-2.0
"""Action that executes a complete experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import Identify, RunPlan
from robot_sysid.msg import PayloadEstimate
from robot_sysid.srv import SaveResult, StartRecording, StopRecording

from sysid_core.errors import SysIdError
from sysid_nodes.lifecycle import ManagedNode, qos
from sysid_nodes.runner.run import run_experiment
from sysid_nodes.trajectory_executor import RemoteAction

_LONGEST_S = 3600.0


class RunAction(RemoteAction):
    """Server of the action `~/run` and the service `~/arm`.

    Args:
        node: Runner node.
    """

    def __init__(self, node: ManagedNode) -> None:
        super().__init__(node, RunPlan, "~/run")
        node.actions.client(Identify, "estimator/identify")
        self._start = node.create_client(StartRecording, "data_logger/start")
        self._stop = node.create_client(StopRecording, "data_logger/stop")
        self._save = node.create_client(SaveResult, "estimator/save")
        self._payload: PayloadEstimate | None = None
        self._recording = ""  # of the goal under way

    def serve(self) -> None:
        """Accept goals from now on."""
        self._node.create_subscription(
            PayloadEstimate, "estimator/payload_estimate", self._on_payload, qos.LATCHED
        )
        super().serve()

    def _on_payload(self, message: PayloadEstimate) -> None:
        self._payload = message

    def _failed(self, err: SysIdError) -> RunPlan.Result:
        return RunPlan.Result(message=str(err), recording=self._recording)

    async def _run(self, goal: ServerGoalHandle) -> RunPlan.Result:
        request, self._recording = goal.request, ""
        self._arming.use(request.token)
        graph = _Graph(self, goal)
        done = await run_experiment(
            graph, slow=request.slow, method=request.method, settled_s=self._config.settled_s
        )
        assert done is not None  # nobody is asked: the token was somebody's word
        return RunPlan.Result(
            success=done.identified is None or done.identified.success,
            message=str(done),
            recording=self._recording,
            result=done.saved,
        )


class _Graph:
    """Interface to the other nodes, called from the coroutine of the runner."""

    def __init__(self, action: RunAction, goal: ServerGoalHandle) -> None:
        self._action, self._goal = action, goal

    def now_ns(self) -> int:
        return self._action._node.now_ns()

    async def check(self) -> None:
        await self._play("checking", check_only=True)

    async def play(self, step: str, speed_scale: float) -> None:
        await self._play(step, speed_scale=speed_scale)

    async def _play(self, step: str, **how: Any) -> None:
        action, goal = self._action, self._goal
        action._require_wanted()
        self._report(step)
        result = await action._remote.play(
            goal.request.trajectory_file,
            lambda: action._action.wanted,
            lambda progress: self._report(step, progress),
            **{"speed_scale": 1.0, "check_only": False, **how},
        )
        if not result.success:
            raise SysIdError(f"{step}: {result.message}")

    async def start_recording(self) -> str:
        action = self._action
        started = await action._remote.call(action._start, StartRecording.Request())
        action._recording = started.path
        return action._recording

    async def stop_recording(self) -> None:
        await self._action._remote.call(self._action._stop, StopRecording.Request())

    async def payload(self, is_final: Callable[[PayloadEstimate | None], bool]) -> bool:
        self._report("weighing")
        action = self._action
        await action._node.waits.until(
            lambda: is_final(action._payload) or not action._action.wanted,
            action._config.patience_s,
        )
        return is_final(action._payload)

    async def save(self) -> str:
        saved = await self._action._remote.call(self._action._save, SaveResult.Request())
        return str(saved.path)

    async def identify(self, recording: str, method: str) -> Any:
        return await self._action._remote.act(
            Identify,
            "estimator/identify",
            Identify.Goal(recording=recording, method=method),
            lambda f: self._report(f"identifying: {f.step}", f.progress),
            lambda: self._action._action.wanted,
            _LONGEST_S,
        )

    def _report(self, step: str, progress: float = 0.0) -> None:
        self._goal.publish_feedback(RunPlan.Feedback(step=step, progress=progress))
