# SPDX-License-Identifier: Apache-2.0
"""The action that does a whole experiment."""

from __future__ import annotations

from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import Identify, RunPlan
from robot_sysid.msg import PayloadEstimate
from robot_sysid.srv import SaveResult, StartRecording, StopRecording

from sysid_core.errors import SysIdError
from sysid_nodes.conversions import ns_from_stamp
from sysid_nodes.execution import Arming, Remote, RemoteExecutor
from sysid_nodes.experiment.config import RunnerConfig
from sysid_nodes.lifecycle import LATCHED, ManagedNode, SingleGoalAction

_WEIGHING = "payload"
_LONGEST_S = 3600.0


class RunAction:
    """Serves `~/run` and `~/arm`.

    Args:
        node: The runner.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self._config: RunnerConfig = node.config
        self._arming = Arming(self._config.arm_timeout_s)
        self._remote = Remote(node)
        self._executor = RemoteExecutor(node, self._remote)
        self._start = node.create_client(StartRecording, "data_logger/start")
        self._stop = node.create_client(StopRecording, "data_logger/stop")
        self._save = node.create_client(SaveResult, "estimator/save")
        self._payload: PayloadEstimate | None = None
        self._recording = ""  # of the goal under way
        self._action = SingleGoalAction(
            node, RunPlan, "~/run", run=self._run, failed=self._failed, cancel=self._remote.stop
        )

    def serve(self) -> None:
        """Accept goals from now on."""
        self._node.create_subscription(
            PayloadEstimate, "estimator/payload_estimate", self._on_payload, LATCHED
        )
        self._arming.serve(self._node)
        self._action.serve()

    def stop(self) -> None:
        """Stop what goes on."""
        self._remote.stop()

    def _on_payload(self, message: PayloadEstimate) -> None:
        self._payload = message

    def _failed(self, err: SysIdError) -> RunPlan.Result:
        return RunPlan.Result(message=str(err), recording=self._recording)

    async def _run(self, goal: ServerGoalHandle) -> RunPlan.Result:
        request, self._recording = goal.request, ""
        self._arming.use(request.token)
        if not 0.0 <= request.slow < 1.0:
            raise SysIdError(
                f"A first pass at {request.slow:g} of the speed isn't slow.",
                remedy="Give a share below 1, such as 0.3, or 0 for no first pass.",
            )
        await self._play(goal, "checking", check_only=True)
        if request.slow:
            await self._play(goal, "first pass", speed_scale=request.slow)
        began_ns = self._node.now_ns()
        self._recording = (await self._remote.call(self._start, StartRecording.Request())).path
        try:
            await self._play(goal, "playing")
        finally:
            await self._remote.call(self._stop, StopRecording.Request())
        if request.method == _WEIGHING:
            return await self._weigh(goal, began_ns)
        return await self._identify(goal)

    async def _play(
        self,
        goal: ServerGoalHandle,
        step: str,
        *,
        speed_scale: float = 1.0,
        check_only: bool = False,
    ) -> None:
        if not self._action.wanted:
            raise SysIdError("Cancelled.")
        self._report(goal, step)
        result = await self._executor.play(
            goal.request.trajectory_file,
            goal,
            lambda progress: self._report(goal, step, progress),
            speed_scale=speed_scale,
            check_only=check_only,
        )
        if not result.success:
            raise SysIdError(f"{step}: {result.message}")

    async def _weigh(self, goal: ServerGoalHandle, began_ns: int) -> RunPlan.Result:
        self._report(goal, "weighing")
        first: PayloadEstimate | None = None

        def settled() -> bool:
            nonlocal first
            latest = self._payload
            if latest is None or ns_from_stamp(latest.header.stamp) < began_ns:
                return False
            if first is None or latest.samples_used != first.samples_used:
                first = latest
            apart = ns_from_stamp(latest.header.stamp) - ns_from_stamp(first.header.stamp)
            return apart >= self._config.settled_s * 1e9

        await self._node.waits.until(
            lambda: settled() or not self._action.wanted, self._config.patience_s
        )
        if first is None or not settled():
            raise SysIdError(
                "No payload was estimated.",
                remedy="Are the estimator's sensor_frame and shape set, and does the wrench come?"
                " `sysid payload` reads the bag.",
            )
        found = first.inertia
        saved = await self._remote.call(self._save, SaveResult.Request())
        words = f"{found.m:.4f} ± {2 * first.inertia_sd.m:.4f} kg (2 sd). {first.advice}"
        return RunPlan.Result(
            success=True, message=words, recording=self._recording, result=saved.path
        )

    async def _identify(self, goal: ServerGoalHandle) -> RunPlan.Result:
        wanted = Identify.Goal(recording=self._recording, method=goal.request.method)
        done = await self._remote.act(
            Identify,
            "estimator/identify",
            wanted,
            lambda f: self._report(goal, f"identifying: {f.step}", f.progress),
            lambda: self._action.wanted,
            _LONGEST_S,
        )
        return RunPlan.Result(
            success=done.success,
            message=done.message,
            recording=self._recording,
            result=done.report,
        )

    def _report(self, goal: ServerGoalHandle, step: str, progress: float = 0.0) -> None:
        goal.publish_feedback(RunPlan.Feedback(step=step, progress=progress))
