# SPDX-License-Identifier: Apache-2.0
"""The executor and goals that are accepted late or only after they have been given up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from builtin_interfaces.msg import Duration
from rclpy.task import Future

from sysid_core.execution import Outgoing
from sysid_core.planning import Trajectory
from sysid_nodes.trajectory_executor import action_drive

RESEND_NS = 97_500_000
ACTION = SimpleNamespace(  # control_msgs need not be installed
    Goal=lambda trajectory: SimpleNamespace(trajectory=trajectory, goal_time_tolerance=Duration())
)


@pytest.fixture
def c(monkeypatch: pytest.MonkeyPatch) -> Controller:
    monkeypatch.setattr(action_drive, "follow_action", lambda: ACTION)
    return Controller()


class Controller:
    """A controller's action that answers when it is told to, and a clock."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.answers: list[Future] = []
        self.cancelled: list[int] = []
        node: Any = SimpleNamespace(
            now_ns=lambda: self.now_ns,
            create_subscription=lambda *a: None,
            actions=SimpleNamespace(client=lambda kind, name: self),
        )
        self.drive = action_drive.ActionDrive(node, "arm", lambda u, q, stamp: None)
        self.drive.begin()

    def server_is_ready(self) -> bool:
        return True

    def send_goal_async(self, goal: Any, feedback_callback: Any) -> Future:
        self.answers.append(Future())
        return self.answers[-1]

    def accept(self, k: int) -> Future:
        """Accept a goal; the result of its end."""
        ended = Future()
        handle = SimpleNamespace(
            accepted=True,
            goal_id=SimpleNamespace(uuid=bytes([k] * 16)),
            cancel_goal_async=lambda: self.cancelled.append(k),
            get_result_async=lambda: ended,
        )
        self.answers[k].set_result(handle)
        return ended

    def send(self) -> None:
        still = np.zeros((2, 1))
        path = Trajectory("r", "", ("a",), np.array([0.0, 1.0]), still, still, still)
        self.drive.send(Outgoing(path, None, 0.0))


def test_lateness_beyond_the_time_between_two_goals_is_known(c: Controller) -> None:
    for _ in range(4):
        c.send()
        c.now_ns += RESEND_NS
    assert c.drive.lateness == pytest.approx(0.39), "none has been answered so far"
    for k in range(3):
        c.accept(k)
    assert c.drive.lateness == pytest.approx(0.39), "of the first"
    c.now_ns += 10 * RESEND_NS
    assert c.drive.lateness == pytest.approx(1.0725), "the last one is still on its way"
    c.accept(3)
    c.drive.begin()
    assert c.drive.lateness == 0.0


def test_a_goal_that_comes_after_the_cancel_is_cancelled_too(c: Controller) -> None:
    c.send()
    c.accept(0)
    c.send()  # it replaces the first, but hasn't come yet
    c.drive.cancel()
    assert c.cancelled == [0]
    c.accept(1)
    assert c.cancelled == [0, 1]
