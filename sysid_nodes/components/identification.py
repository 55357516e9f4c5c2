"""Identification of the robot from a recording, on request."""

from __future__ import annotations

from pathlib import Path

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import Identify
from robot_sysid.msg import InertialEstimate

from sysid_core.estimation import Estimate
from sysid_nodes import conversions
from sysid_nodes.components.job import IdentificationJob
from sysid_nodes.lifecycle import LATCHED, ManagedNode

_LONGEST_S = 3600.0


class IdentificationComponent:
    """Serves `~/identify` and publishes what it finds on `~/parameters`.

    Args:
        node: The estimator.
    """

    def __init__(self, node: ManagedNode) -> None:
        self.node = node
        self.latest: Estimate | None = None
        self._parameters = node.create_publisher(InertialEstimate, "~/parameters", LATCHED)
        self._action = ActionServer(
            node,
            Identify,
            "~/identify",
            execute_callback=self._on_identify,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=lambda _: CancelResponse.REJECT,
        )

    async def _on_identify(self, goal: ServerGoalHandle) -> Identify.Result:
        """The command line does it, in a process of its own: the streams go on meanwhile."""
        result, model = Identify.Result(), self.node.model
        if model is None:
            result.message = "No robot_description has arrived: start the robot, or set `robot`."
            goal.abort()
            return result
        folder = Path(goal.request.directory or self.node.config.directory)
        job = IdentificationJob(goal.request, model, folder)

        def ended() -> bool:
            goal.publish_feedback(Identify.Feedback(step=job.step, progress=job.progress))
            return job.done

        await self.node.wait_until(ended, _LONGEST_S)
        if job.error:
            result.message = job.error
            self.node.get_logger().error(job.error)
            goal.abort()
            return result
        self.latest = Estimate.load(folder / "estimate.yaml")
        result.estimate = conversions.message_from_estimate(
            self.latest,
            stamp_ns=self.node.now_ns(),
            valid_from_ns=job.recording_began_ns,
            frame=model.root_link,
            reference_point="origin of each link's frame",
            model="robot",
            robot=model,
        )
        self._parameters.publish(result.estimate)
        result.success, result.report = True, str(folder / "report.html")
        goal.succeed()
        return result
