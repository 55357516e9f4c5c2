# SPDX-License-Identifier: Apache-2.0
"""Estimator node: structural identifiability, running payload estimation, identification on
request.
"""

from __future__ import annotations

from robot_sysid.msg import Identifiability
from robot_sysid.srv import SaveResult
from std_srvs.srv import Trigger

from sysid_core.estimation import Estimate
from sysid_core.identifiability.rpna import structural_identifiability
from sysid_core.robot import RobotModel
from sysid_core.signals import ColumnMap
from sysid_nodes import conversions
from sysid_nodes.estimator.config import EstimatorConfig
from sysid_nodes.estimator.identification import IdentificationComponent
from sysid_nodes.estimator.payload import PayloadComponent
from sysid_nodes.estimator.torque_residuals import TorqueResidualsComponent
from sysid_nodes.lifecycle import ManagedNode, qos
from sysid_nodes.security import new_inside


class EstimatorNode(ManagedNode):
    """Node that publishes identifiability, parameters and payload on latched topics."""

    Config = EstimatorConfig

    def __init__(self) -> None:
        super().__init__("estimator")
        self._identification: IdentificationComponent | None = None

    def configure(self) -> None:
        """Create the topics; the robot description may arrive later."""
        if self.config.columns:
            ColumnMap.load(self.config.columns)  # a bad one is refused here
        self._identifiability = self.create_publisher(
            Identifiability, "~/identifiability", qos.LATCHED
        )
        self._payload = PayloadComponent(self)
        self._residuals = TorqueResidualsComponent(self)
        self._identification = IdentificationComponent(self, self._residuals)
        self.create_service(SaveResult, "~/save", self._on_save)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.use_robot()

    def activate(self) -> None:
        """Subscribe to the data logger."""
        self._payload.activate()
        self._residuals.activate()

    def clean_up(self) -> None:
        """Stop running work."""
        if self._identification is not None:
            self._identification.clean_up()

    def got_robot(self, model: RobotModel) -> None:
        """Publish the structural identifiability, and prepare the payload estimation."""
        self._identifiability.publish(
            conversions.message_from_identifiability(
                structural_identifiability(model), model, stamp_ns=self.now_ns()
            )
        )
        self._payload.got_robot(model)
        self._residuals.got_robot(model)
        self.get_logger().info(f"Robot '{model.name}' with {model.n_bodies} bodies.")

    @property
    def latest(self) -> Estimate | None:
        """Newest estimate, either of the robot or of the running payload."""
        both = (self._identification, self._payload)
        known = [part for part in both if part is not None and part.latest is not None]
        return max(known, key=lambda part: part.latest_ns).latest if known else None

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.model is not None:
            self._payload.got_robot(self.model)
        self._identification.latest = None
        response.success, response.message = True, "Forgot all samples."
        return response

    async def _on_save(
        self, request: SaveResult.Request, response: SaveResult.Response
    ) -> SaveResult.Response:
        asked = self.now_ns()
        await self.waits.until(
            lambda: self._payload.complete_ns(self.now_ns()) >= asked, qos.HELD_BACK_S
        )
        if self.latest is None:
            response.message = "There is no estimate yet: execute a motion, or call ~/identify."
            return response
        try:
            folder = new_inside(self.config.directory, request.directory, "The folder")
            folder.mkdir(parents=True)
            self.latest.save(folder / "estimate.yaml")
            response.success, response.path = True, str(folder / "estimate.yaml")
        except OSError as err:
            response.message = f"Can't write to '{request.directory}': {err}."
        return response
