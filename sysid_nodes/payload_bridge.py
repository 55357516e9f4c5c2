"""Tells a robot's controller what it holds: proposed, confirmed by a person, checked, undone."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rclpy.callback_groups import ReentrantCallbackGroup
from std_msgs.msg import String
from std_srvs.srv import Trigger

from sysid_core.controller_payload import (
    VENDORS,
    ControllerPayload,
    ExchangeState,
    PayloadExchange,
    PayloadLimits,
    fixed_pose,
)
from sysid_core.errors import SysIdError
from sysid_core.robot import transform_pi
from sysid_nodes.conversions import ns_from_stamp
from sysid_nodes.interfaces import payload_from_message
from sysid_nodes.lifecycle import LATCHED, ManagedNode, ParameterError, run_node
from sysid_nodes.vendor_payload import NotTakenError, PayloadBridgeConfig, VendorService


class PayloadBridgeNode(ManagedNode):
    """`~/propose`, then `~/confirm`; `~/rollback` undoes. It never sends by itself."""

    Config = PayloadBridgeConfig

    def __init__(self) -> None:
        super().__init__("payload_bridge")
        self._latest: InertiaStamped | None = None

    def configure(self) -> None:
        """Find the driver's interface; get ready to propose."""
        c: PayloadBridgeConfig = self.config
        for name in ("tool", "initial_payload"):
            if len(getattr(c, name)) not in (0, 10):
                raise ParameterError(
                    f"Parameter '{name}' has {len(getattr(c, name))} numbers, expected ten.",
                    remedy="m mx my mz Ixx Ixy Iyy Ixz Iyz Izz about the flange's origin.",
                )
        self._group = ReentrantCallbackGroup()  # a service call waits for another one
        self._service = VendorService(
            self,
            VENDORS[c.vendor],
            c.service_type,
            c.service_name,
            flange_frame=c.flange_frame,
            transition_s=c.transition_s,
            timeout_s=c.timeout_s,
            group=self._group,
        )
        if c.readback_topic:
            self._service.read_back_from(c.readback_topic, c.readback_type, c.readback_field)
        before = ControllerPayload.from_pi(c.initial_payload) if c.initial_payload else None
        limits = PayloadLimits(c.max_mass, c.max_com, c.max_radius)
        self._exchange = PayloadExchange(limits, c.patience_s, before)
        self._state = self.create_publisher(String, "~/state", LATCHED)
        self.use_robot(c.robot)

    def activate(self) -> None:
        """Listen to the estimator, offer the services."""
        self.create_subscription(InertiaStamped, "estimator/payload", self._on_payload, LATCHED)
        for name, work in (
            ("propose", self._propose),
            ("confirm", self._confirm),
            ("rollback", self._roll_back),
        ):
            self.create_service(
                Trigger, f"~/{name}", self._answering(work), callback_group=self._group
            )
        self._tell()

    def deactivate(self) -> None:
        """An old estimate is forgotten."""
        self._latest = None

    def _on_payload(self, message: InertiaStamped) -> None:
        self._latest = message

    # ---- the three services

    def _answering(self, work: Callable[[], Awaitable[str]]) -> Any:
        """A Trigger callback: the text of success, or the words of the error."""

        async def callback(request: Trigger.Request, response: Trigger.Response) -> Any:
            try:
                response.success, response.message = True, await work()
                self.get_logger().info(response.message)
            except SysIdError as err:
                response.success, response.message = False, str(err)
                self.get_logger().error(response.message)
            self._tell()
            return response

        return callback

    async def _propose(self) -> str:
        payload = self._payload_at_flange()
        request = self._service.request(payload)
        self._exchange.propose(payload, self.now_ns() * 1e-9)
        hint = "" if request.sends_inertia else " This driver takes no inertia."
        if self.get_parameter("dry_run").value:
            hint += " dry_run is on: confirming won't send it."
        return f"Proposed: {payload}. It would be sent as {dict(request.values)}.{hint}"

    async def _confirm(self) -> str:
        self._refuse_dry_run()
        try:
            return await self._send(self._exchange.confirm(self.now_ns() * 1e-9))
        except NotTakenError as err:
            if err.untouched or self._exchange.previous is None:
                raise
            undone = await self._send(self._exchange.roll_back(), f"{err} Rolling back: ")
            raise NotTakenError(undone) from err

    async def _roll_back(self) -> str:
        self._refuse_dry_run()
        return await self._send(self._exchange.roll_back())

    # ---- helpers

    async def _send(self, payload: ControllerPayload, prefix: str = "") -> str:
        """Call the driver and keep the books."""
        self._tell()
        try:
            done = await self._service.send(payload)
        except SysIdError as err:
            untouched = not isinstance(err, NotTakenError) or err.untouched
            self._exchange.failed(untouched=untouched)
            raise NotTakenError(f"{prefix}{err}", untouched=untouched) from err
        self._exchange.succeeded()
        return prefix + done

    def _payload_at_flange(self) -> ControllerPayload:
        """The estimated payload and the tool, in the flange frame."""
        message, c = self._latest, self.config
        if message is None:
            raise NotTakenError("No payload has been estimated yet.", untouched=True)
        age_s = (self.now_ns() - ns_from_stamp(message.header.stamp)) * 1e-9
        if age_s > c.patience_s:
            raise NotTakenError(
                f"The estimate is {age_s:.0f} s old: something else may be held by now.",
                untouched=True,
            )
        pi = payload_from_message(message).pi
        if message.header.frame_id != c.flange_frame:
            if self.model is None:
                raise NotTakenError("The robot's description has not come yet.", untouched=True)
            pi = transform_pi(fixed_pose(self.model, c.flange_frame, message.header.frame_id), pi)
        return ControllerPayload.from_pi(pi + c.tool if c.tool else pi)

    def _refuse_dry_run(self) -> None:
        if self.get_parameter("dry_run").value:
            raise NotTakenError(
                "dry_run is on: nothing was sent. Set the parameter to false first.", untouched=True
            )

    def _tell(self) -> None:
        state, current = self._exchange.state, self._exchange.current
        self._state.publish(String(data=f"{state.value}; controller has: {current or 'unknown'}"))
        bad = state is ExchangeState.FAILED
        self.diagnose(DiagnosticStatus.ERROR if bad else DiagnosticStatus.OK, state.value)


def main(args: list[str] | None = None) -> int:
    """Entry point."""
    return run_node(PayloadBridgeNode, args)


if __name__ == "__main__":
    sys.exit(main())
