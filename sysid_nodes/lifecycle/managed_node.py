# SPDX-License-Identifier: Apache-2.0
"""Base class of all nodes, with lifecycle, robot description, waits, and detection of other nodes
with the same name.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile
from rclpy.task import Future
from rclpy.timer import Timer

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_nodes.lifecycle import qos
from sysid_nodes.lifecycle.configured_node import ConfiguredNode
from sysid_nodes.lifecycle.coroutines import Ended
from sysid_nodes.lifecycle.health import Level
from sysid_nodes.lifecycle.robot_description import RobotSource
from sysid_nodes.lifecycle.subscriptions import AdaptiveSubscription

if TYPE_CHECKING:
    from sysid_nodes.lifecycle.guarded_node import GuardedNode


class Entities:
    """Record of the current publishers, subscriptions, clients, services, timers and actions of a
    node.
    """

    KINDS = ("publisher", "subscription", "client", "service", "timer")

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._there = {kind: set(getattr(node, f"{kind}s")) for kind in self.KINDS}
        self._served = frozenset(node.actions.open)

    def restore(self, keep: Collection[Any] = ()) -> None:
        """Destroy all entities created since the record was made, except those in `keep`; action
        servers are closed instead.
        """
        self._node.actions.close(keep=self._served)
        for kind, there in self._there.items():
            for entity in [e for e in getattr(self._node, f"{kind}s") if e not in there]:
                if entity not in keep:
                    getattr(self._node, f"destroy_{kind}")(entity)


_LOOK_S = 2.0
_ASPECT = "twin"


class TwinWatch:
    """Detector of other nodes with the name of this node.

    Args:
        node: Node whose name must be unique.
    """

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._timer = node.create_timer(_LOOK_S, self._look, clock=node.health.clock)

    def _look(self) -> None:
        node = self._node
        mine = (node.get_name(), node.get_namespace())
        if node.get_node_names_and_namespaces().count(mine) < 2:
            node.health.forget(_ASPECT)
            return
        words = (
            f"Another node is called {node.get_fully_qualified_name()} as well: end one of them."
        )
        node.log_error(words, key=_ASPECT)
        node.health.say(_ASPECT, Level.ERROR, words)


_PERIOD_S = 0.05


class Waits:
    """Coroutines of a node that wait for a condition or a time.

    Args:
        node: Node whose coroutines wait.

    Attributes:
        timers: Timers of the current waits; they are kept when the node is deactivated.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        self.timers: set[Timer] = set()

    async def until(self, done: Callable[[], bool], timeout_s: float) -> None:
        """Wait until a condition holds or the timeout ends.

        Args:
            done: Function that returns True to end the waiting.
            timeout_s: Longest time on the steady clock [s]; simulated time is not used, because it
                may stand still and begins with a jump.
        """
        node = self._node
        finished = Future(executor=node.executor)
        end = time.monotonic() + timeout_s

        def poll() -> None:
            if not finished.done() and (done() or time.monotonic() > end):
                finished.set_result(None)

        timer = node.create_timer(_PERIOD_S, poll, clock=node.health.clock)
        self.timers.add(timer)
        await Ended(finished)
        self.timers.discard(timer)
        node.destroy_timer(timer)


class ManagedNode(ConfiguredNode):
    """Lifecycle node with a typed configuration and a robot.

    Subclasses set `Config` (a frozen dataclass of `parameter` fields) and implement `configure`,
    `activate`, `deactivate` and `clean_up`; a `SysIdError` in them becomes a log message and a
    failed transition. Topics, services, timers and actions that `activate` creates are destroyed
    when the node is deactivated, and those that `configure` creates when it is cleaned up. An error
    in a callback is reported and never ends the node.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.model: RobotModel | None = None
        self.waits = Waits(self)
        self._unconfigured = self._inactive = Entities(self)
        self._twins = TwinWatch(self)
        if self.get_parameter("autostart").value:
            self._starter = self.create_timer(0.0, self._autostart)

    # ---- to be filled by subclasses

    def configure(self) -> None:
        """Read `self.config`, and create publishers and services."""

    def activate(self) -> None:
        """Start the work of the node."""

    def deactivate(self) -> None:
        """Stop the work of the node, but keep its configuration."""

    def winding_down(self) -> bool:
        """Finish the current work after a request to stop; return True if more time is needed."""
        return False

    def clean_up(self) -> None:
        """Release all resources; also called at shutdown."""

    def got_robot(self, model: RobotModel) -> None:
        """Use a new robot description (callback); after an error the node returns to the state
        unconfigured.
        """

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
            self.health.say("lifecycle", Level.ERROR, f"{what} failed: {err}")
            return TransitionCallbackReturn.FAILURE
        except Exception:  # rclpy's lifecycle would swallow it
            self.get_logger().fatal(
                f"{what} failed because of an internal error:\n{traceback.format_exc()}"
            )
            return TransitionCallbackReturn.ERROR
        self.health.say("lifecycle", Level.OK, f"{what} is done.")
        return TransitionCallbackReturn.SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback of the transition `configure`."""
        self._unconfigured = Entities(self)

        def work() -> None:
            self.read_parameters()
            self.configure()

        result = self._attempt(work, "Configuring")
        if result is not TransitionCallbackReturn.SUCCESS:
            self.config = self.model = None
            self._unconfigured.restore(keep=self.waits.timers)
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback of the transition `activate`."""
        super().on_activate(state)
        self._inactive = Entities(self)
        return self._attempt(self.activate, "Activating")

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback of the transition `deactivate`."""
        result = self._attempt(self.deactivate, "Deactivating")
        self._inactive.restore(keep=self.waits.timers)
        super().on_deactivate(state)
        return result

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback of the transition `cleanup`."""
        result = self._attempt(self.clean_up, "Cleaning up")
        self.config = self.model = None
        self._unconfigured.restore(keep=self.waits.timers)
        return result

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback of the transition `shutdown`."""
        return self._attempt(self.clean_up, "Shutting down")

    def give_up_configuration(self, err: SysIdError) -> None:
        """Return to the state unconfigured, because the configuration does not fit the robot."""

        def go_back() -> None:
            self.destroy_timer(timer)
            self.trigger_deactivate()
            self.trigger_cleanup()
            words = f"Configuring failed: {err} Then configure the node again."
            self.get_logger().error(words)
            self.health.say("lifecycle", Level.ERROR, words)

        timer = self.create_timer(0.0, go_back)  # not inside the callback of what is destroyed

    def use_robot(self) -> None:
        """Load the robot of the parameter `robot` from a file or by its name, or, if that is empty,
        from the topic `robot_description`.
        """

        def got(model: RobotModel) -> None:
            self.model, self.health.hardware_id = model, model.name
            self.got_robot(model)

        self._robot_source = RobotSource(self, got)

    def subscribe_to_data(
        self,
        message_type: type,
        topic: str,
        callback: Callable[..., None],
        *,
        raw: bool = False,
        qos: QoSProfile = qos.DATA,
    ) -> None:
        """Subscribe with the QoS of the publisher, once it exists."""
        AdaptiveSubscription(self, message_type, topic, callback, raw=raw, qos=qos)
