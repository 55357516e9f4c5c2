# SPDX-License-Identifier: Apache-2.0
"""Messages lost by DDS delay nothing where only the newest counts; elsewhere their number is
reported.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from sysid_nodes.lifecycle import Level, qos
from sysid_nodes.lifecycle.subscriptions import LossWatch, offered_qos
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig
from sysid_nodes.trajectory_executor.inputs import RobotInputs

DDS = "sysid_nodes.lifecycle.subscriptions.rclpy_implementation"


class Event:
    """DDS's `message_lost` of one subscription."""

    all: ClassVar[list[Event]] = []

    def __init__(self, handle: object, kind: object) -> None:
        self.lost: list[tuple[int, int]] = []
        self.destroyed = False
        self.all.append(self)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def take_event(self) -> Any:
        if not self.lost:
            return None
        change, total = self.lost.pop(0)
        return SimpleNamespace(total_count_change=change, total_count=total)

    def destroy_when_not_in_use(self) -> None:
        self.destroyed = True


class Subscription:
    """One of rclpy's."""

    def __init__(self, topic: str) -> None:
        self.topic_name, self.handle = topic, Event(None, None)


def test_lost_messages_are_named_with_their_topic_and_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DDS, SimpleNamespace(EventHandle=Event))
    logged: list[str] = []
    said: dict[str, dict[str, Any]] = {}
    ticks: list[Any] = []
    node: Any = SimpleNamespace(
        create_timer=lambda period, tick, clock: ticks.append(tick),
        log_error=lambda words, key: logged.append(words),
        health=SimpleNamespace(
            clock=None,
            say=lambda aspect, level, words, **more: said.update(
                {aspect: {"level": level, **more}}
            ),
        ),
    )
    watch = LossWatch(node)
    quiet: Any = Subscription("/wrench")
    lossy: Any = Subscription("/joint_states")
    watch.watch(quiet)
    watch.watch(lossy)
    Event.all[-1].lost = [(7, 7), (0, 7), (3, 10)]
    for _ in range(4):
        ticks[0]()
    assert [words.split(" were lost")[0] for words in logged] == [
        "7 messages of /joint_states",
        "3 messages of /joint_states",
    ]
    assert "(10 in total)" in logged[-1] and "network" in logged[-1]
    assert set(said) == {"lost /joint_states"}
    entry = said["lost /joint_states"]
    assert entry["level"] == Level.WARN and entry["lost"] == 10 and entry["for_s"] > 1.0
    watch.forget(lossy)
    assert Event.all[-1].destroyed
    ticks[0]()


RELIABLE, BEST_EFFORT = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT


@pytest.mark.parametrize(
    ("wanted", "offered", "latched", "read"),
    [
        (qos.NEWEST, (RELIABLE, RELIABLE), (), BEST_EFFORT),
        (qos.NEWEST, (RELIABLE,), (0,), RELIABLE),  # published on change: it must arrive
        (qos.LAST, (RELIABLE, RELIABLE), (1,), RELIABLE),
        (qos.LAST, (RELIABLE, BEST_EFFORT), (), BEST_EFFORT),
        (qos.DATA, (RELIABLE,), (), RELIABLE),
        (qos.DATA, (BEST_EFFORT,), (), BEST_EFFORT),
    ],
)
def test_a_stream_of_newest_values_is_read_best_effort_whatever_is_offered(
    wanted: QoSProfile, offered: tuple[Any, ...], latched: tuple[int, ...], read: Any
) -> None:
    durability = [
        DurabilityPolicy.TRANSIENT_LOCAL if k in latched else DurabilityPolicy.VOLATILE
        for k in range(len(offered))
    ]
    publishers = [
        SimpleNamespace(qos_profile=QoSProfile(depth=1, reliability=r, durability=d))
        for r, d in zip(offered, durability, strict=True)
    ]
    qos = offered_qos(publishers, wanted)
    assert qos.reliability == read and qos.depth == wanted.depth
    assert (qos.durability == DurabilityPolicy.TRANSIENT_LOCAL) is (len(latched) == len(publishers))


def test_the_executor_reads_states_best_effort_and_safety_inputs_reliably() -> None:
    """A reliable reader that has lost one message may receive none for seconds, which would abort
    the motion.
    """
    read: dict[str, QoSProfile] = {}
    node: Any = SimpleNamespace(
        config=TrajectoryExecutorConfig(
            safety_inputs=("/mode std_msgs/msg/Int8 data in 1 within 0.5",),
            speed_scaling_topic="/scaling",
        ),
        subscribe_to_data=lambda kind, topic, take, *, qos: read.update({topic: qos}),
        create_timer=lambda *_: None,
        clocks=SimpleNamespace(watch=lambda *gates: None),
    )
    RobotInputs(node).listen(lambda _: None)
    streams = ("joint_states", "wrench", "/scaling")
    assert all(read[topic].reliability == BEST_EFFORT for topic in streams)
    assert read["/mode"].reliability == RELIABLE
