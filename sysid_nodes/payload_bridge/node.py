# SPDX-License-Identifier: Apache-2.0
"""Payload bridge: sets the payload in a robot's controller, after a person's confirmation; the
change is checked and can be undone.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from geometry_msgs.msg import InertiaStamped
from rclpy.callback_groups import ReentrantCallbackGroup
from robot_sysid.msg import PayloadBridgeState
from robot_sysid.srv import ConfirmPayload, ProposePayload
from std_srvs.srv import Trigger

from sysid_core.controller_payload import ControllerPayload, ExchangeState
from sysid_core.errors import SysIdError
from sysid_nodes.conversions import stamp_from_ns
from sysid_nodes.lifecycle import Level, ManagedNode, qos
from sysid_nodes.payload_bridge.config import PayloadBridgeConfig, payload_at_flange
from sysid_nodes.payload_bridge.interfaces import (
    NotTakenError,
    bridge_state_message,
    payload_inertia,
)
from sysid_nodes.payload_bridge.service import VendorService


class PayloadBridgeNode(ManagedNode):
    """Server of `~/propose`, `~/confirm` (with the id of the proposal) and `~/rollback`, which
    undoes the change.

    The node never sends a payload without a confirmation.
    """

    Config = PayloadBridgeConfig

    def __init__(self) -> None:
        super().__init__("payload_bridge")
        self._latest: InertiaStamped | None = None
        self._heard_s = 0.0  # when it came, on the steady clock

    def configure(self) -> None:
        """Find the interface of the driver, and prepare for proposals."""
        c: PayloadBridgeConfig = self.config
        self._exchange = c.exchange()
        self._group = ReentrantCallbackGroup()  # a service call waits for another one
        self._service = VendorService(self, c, self._group)
        self._state = self.create_publisher(PayloadBridgeState, "~/state", qos.LATCHED)
        self.use_robot()

    def activate(self) -> None:
        """Subscribe to the estimator and offer the services."""
        self.create_subscription(InertiaStamped, "estimator/payload", self._on_payload, qos.LATCHED)
        for kind, name, work in (
            (ProposePayload, "propose", self._propose),
            (ConfirmPayload, "confirm", self._confirm),
            (Trigger, "rollback", self._roll_back),
        ):
            self.create_service(
                kind, f"~/{name}", self._answering(work), callback_group=self._group
            )
        self._report("")

    def deactivate(self) -> None:
        """Delete the estimate, which would be outdated at the next activation."""
        self._latest = None

    def _on_payload(self, message: InertiaStamped) -> None:
        self._latest, self._heard_s = message, time.monotonic()

    # ---- the three services

    def _answering(self, work: Callable[[Any, Any], Awaitable[str]]) -> Any:
        """Service callback that answers with a text of success, or with the error message."""

        async def callback(request: Any, response: Any) -> Any:
            try:
                response.message = await work(request, response)
                response.success = True
                self.get_logger().info(response.message)
            except SysIdError as err:
                response.success, response.message = False, str(err)
                self.get_logger().error(response.message)
            self._report(response.message)
            return response

        return callback

    async def _propose(self, _: Any, response: ProposePayload.Response) -> str:
        # The estimator repeats its estimate: a newer one may be held back.
        await self.waits.until(
            lambda: (
                self._latest is None or time.monotonic() - self._heard_s < 2.0 * qos.HEARTBEAT_S
            ),
            qos.HELD_BACK_S,
        )
        now_s = self.now_ns() * 1e-9
        payload = payload_at_flange(self._latest, self.config, self.model, now_s)
        request = self._service.request(payload)
        proposal = self._exchange.propose(payload, now_s)
        response.proposal, response.payload = proposal.id, payload_inertia(payload)
        hint = "" if request.sends_inertia else " This driver accepts no inertia."
        if self.config.dry_run:
            hint += " dry_run is on: a confirmation will not send it."
        return (
            f"Proposed as '{proposal.id}': {payload}."
            f" It would be sent as {dict(request.values)}.{hint}"
        )

    async def _confirm(self, request: ConfirmPayload.Request, _: Any) -> str:
        self.config.require_sending()
        try:
            payload = self._exchange.confirm(self.now_ns() * 1e-9, request.proposal)
            return await self._send(payload)
        except NotTakenError as err:
            if err.untouched or self._exchange.previous is None:
                raise
            undone = await self._send(self._exchange.roll_back(), f"{err} Rolling back: ")
            raise NotTakenError(undone) from err

    async def _roll_back(self, *_: Any) -> str:
        self.config.require_sending()
        return await self._send(self._exchange.roll_back())

    async def _send(self, payload: ControllerPayload, prefix: str = "") -> str:
        """Call the service of the driver, and record the result."""
        self._report(f"Sending {payload}.")
        try:
            done = await self._service.send(payload)
        except SysIdError as err:
            untouched = not isinstance(err, NotTakenError) or err.untouched
            self._exchange.failed(untouched=untouched)
            raise NotTakenError(f"{prefix}{err}", untouched=untouched) from err
        self._exchange.succeeded()
        return prefix + done

    def _report(self, words: str) -> None:
        message = bridge_state_message(self._exchange, words)
        message.header.stamp = stamp_from_ns(self.now_ns())
        message.header.frame_id = self.config.flange_frame
        self._state.publish(message)
        failed = self._exchange.state is ExchangeState.FAILED
        self.diagnose(Level.ERROR if failed else Level.OK, self._exchange.state.value)
