# SPDX-License-Identifier: Apache-2.0
"""Client of a vendor's payload service, which calls the service with a timeout and reads the
payload back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future

from sysid_core.controller_payload import (
    VENDORS,
    ControllerPayload,
    VendorRequest,
)
from sysid_core.errors import SysIdError
from sysid_nodes.conversions import interface
from sysid_nodes.lifecycle import ManagedNode
from sysid_nodes.payload_bridge.config import PayloadBridgeConfig
from sysid_nodes.payload_bridge.interfaces import (
    NotTakenError,
    as_mapping,
    filled,
    payload_from_message,
)


class VendorService:
    """Client of a payload service.

    Args:
        node: Node that owns the client.
        config: Configuration with the vendor, the service, and the topic on which the driver
            reports its payload.
        group: Callback group whose callbacks may wait for each other.

    Raises:
        InterfaceError: The driver's interfaces aren't installed.
    """

    def __init__(
        self, node: ManagedNode, config: PayloadBridgeConfig, group: ReentrantCallbackGroup
    ) -> None:
        self.node, self.vendor = node, VENDORS[config.vendor]
        self.flange_frame, self.transition_s = config.flange_frame, config.transition_s
        self.timeout_s, self.group = config.timeout_s, group
        self.type = interface(config.service_type or self.vendor.service_type)
        self.client = node.create_client(
            self.type, config.service_name or self.vendor.service_name, callback_group=group
        )
        self._path: str | None = None
        self._waiting: tuple[Future, ControllerPayload, bool] | None = None
        if config.readback_topic:
            self._path = config.readback_field
            kind = interface(config.readback_type)
            node.create_subscription(
                kind, config.readback_topic, self._on_report, 10, callback_group=group
            )

    def request(self, payload: ControllerPayload) -> VendorRequest:
        """Return the service request in the layout of this driver's version."""
        return VendorRequest.of(
            self.vendor,
            payload,
            self.type.Request.get_fields_and_field_types(),
            flange_frame=self.flange_frame,
            transition_s=self.transition_s,
        )

    async def send(self, payload: ControllerPayload) -> str:
        """Set the payload, and compare it with what the controller reports.

        Returns:
            Result in words.

        Raises:
            NotTakenError: The service is missing, does not answer or refuses the payload, or the
                controller reports another payload.
            ModelError: The layout of the service request is unknown.
        """
        request = self.request(payload)
        if not await self._until(self.client.service_is_ready):
            raise NotTakenError(
                f"The driver's service '{self.client.srv_name}' is not available.",
                untouched=True,
                remedy="Start the driver, and check `service` in the parameter file.",
            )
        reported = Future()
        self._waiting = (reported, payload, request.sends_inertia)
        answer = self.client.call_async(filled(self.type.Request(), request.values))
        if not await self._until(answer.done):
            raise NotTakenError(
                f"The driver did not answer within {self.timeout_s:g} s.",
                remedy="Check the payload on the pendant before the robot moves.",
            )
        accepted, words = VendorRequest.accepted(as_mapping(answer.result()))
        if not accepted:
            raise NotTakenError(
                f"The driver refused the payload: '{words}'.",
                untouched=True,
                remedy="Check whether a controller is running, and whether the robot is in a state that permits this change.",
            )
        if self._path is None:
            return f"Set: {payload}. The driver accepted it; there is no topic to read it back."
        if not await self._until(reported.done):
            raise NotTakenError(
                f"The controller does not report the payload that was sent ({payload}).",
                remedy="Check the payload on the pendant before the robot moves.",
            )
        return f"Set and read back: {payload}."

    async def _until(self, condition: Callable[[], bool]) -> bool:
        """Wait for a condition or the timeout, while other callbacks run."""
        await self.node.waits.until(condition, self.timeout_s)
        return condition()

    def _on_report(self, message: Any) -> None:
        if self._waiting is None or self._waiting[0].done():
            return
        reported, payload, with_inertia = self._waiting
        try:
            found = payload_from_message(message, self._path or "")
        except SysIdError as err:
            self.node.get_logger().error(str(err), throttle_duration_sec=5.0)
            return
        if not payload.differences(found, with_inertia):
            reported.set_result(None)
