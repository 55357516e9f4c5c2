"""A vendor's payload service, called with a timeout and read back."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.task import Future

from sysid_core.controller_payload import (
    ControllerPayload,
    Vendor,
    VendorRequest,
    response_accepted,
    vendor_request,
)
from sysid_core.errors import SysIdError
from sysid_nodes.interfaces import as_mapping, filled, interface, payload_from_message

_POLL_S = 0.02


class NotTakenError(SysIdError):
    """The controller doesn't have the payload.

    Args:
        message: Why.
        untouched: It is certain that it kept what it had.
    """

    def __init__(self, message: str, *, untouched: bool = False) -> None:
        super().__init__(message)
        self.untouched = untouched


class VendorService:
    """Client of a payload service.

    Args:
        node: That owns the client.
        vendor: Whose conventions hold.
        service_type: Type of the service, "" for the vendor's usual.
        service_name: Its name, "" for where the vendor's driver has it.
        flange_frame: For stamped messages.
        transition_s: How slowly the controller changes over, where it can [s].
        timeout_s: For the driver's answer, and for the read-back [s].
        group: Callbacks of this group may wait for each other.
    """

    def __init__(
        self,
        node: LifecycleNode,
        vendor: Vendor,
        service_type: str,
        service_name: str,
        *,
        flange_frame: str,
        transition_s: float,
        timeout_s: float,
        group: ReentrantCallbackGroup,
    ) -> None:
        self.node, self.vendor = node, vendor
        self.flange_frame, self.transition_s = flange_frame, transition_s
        self.timeout_s, self.group = timeout_s, group
        self.type = interface(service_type or vendor.service_type)
        self.client = node.create_client(
            self.type, service_name or vendor.service_name, callback_group=group
        )
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._path: str | None = None
        self._waiting: tuple[Future, ControllerPayload, bool] | None = None

    def read_back_from(self, topic: str, message_type: str, path: str) -> None:
        """Subscribe to where the driver reports its payload."""
        self._path = path
        self.node.create_subscription(
            interface(message_type), topic, self._on_report, 10, callback_group=self.group
        )

    def request(self, payload: ControllerPayload) -> VendorRequest:
        """The request in this driver's layout."""
        return vendor_request(
            self.vendor,
            payload,
            self.type.Request.get_fields_and_field_types(),
            flange_frame=self.flange_frame,
            transition_s=self.transition_s,
        )

    async def send(self, payload: ControllerPayload) -> str:
        """Set the payload and check what the controller reports.

        Returns:
            What happened, in words.

        Raises:
            NotTakenError: No service, no answer, a refusal, or another payload read back.
            ModelError: The service's layout is unknown.
        """
        request = self.request(payload)
        if not await self._until(self.client.service_is_ready):
            raise NotTakenError(
                f"The driver's service '{self.client.srv_name}' is not there.", untouched=True
            )
        reported = Future()
        self._waiting = (reported, payload, request.sends_inertia)
        answer = self.client.call_async(filled(self.type.Request(), request.values))
        if not await self._until(answer.done):
            raise NotTakenError(f"The driver did not answer within {self.timeout_s:g} s.")
        accepted, words = response_accepted(as_mapping(answer.result()))
        if not accepted:
            raise NotTakenError(f"The driver refused the payload: '{words}'.", untouched=True)
        if self._path is None:
            return f"Set: {payload}. The driver said yes; there is no topic to read it back."
        if not await self._until(reported.done):
            raise NotTakenError(f"The controller doesn't report what was sent ({payload}).")
        return f"Set and read back: {payload}."

    async def _until(self, condition: Callable[[], bool]) -> bool:
        """Wait for a condition, but not longer than the timeout; other callbacks go on."""
        end = time.monotonic() + self.timeout_s
        while not condition():
            if time.monotonic() > end:
                return False
            pause = Future()
            timer = self.node.create_timer(
                _POLL_S, partial(_finish, pause), callback_group=self.group, clock=self._clock
            )
            await pause
            self.node.destroy_timer(timer)
        return True

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


def _finish(pause: Future) -> None:
    if not pause.done():
        pause.set_result(None)
