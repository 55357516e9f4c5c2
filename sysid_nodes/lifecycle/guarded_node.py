# SPDX-License-Identifier: Apache-2.0
"""Node that reports errors in callbacks instead of raising them."""

from __future__ import annotations

import functools
import inspect
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleNode
from rclpy.timer import Timer

from sysid_core.clock_gate import ClockGate
from sysid_core.errors import SysIdError
from sysid_nodes.lifecycle.actions import Actions
from sysid_nodes.lifecycle.clocks import ClockWatch
from sysid_nodes.lifecycle.coroutines import answer_later
from sysid_nodes.lifecycle.health import Health, Level
from sysid_nodes.lifecycle.newest import Newest
from sysid_nodes.lifecycle.subscriptions import LossWatch

Report = Callable[[BaseException], str]


def _answer(arguments: tuple[Any, ...], words: str) -> Any:
    """Response of a failed service callback; None for other callbacks."""
    response = arguments[1] if len(arguments) == 2 else None
    if hasattr(response, "success") and hasattr(response, "message"):
        response.success, response.message = False, words
    return response


def guarded(callback: Callable[..., Any], report: Report) -> Callable[..., Any]:
    """Wrap a callback or coroutine, so that its errors are reported instead of raised.

    Args:
        callback: Callback of a subscription, timer or service.
        report: Function that is called with the error, and returns the answer to the caller of a
            service.
    """
    if inspect.iscoroutinefunction(callback):

        @functools.wraps(callback)
        async def coroutine(*arguments: Any) -> Any:
            try:
                return await callback(*arguments)
            except Exception as err:
                return _answer(arguments, report(err))

        return coroutine

    @functools.wraps(callback)
    def function(*arguments: Any) -> Any:
        try:
            return callback(*arguments)
        except Exception as err:
            return _answer(arguments, report(err))

    return function


def words_of(err: BaseException) -> str:
    """Return the error message for a person; errors of other packages include the type of the
    exception.
    """
    return str(err) if isinstance(err, SysIdError) else f"{type(err).__name__}: {err}"


_LOG_AGAIN_S = 5.0


class GuardedNode(LifecycleNode):
    """Node in which an error of a callback becomes a throttled log message and a diagnostic.

    Publishers and subscriptions have no event callbacks, and actions are never destroyed, because
    either could end the process (see `Actions`).

    Attributes:
        health: Diagnostics of the node.
        actions: Action servers and clients of the node.
        losses: Subscriptions whose lost messages are reported.
        clocks: Gates whose clock offsets are reported.
    """

    def __init__(self, name: str) -> None:
        self._logged: Newest[str, float] = Newest()
        super().__init__(name)
        self.health = Health(self)
        self.actions = Actions(self)
        self.losses = LossWatch(self)
        self.clocks = ClockWatch(self)

    def create_publisher(self, msg_type: Any, topic: str, *a: Any, **k: Any) -> Any:
        """Create a publisher without event callbacks."""
        k.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        return super().create_publisher(msg_type, topic, *a, **k)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Any, *a: Any, **k: Any
    ) -> Any:
        """Create a subscription with guarded callbacks and without event callbacks."""
        callback = guarded(callback, partial(self._fault_in, topic))
        k.setdefault("event_callbacks", SubscriptionEventCallbacks(use_default_callbacks=False))
        return super().create_subscription(msg_type, topic, callback, *a, **k)

    def destroy_subscription(self, subscription: Any) -> bool:
        """Destroy a subscription."""
        self.losses.forget(subscription)
        return bool(super().destroy_subscription(subscription))

    def create_service(self, srv_type: Any, srv_name: str, callback: Any, **k: Any) -> Any:
        """Create a service with a guarded callback; a coroutine may only await `Ended`."""
        waits = inspect.iscoroutinefunction(callback)
        callback = guarded(callback, partial(self._fault_in, srv_name))
        service = super().create_service(srv_type, srv_name, callback, **k)
        if waits:
            answer_later(service)
        return service

    def create_timer(self, timer_period_sec: float, callback: Any, *a: Any, **k: Any) -> Timer:
        """Create a timer with a guarded callback."""
        callback = guarded(callback, partial(self._fault_in, "work"))
        return super().create_timer(timer_period_sec, callback, *a, **k)

    def now_ns(self) -> int:
        """Return the time of the node's clock [ns]."""
        return int(self.get_clock().now().nanoseconds)

    def through(self, gate: ClockGate, stamp: Time) -> int:
        """Return the stamp of a message [ns] after a check of its age; before simulated time
        begins, any stamp is accepted.

        Raises:
            StampError: The stamp is refused.
        """
        stamp_ns, now_ns = stamp.sec * 1_000_000_000 + stamp.nanosec, self.now_ns()
        return gate.take(stamp_ns, now_ns) if now_ns else stamp_ns

    def diagnose(self, level: Level, message: str, **values: object) -> None:
        """Set the state of the node in its diagnostics."""
        self.health.say("state", level, message, **values)

    def _fault_in(self, where: str, err: BaseException) -> str:
        words = words_of(err)
        if not isinstance(err, SysIdError):
            trace = "".join(traceback.format_exception(err))
            self.log_error(f"{where}: {words}\n{trace}", key=f"{where}{type(err)}")
        else:
            self.log_error(f"{where}: {words}", key=where)
        self.health.fault(where, words)
        return words

    def complain(self, err: SysIdError, what: str = "") -> None:
        """Report an error in the log (throttled) and in the diagnostics."""
        words = f"{what}: {err}" if what else str(err)
        self.log_error(words, key=words[:40])
        self.health.fault(what or "fault", words)

    def log_error(self, words: str, key: str) -> None:
        """Log an error at most every five seconds; errors with the same `key` count as the same."""
        now = time.monotonic()
        if now - self._logged.get(key, -_LOG_AGAIN_S) >= _LOG_AGAIN_S:
            self._logged[key] = now
            self.get_logger().error(words)
