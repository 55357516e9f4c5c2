"""What all nodes share: lifecycle, parameters, robot description, diagnostics, shutdown."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import rclpy
from ament_index_python.packages import get_package_share_directory
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.action import ActionClient, ActionServer
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.timer import Timer
from std_msgs.msg import String

from sysid_core.errors import SysIdError
from sysid_core.robot import RobotModel
from sysid_core.signals.bags import message_definitions
from sysid_nodes.parameters import declare, read

# To controllers and late joiners: the last message stays available.
LATCHED = QoSProfile(
    depth=1,
    history=HistoryPolicy.KEEP_LAST,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Identification data: nothing may be lost in between, even when a process stalls for seconds
# (measured: depth 1-10 loses at 1 kHz; 200 loses when a busy machine stalls a node for a second).
DATA = QoSProfile(depth=4000, reliability=ReliabilityPolicy.RELIABLE)


class _Entities:
    """What a node consists of at an instant, to go back to."""

    KINDS = ("publisher", "subscription", "client", "service", "timer")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._there = {kind: set(getattr(node, f"{kind}s")) for kind in self.KINDS}
        self._actions = set(self._actions_now())

    def _actions_now(self) -> list[Any]:
        return [w for w in self._node.waitables if isinstance(w, (ActionClient, ActionServer))]

    def restore(self, keep: Collection[Any] = ()) -> None:
        """Destroy what has been made since, but for some."""
        for action in self._actions_now():
            if action not in self._actions:
                action.destroy()
        for kind, there in self._there.items():
            for entity in [e for e in getattr(self._node, f"{kind}s") if e not in there]:
                if entity not in keep:
                    getattr(self._node, f"destroy_{kind}")(entity)


class ManagedNode(LifecycleNode):
    """A lifecycle node with a typed configuration.

    Subclasses set `Config` (a frozen dataclass of `parameter` fields) and fill `configure`,
    `activate`, `deactivate` and `clean_up`; a `SysIdError` in them becomes a log message and a
    failed transition. What `activate` makes (topics, services, timers, actions) is destroyed when
    the node is deactivated, what `configure` makes when it is cleaned up.
    """

    Config: type = type(None)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        declare(self, self.Config)
        self.declare_parameter("autostart", True)
        self.config: Any = None
        self.model: RobotModel | None = None
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._waits: set[Timer] = set()
        self._unconfigured = self._inactive = _Entities(self)
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
        """The robot's description has arrived."""

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
            self.diagnose(DiagnosticStatus.ERROR, str(err))
            return TransitionCallbackReturn.FAILURE
        except Exception:  # rclpy's lifecycle would swallow it
            self.get_logger().fatal(f"{what} failed by a fault of ours:\n{traceback.format_exc()}")
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""

        self._unconfigured = _Entities(self)

        def work() -> None:
            self.config = read(self, self.Config)
            self.configure()

        return self._attempt(work, "Configuring")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        super().on_activate(state)
        self._inactive = _Entities(self)
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
        self._unconfigured.restore(keep=self._waits)
        return result

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        return self._attempt(self.clean_up, "Shutting down")

    # ---- helpers

    def use_robot(self, source: str, floating_base: bool = False) -> None:
        """Take the robot from a file or name, or, when that is empty, from `robot_description`."""

        def take(text: str) -> None:
            try:
                self.model = RobotModel.from_urdf(text, floating_base=floating_base)
            except SysIdError as err:
                self.get_logger().error(f"robot_description can't be used: {err}")
                self.diagnose(DiagnosticStatus.ERROR, str(err))
                return
            for warning in self.model.warnings:
                self.get_logger().warning(warning)
            self.got_robot(self.model)

        if source:
            self.model = RobotModel.from_urdf(source, floating_base=floating_base)
            self.got_robot(self.model)
        else:
            self.create_subscription(
                String, "robot_description", lambda message: take(message.data), LATCHED
            )

    def subscribe_to_data(
        self,
        message_type: type,
        topic: str,
        callback: Callable[..., None],
        *,
        raw: bool = False,
        depth: int = DATA.depth,
    ) -> None:
        """Subscribe with the reliability and durability that the publisher offers, once it is there.

        Args:
            message_type: Of the topic.
            topic: Its name.
            callback: Called with each message, or with its bytes.
            raw: Give bytes.
            depth: Of the queue; 1 where only the newest counts.
        """

        def attempt() -> None:
            infos = self.get_publishers_info_by_topic(self.resolve_topic_name(topic))
            if not infos:
                return
            timer.cancel()
            best_effort = any(
                i.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT for i in infos
            )
            reliability = (
                ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE
            )
            latched = all(
                i.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for i in infos
            )
            durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
            qos = QoSProfile(depth=depth, reliability=reliability, durability=durability)
            self.create_subscription(message_type, topic, callback, qos, raw=raw)

        timer = self.create_timer(0.05, attempt)

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

    def now_ns(self) -> int:
        """The node's clock [ns]."""
        return int(self.get_clock().now().nanoseconds)

    def diagnose(self, level: bytes, message: str, **values: object) -> None:
        """Publish the node's health."""
        status = DiagnosticStatus(
            level=level,
            name=self.get_fully_qualified_name(),
            message=message,
            values=[KeyValue(key=k, value=str(v)) for k, v in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)


def interface_definitions() -> dict[str, str]:
    """Texts of this package's message definitions, by type name, for bags."""
    folder = Path(get_package_share_directory("robot_sysid")) / "msg"
    return message_definitions(folder, "robot_sysid")


def _executor() -> Any:
    """The events executor takes a third of the others' time; its `spin` hangs, `spin_once` works."""
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:  # before ROS 2 Jazzy
        return SingleThreadedExecutor()
    return EventsExecutor()


def run_node(node_class: type[ManagedNode], args: list[str] | None = None) -> int:
    """Run one node until it is told to stop; files are closed whatever the signal.

    Returns:
        Exit status: 0 after an orderly end.
    """
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    stop = False

    def on_signal(signum: int, frame: object) -> None:
        nonlocal stop
        stop = True

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    node = node_class()
    executor = _executor()
    executor.add_node(node)
    try:
        while rclpy.ok() and not stop:
            executor.spin_once(timeout_sec=0.1)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        # A second signal must not interrupt the closing of files.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            node.clean_up()
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
    return 0
