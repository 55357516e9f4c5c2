# SPDX-License-Identifier: Apache-2.0
"""Identification of the robot from a recording, on request."""

from __future__ import annotations

from rclpy.action.server import ServerGoalHandle
from robot_sysid.action import Identify
from robot_sysid.msg import InertialEstimate

from sysid_core.errors import SysIdError
from sysid_core.estimation import Estimate
from sysid_nodes import conversions
from sysid_nodes.components.job import IdentificationJob
from sysid_nodes.components.torque_residuals import TorqueResidualsComponent
from sysid_nodes.lifecycle import LATCHED, ManagedNode, SingleGoalAction

_LONGEST_S = 3600.0


class IdentificationComponent:
    """Serves `~/identify`, one goal at a time, and publishes what it finds on `~/parameters`.

    Args:
        node: The estimator.
        residuals: Predicts by what was found last.
    """

    def __init__(self, node: ManagedNode, residuals: TorqueResidualsComponent) -> None:
        self.node, self._residuals = node, residuals
        self.latest: Estimate | None = None
        self.latest_ns = 0
        self._job: IdentificationJob | None = None
        self._parameters = node.create_publisher(InertialEstimate, "~/parameters", LATCHED)
        SingleGoalAction(
            node,
            Identify,
            "~/identify",
            run=self._on_identify,
            failed=self._failed,
            cancel=self.clean_up,
        ).serve()

    def clean_up(self) -> None:
        """End what is running."""
        if self._job is not None:
            self._job.cancel()

    def _failed(self, err: SysIdError) -> Identify.Result:
        self.node.health.fault("identify", str(err))
        return Identify.Result(message=str(err))

    async def _on_identify(self, goal: ServerGoalHandle) -> Identify.Result:
        try:
            return await self._identify(goal)
        except SysIdError:
            if goal.is_cancel_requested:
                raise SysIdError("Cancelled.") from None
            raise
        finally:
            self._job = None

    async def _identify(self, goal: ServerGoalHandle) -> Identify.Result:
        """The workflow runs in a process of its own: the streams go on meanwhile."""
        model, config = self.node.model, self.node.config
        if model is None:
            raise SysIdError(
                "No robot_description has arrived.", remedy="Start the robot, or set `robot`."
            )
        job = IdentificationJob(goal.request, model, config.recordings, config.directory)
        self._job = job
        reported = ""

        def ended() -> bool:
            nonlocal reported
            step, share = job.progress
            if step != reported:
                reported = step
                goal.publish_feedback(Identify.Feedback(step=step, progress=share))
            return job.done

        await self.node.waits.until(ended, _LONGEST_S)
        job.cancel()  # where the time was up
        if job.error or goal.is_cancel_requested:
            raise SysIdError(  # a failed fit is neither kept nor published
                job.error or "Cancelled.", remedy=f"Look at {job.folder / 'report.html'}."
            )
        self.latest = Estimate.load(job.folder / "estimate.yaml")
        self.latest_ns = self.node.now_ns()
        estimate = conversions.message_from_estimate(
            self.latest,
            stamp_ns=self.node.now_ns(),
            valid_from_ns=job.recording_began_ns,
            frame=model.root_link,
            reference_point="origin of each link's frame",
            model="robot",
            robot=model,
        )
        self._parameters.publish(estimate)
        self._residuals.use(job.folder, self.latest, model)
        return Identify.Result(
            success=True,
            message=job.verdict,
            estimate=estimate,
            report=str(job.folder / "report.html"),
        )
