# SPDX-License-Identifier: Apache-2.0
"""Client of the topics, services and actions of nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import GetParameterTypes
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.parameter import Parameter

from sysid_core.errors import SysIdError
from sysid_nodes.lifecycle import qos, take_back
from sysid_nodes.runner import Settled

_SEE = "See the diagnostics of the node (`sysid watch`) and its log."
_LAST_S = 5.0  # for a goal to end after an interruption
_LONG_S = 5.0  # of a wait that a person is told about


class LiveError(SysIdError):
    """Error of a node that did not do what was requested, or did not answer in time."""


class NodeClient:
    """Client of the topics, services and actions in one namespace; every wait has a timeout.

    Args:
        namespace: Namespace of the nodes, "" for none.
        check: Function that is called while waiting; it raises an error if something else failed
            (such as a node that ended).
        sim_time: True if the nodes take their time from /clock.

    Attributes:
        patience: Factor of all timeouts, larger than 1 for slow computers.
        say: Function that is called with a sentence if a wait takes long.
    """

    def __init__(
        self,
        namespace: str = "",
        check: Callable[[], None] = lambda: None,
        sim_time: bool = False,
    ) -> None:
        clock = [Parameter("use_sim_time", value=sim_time)]
        self.node = Node("sysid_client", namespace=namespace, parameter_overrides=clock)
        self._check = check
        self.latest: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self.patience = 1.0
        self.say: Callable[[str], None] = lambda words: None

    def wait_until(
        self, done: Callable[[], bool], timeout_s: float, what: str, *, shown: bool = False
    ) -> None:
        """Process messages until a condition holds; after some seconds say what is waited for, unless
        the progress is shown elsewhere.

        Raises:
            LiveError: The condition does not hold before the timeout.
        """
        timeout_s *= self.patience
        began = time.monotonic()
        while not done():
            self._check()
            if not shown and time.monotonic() > began + _LONG_S:
                shown = True
                self.say(f"Waiting for {what}, at most {timeout_s:.0f} s.")
            if time.monotonic() > began + timeout_s:
                raise LiveError(
                    f"Waited {timeout_s:.0f} s without success for {what}.",
                    remedy="See the logs of the nodes, and check the load of the machine and DDS (`sysid doctor`)."
                    "",
                )
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def wait_until_settled(self, topic: str, seconds: float, timeout_s: float) -> None:
        """Wait until the running payload estimate has been constant for some seconds (see
        `Settled`).
        """
        settled = Settled(0, seconds)
        self.wait_until(
            lambda: settled(self.latest.get(topic)), timeout_s, f"the payload of {topic} to settle"
        )

    def follow(self, message_type: type, topic: str) -> None:
        """Subscribe to a latched topic and keep its last message in `latest[topic]`."""

        def store(message: Any) -> None:
            self.latest[topic] = message

        self.node.create_subscription(message_type, topic, store, qos.LATCHED)

    def wait_for(self, topic: str, timeout_s: float = 20.0) -> Any:
        """Return the last message of a followed topic, and wait for the first one if none has
        arrived.
        """
        self.wait_until(lambda: topic in self.latest, timeout_s, f"a message on {topic}")
        return self.latest[topic]

    def wait_for_active(self, name: str, timeout_s: float = 90.0) -> None:
        """Wait until a lifecycle node is active.

        Raises:
            LiveError: The node refuses its configuration, or is not active before the timeout.
        """
        client = self.node.create_client(GetState, f"{name}/get_state")
        status = f"{self.node.resolve_service_name(name)}: lifecycle"
        refusals: list[str] = []

        def heard(message: DiagnosticArray) -> None:
            bad = (s for s in message.status if s.level == DiagnosticStatus.ERROR)
            refusals.extend(s.message for s in bad if s.name == status)

        diagnostics = self.node.create_subscription(DiagnosticArray, "/diagnostics", heard, 10)
        self.wait_until(client.service_is_ready, timeout_s, f"the node {name}")

        def active() -> bool:
            answer = self._asked(client, GetState.Request())
            state = State.PRIMARY_STATE_UNKNOWN if answer is None else answer.current_state.id
            if state == State.PRIMARY_STATE_UNCONFIGURED and refusals:
                raise LiveError(f"The node {name} is not active. {refusals[-1]}", remedy=_SEE)
            return bool(state == State.PRIMARY_STATE_ACTIVE)

        self.wait_until(active, timeout_s, f"the node {name} to become active")
        self.node.destroy_subscription(diagnostics)

    def _asked(self, client: Any, request: Any) -> Any:
        """Return the answer to a request, None if there is none within a second."""
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=1.0)
        return future.result() if future.done() else None

    def call(self, service_type: type, name: str, request: Any, timeout_s: float = 10.0) -> Any:
        """Call a service.

        Raises:
            LiveError: The service does not exist, does not answer, or answers with `success` false.
        """
        if name not in self._known:
            self._known[name] = self._introduced(service_type, name, timeout_s)
        future = self._known[name].call_async(request)
        self.wait_until(future.done, timeout_s, f"an answer of {name}")
        response = future.result()
        if not getattr(response, "success", True):
            said = getattr(response, "message", "it was refused.")  # of `change_state`, nothing
            raise LiveError(f"{name}: {said}", remedy=_SEE)
        return response

    def _introduced(self, service_type: type, name: str, timeout_s: float) -> Any:
        """Return a client of a service that knows the client.

        A server drops its answer to a client that it has not discovered yet (on busy computers).
        The clients of one participant are discovered in the order in which they were created, so
        that the server knows this one as soon as a later one has received an answer.
        """
        client = self.node.create_client(service_type, name)
        later = self.node.create_client(
            GetParameterTypes, f"{name.rpartition('/')[0]}/get_parameter_types"
        )
        for each in (client, later):
            self.wait_until(each.service_is_ready, timeout_s, f"the service {name}")

        self.wait_until(
            lambda: self._asked(later, GetParameterTypes.Request()) is not None,
            timeout_s,
            f"an answer of the node of {name}",
        )
        self.node.destroy_client(later)
        return client

    def act(
        self,
        kind: type,
        name: str,
        goal: Any,
        on_feedback: Callable[[Any], None],
        timeout_s: float,
        enough: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Execute an action; an interruption cancels it on the server, even if the server accepts the
        goal only some seconds later.

        Args:
            kind: Type of the action.
            name: Name of the action.
            goal: Goal of the action.
            on_feedback: Function that is called with each feedback.
            timeout_s: Longest time until the end of the goal [s].
            enough: Function that returns True to cancel the goal early; this is not an error.

        Raises:
            LiveError: The goal was refused, aborted or not completed in time; the message is that
                of the node.
        """
        client = ActionClient(self.node, kind, name)
        self.wait_until(client.server_is_ready, 20.0, f"the action {name}")
        sent = client.send_goal_async(
            goal, feedback_callback=lambda message: on_feedback(message.feedback)
        )
        try:
            self.wait_until(sent.done, 10.0, f"{name} to take the goal")
            handle = sent.result()
            if handle is None or not handle.accepted:
                raise LiveError(
                    f"{name} refused the goal.",
                    remedy="Check if the node is active, and if another goal is running.",
                )
            future = handle.get_result_async()
            over = lambda: future.done() or enough()  # noqa: E731
            self.wait_until(over, timeout_s, f"{name} to end", shown=True)
            ended_early = not future.done()
            if ended_early:
                handle.cancel_goal_async()
                self.wait_until(future.done, timeout_s, f"{name} to stop")
        except BaseException:
            back, end = take_back(sent), time.monotonic() + _LAST_S
            while not back.done() and time.monotonic() < end:
                rclpy.spin_once(self.node, timeout_sec=0.05)
            raise
        answer = future.result()
        if ended_early and answer.status == GoalStatus.STATUS_CANCELED:
            return answer.result
        if answer.status != GoalStatus.STATUS_SUCCEEDED or not answer.result.success:
            raise LiveError(f"{name} did not succeed: {answer.result.message}", remedy=_SEE)
        return answer.result
