# SPDX-License-Identifier: Apache-2.0
"""Messages that DDS has lost are named, once, with their number and what to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from sysid_nodes.lifecycle import WARN
from sysid_nodes.lifecycle.subscriptions import LossWatch

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
    assert "(10 in all)" in logged[-1] and "network" in logged[-1]
    assert set(said) == {"lost /joint_states"}
    entry = said["lost /joint_states"]
    assert entry["level"] == WARN and entry["lost"] == 10 and entry["for_s"] > 1.0
    watch.forget(lossy)
    assert Event.all[-1].destroyed
    ticks[0]()
