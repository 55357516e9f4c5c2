# SPDX-License-Identifier: Apache-2.0
"""A goal or a service under way takes no processor time while it waits, and its result arrives."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from busy_machine import patience  # noqa: E402
from rclpy.action import ActionClient, CancelResponse  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.experimental.events_executor import EventsExecutor  # noqa: E402
from rclpy.task import Future  # noqa: E402
from robot_sysid.action import ExecuteTrajectory  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from sysid_nodes.client import LiveError, node_client, own_domain  # noqa: E402
from sysid_nodes.client.node_client import NodeClient  # noqa: E402
from sysid_nodes.lifecycle import Ended, SingleGoalAction  # noqa: E402
from sysid_nodes.lifecycle.coroutines import CoroutineActionServer, answer_later  # noqa: E402
from sysid_rqt.actions import Caller  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture(params=[EventsExecutor, SingleThreadedExecutor])
def executor(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with own_domain() as domain:
        for key, value in domain.items():
            monkeypatch.setenv(key, value)
        rclpy.init(args=[])
        executor = request.param()
        executor.add_node(rclpy.create_node("waiting"))
        yield executor
        rclpy.shutdown()


def spun(executor: Any, seconds: float) -> int:
    """How often the executor found something to do in some seconds."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
        count += 1
    return count


def spin_until(executor: Any, done: Callable[[], object]) -> None:
    end = time.monotonic() + 20.0 * patience()
    while not done():
        executor.spin_once(timeout_sec=0.1)
        assert time.monotonic() < end, "in vain"


def test_a_service_that_waits_for_another_leaves_the_executor_asleep(executor: Any) -> None:
    (node,) = executor.get_nodes()
    waits: list[Future] = []

    async def answer(request: Any, response: Trigger.Response) -> Trigger.Response:
        waits.append(Future(executor=executor))
        response.message = await Ended(waits[-1])
        return response

    service = node.create_service(Trigger, "answer", answer)
    answer_later(service)
    client = node.create_client(Trigger, "answer")
    spin_until(executor, client.service_is_ready)
    asked = [client.call_async(Trigger.Request()) for _ in range(2)]
    spin_until(executor, lambda: len(waits) == 2)
    spun(executor, 0.5)  # discovery ends
    assert spun(executor, 1.0) < 50, "it is polled"
    waits[1].set_result("second")
    spin_until(executor, asked[1].done)
    assert asked[1].result().message == "second" and not asked[0].done()
    waits[0].set_result("first")
    spin_until(executor, asked[0].done)
    assert asked[0].result().message == "first"
    last = client.call_async(Trigger.Request())
    spin_until(executor, lambda: len(waits) == 3)
    node.destroy_service(service)
    waits[2].set_result("too late")
    spun(executor, 0.3)
    assert not last.done()


def test_a_goal_under_way_leaves_the_executor_asleep(executor: Any) -> None:
    (node,) = executor.get_nodes()
    waits: list[Future] = []

    async def play(goal: Any) -> ExecuteTrajectory.Result:
        for _ in range(2):
            waits.append(Future(executor=executor))
            await Ended(waits[-1])
        goal.succeed()
        return ExecuteTrajectory.Result(success=True, final_state=waits[-1].result())

    server = CoroutineActionServer(node, ExecuteTrajectory, "execute", play)
    client = ActionClient(node, ExecuteTrajectory, "execute")

    def until(done: Callable[[], object]) -> None:
        spin_until(executor, done)

    until(client.server_is_ready)
    sent = client.send_goal_async(ExecuteTrajectory.Goal())
    until(sent.done)
    result = sent.result().get_result_async()
    until(lambda: waits)
    spun(executor, 0.5)  # discovery ends
    assert spun(executor, 1.0) < 50, "it is polled"
    waits[0].set_result("first")
    until(lambda: len(waits) == 2)
    assert not result.done()
    waits[1].set_result("done")
    until(result.done)
    assert result.result().result.success and result.result().result.final_state == "done"
    server.destroy()
    client.destroy()


def until_cancelled(executor: Any, ended: list[str]) -> CoroutineActionServer:
    """Server of goals that last until they are cancelled."""
    waits: list[Future] = []

    async def play(goal: Any) -> ExecuteTrajectory.Result:
        waits.append(Future(executor=executor))
        await Ended(waits[-1])
        goal.canceled()
        ended.append(waits[-1].result())
        return ExecuteTrajectory.Result()

    def cancel(_: Any) -> CancelResponse:
        waits[-1].set_result("cancelled")
        return CancelResponse.ACCEPT

    (node,) = executor.get_nodes()
    return CoroutineActionServer(node, ExecuteTrajectory, "execute", play, cancel_callback=cancel)


def test_a_goal_that_is_accepted_after_its_sender_has_given_up_is_cancelled(executor: Any) -> None:
    ended: list[str] = []
    until_cancelled(executor, ended)
    client = NodeClient()
    client.patience = 0.05  # half a second
    spin_until(executor, ActionClient(client.node, ExecuteTrajectory, "execute").server_is_ready)
    late = threading.Timer(1.5, lambda: spin_until(executor, lambda: ended))
    late.start()
    with pytest.raises(LiveError, match="take the goal"):
        client.act(ExecuteTrajectory, "execute", ExecuteTrajectory.Goal(), print, 10.0)
    late.join()
    assert ended == ["cancelled"]


def test_a_wait_that_takes_long_says_once_what_it_waits_for(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_client, "_LONG_S", 0.1)
    client, said = NodeClient(), []
    client.say = said.append
    client.wait_until(lambda: True, 1.0, "nothing")
    with pytest.raises(LiveError):
        client.wait_until(lambda: False, 0.4, "the robot")
    assert said == ["Waiting for the robot, at most 0 s."]


def test_a_stop_button_reaches_a_goal_that_is_still_on_its_way(executor: Any) -> None:
    (node,) = executor.get_nodes()
    ended: list[str] = []
    until_cancelled(executor, ended)
    caller = Caller(node, lambda text, good: None)
    spin_until(executor, ActionClient(node, ExecuteTrajectory, "execute").server_is_ready)
    caller.send_goal(ExecuteTrajectory, "execute", ExecuteTrajectory.Goal())
    while not caller._waiting:
        caller.poll()
        executor.spin_once(timeout_sec=0.1)
    caller.cancel()

    def over() -> bool:
        caller.poll()
        return bool(ended)

    spin_until(executor, over)
    assert ended == ["cancelled"]


def test_a_goal_that_a_deactivation_has_stopped_stays_unwanted_when_the_node_is_active_again() -> (
    None
):
    wanted: list[bool] = []

    async def run(_: Any) -> ExecuteTrajectory.Result:
        wanted.append(action.wanted)
        action.stop()
        wanted.append(action.wanted)
        action.accepting = True  # active again
        wanted.append(action.wanted)
        return ExecuteTrajectory.Result()

    node: Any = SimpleNamespace()
    action = SingleGoalAction(node, ExecuteTrajectory, "run", run, print, lambda: None)
    goal: Any = SimpleNamespace(is_cancel_requested=False, abort=lambda: None)
    asyncio.run(action._on_execute(goal))
    assert wanted == [True, False, False]
