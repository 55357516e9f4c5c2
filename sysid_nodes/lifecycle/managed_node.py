# SPDX-License-Identifier: Apache-2.0
"""What all nodes share: lifecycle, parameters, robot description, diagnostics."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.task import Future
from rclpy.timer import Timer

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_nodes.lifecycle.adaptive_subscription import AdaptiveSubscription
from sysid_nodes.lifecycle.common import CommonConfig
from sysid_nodes.lifecycle.entities import Entities
from sysid_nodes.lifecycle.guarded_node import GuardedNode
from sysid_nodes.lifecycle.health import ERROR, OK
from sysid_nodes.lifecycle.parameters import declare, read, value_to_set
from sysid_nodes.lifecycle.qos import DATA
from sysid_nodes.lifecycle.robot_description import RobotSource


class ManagedNode(GuardedNode):
    """A lifecycle node with a typed configuration.

    Subclasses set `Config` (a frozen dataclass of `parameter` fields) and fill `configure`,
    `activate`, `deactivate` and `clean_up`; a `SysIdError` in them becomes a log message and a
    failed transition. What `activate` makes (topics, services, timers, actions) is destroyed when
    the node is deactivated, what `configure` makes when it is cleaned up. An error in a callback
    is told and never ends the node.
    """

    Config: type = CommonConfig

    def __init__(self, name: str) -> None:
        super().__init__(name)
        declare(self, self.Config)
        declare(self, CommonConfig)
        self.config: Any = None
        self.common = CommonConfig()
        self.model: RobotModel | None = None
        self._waits: set[Timer] = set()
        self._unconfigured = self._inactive = Entities(self)
        self.add_on_set_parameters_callback(self._on_set)
        self._twin_timer = self.create_timer(2.0, self._look_for_twins, clock=self.health.clock)
        if self.get_parameter("autostart").value:
            self._starter = self.create_timer(0.0, self._autostart)

    # ---- to be filled by subclasses

    def configure(self) -> None:
        """Read `self.config`, make publishers and services."""

    def activate(self) -> None:
        """Start working."""

    def deactivate(self) -> None:
        """Stop working, keep what was configured."""

    def clean_up(self) -> None:
        """Give everything back; called at shutdown too."""

    def got_robot(self, model: RobotModel) -> None:
        """The robot's description has arrived; an error takes the configuration back."""

    def changed(self, names: set[str]) -> None:
        """Live parameters have new values in `self.config`; raise a SysIdError to refuse them."""

    # ---- lifecycle

    def _autostart(self) -> None:
        self._starter.cancel()
        if self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def _attempt(self, work: Callable[[], None], what: str) -> TransitionCallbackReturn:
        try:
            work()
        except SysIdError as err:
            self.get_logger().error(f"{what} failed: {err}")
            self.health.say("lifecycle", ERROR, f"{what} failed: {err}")
            return TransitionCallbackReturn.FAILURE
        except Exception:  # rclpy's lifecycle would swallow it
            self.get_logger().fatal(f"{what} failed by a fault of ours:\n{traceback.format_exc()}")
            return TransitionCallbackReturn.ERROR
        self.health.say("lifecycle", OK, f"{what} is done.")
        return TransitionCallbackReturn.SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        self._unconfigured = Entities(self)

        def work() -> None:
            self.common = read(self, CommonConfig)
            self.config = read(self, self.Config)
            self.configure()

        result = self._attempt(work, "Configuring")
        if result is not TransitionCallbackReturn.SUCCESS:
            self.config = self.model = None
            self._unconfigured.restore(keep=self._waits)
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        super().on_activate(state)
        self._inactive = Entities(self)
        return self._attempt(self.activate, "Activating")

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        result = self._attempt(self.deactivate, "Deactivating")
        self._inactive.restore(keep=self._waits)
        super().on_deactivate(state)
        return result

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        result = self._attempt(self.clean_up, "Cleaning up")
        self.config = self.model = None
        self._unconfigured.restore(keep=self._waits)
        return result

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        return self._attempt(self.clean_up, "Shutting down")

    def give_up_configuration(self, err: SysIdError) -> None:
        """Go back to unconfigured: what was configured doesn't fit the robot that has arrived."""

        def go_back() -> None:
            self.destroy_timer(timer)
            self.trigger_deactivate()
            self.trigger_cleanup()
            words = f"Configuring failed: {err} Then configure the node again."
            self.get_logger().error(words)
            self.health.say("lifecycle", ERROR, words)

        timer = self.create_timer(0.0, go_back)  # not inside the callback of what is destroyed

    # ---- parameters

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        """Validate; take over what is live, refuse what needs another configuration."""
        before = self.config
        try:
            known: dict[str, Any] = {}
            for p in parameters:
                for schema, own in ((self.Config, known), (CommonConfig, {})):
                    if p.name in schema.__dataclass_fields__:
                        own[p.name] = value_to_set(
                            schema, p.name, p.value, configured=before is not None
                        )
            if before is not None and known:
                self.config = replace(before, **known)
                self.changed(set(known))
        except SysIdError as err:
            self.config = before
            return SetParametersResult(successful=False, reason=str(err))
        return SetParametersResult(successful=True)

    # ---- helpers

    def use_robot(self, source: str) -> None:
        """Take the robot from a file or name, or, when that is empty, from `robot_description`."""

        def got(model: RobotModel) -> None:
            self.model, self.health.hardware_id = model, model.name
            self.got_robot(model)

        self._robot_source = RobotSource(self, source, got)

    def subscribe_to_data(
        self,
        message_type: type,
        topic: str,
        callback: Callable[..., None],
        *,
        raw: bool = False,
        depth: int = DATA.depth,
    ) -> None:
        """Subscribe with the qualities that the publisher offers, once it is there."""
        AdaptiveSubscription(self, message_type, topic, callback, raw=raw, depth=depth)

    async def wait_until(self, done: Callable[[], bool], timeout_s: float) -> None:
        """In a coroutine: let other callbacks run until a condition holds or time is up."""
        finished: Future = Future()
        end = self.now_ns() + round(timeout_s * 1e9)

        def poll() -> None:
            if not finished.done() and (done() or self.now_ns() > end):
                finished.set_result(None)

        timer = self.create_timer(0.05, poll)
        self._waits.add(timer)
        await finished
        self._waits.discard(timer)
        self.destroy_timer(timer)

    def _look_for_twins(self) -> None:
        """Two nodes of one name publish on the same topics, each as if it were alone."""
        mine = (self.get_name(), self.get_namespace())
        if self.get_node_names_and_namespaces().count(mine) < 2:
            self.health.forget("twin")
            return
        words = f"Another node is called {self.get_fully_qualified_name()} too: end one of them."
        self._tell(words, key="twin")
        self.health.say("twin", ERROR, words)

    def now_ns(self) -> int:
        """The node's clock [ns]."""
        return int(self.get_clock().now().nanoseconds)

    def diagnose(self, level: bytes, message: str, **values: object) -> None:
        """Say what the node is doing."""
        self.health.say("state", level, message, **values)
