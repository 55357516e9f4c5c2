# SPDX-License-Identifier: Apache-2.0
"""Messages held back or late are neither lost nor taken for the end of a recording."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from robot_sysid.msg import FilteredJointState, FilteredWrench, Mark, PayloadEstimate
from robot_sysid.srv import StartRecording, StopRecording
from sensor_msgs.msg import JointState

from sysid_core.clock_gate import ClockGate
from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind
from sysid_core.signals.bags import StoredBag, read_bag
from sysid_nodes.conversions import ns_from_stamp, stamp_from_ns
from sysid_nodes.data_logger.live_filtering import LiveFiltering
from sysid_nodes.data_logger.recorder import JOINTS, MARKS, TYPES, WRENCH, Recorder
from sysid_nodes.estimator.torque_residuals import TorqueResidualsComponent
from sysid_nodes.lifecycle import qos
from sysid_nodes.payload_bridge.node import PayloadBridgeNode
from sysid_nodes.runner import Settled

NAMES = ["a", "b"]
MODEL = RobotModel.from_urdf("ur5")
BEGIN_NS = 1_000_000_000_000


class Logger:
    """A data logger whose time, messages and waits are those of the test.

    Attributes:
        now_ns: Time [ns].
        late: Messages that arrive while the logger waits: time [s] since the wait began, and what
            then happens.
    """

    def __init__(self, folder: Path, offset_s: float = 0.0, stale_s: float = 1.0) -> None:
        self.now, self.offset_ns = BEGIN_NS, round(offset_s * 1e9)
        self.late: list[tuple[float, Callable[[], None]]] = []
        self.waited_s = 0.0
        self.pulse: list[Any] = []
        self.sent: list[FilteredWrench] = []
        nothing = lambda *a, **k: None  # noqa: E731
        node: Any = SimpleNamespace(
            config=SimpleNamespace(
                directory=str(folder), effort_kind=EffortKind.UNKNOWN, chunk_bytes=4096,
                stale_s=stale_s, tare_s=0.1,
            ),
            model=None, now_ns=lambda: self.now, waits=self, health=SimpleNamespace(say=nothing),
            create_publisher=nothing, create_service=nothing, diagnose=nothing, complain=nothing,
            create_subscription=self._subscribe, destroy_subscription=self.pulse.remove,
            get_logger=lambda: SimpleNamespace(info=nothing, error=nothing),
        )  # fmt: skip
        self.filtering = LiveFiltering(
            effort_kind=EffortKind.UNKNOWN, max_gap_s=0.1, stale_s=stale_s,
            send_joints=lambda data, plain: None,
            send_wrench=lambda data, plain: self.sent.append(
                deserialize_message(data, FilteredWrench)
            ),
        )  # fmt: skip
        self.filtering.use_joints(NAMES)
        topics = {topic: f"/{topic}" for topic in TYPES}
        self.recorder = Recorder(node, self.filtering, topics, ("", ""))

    def _subscribe(self, kind: Any, topic: str, callback: Any, how: Any, **more: Any) -> Any:
        if topic == JOINTS:
            assert how is qos.NEWEST
            self.pulse.append(callback)
        return callback

    async def until(self, done: Callable[[], bool], timeout_s: float) -> None:
        """Advance the time until the condition is true, delivering the messages that arrive
        meanwhile.
        """
        begin, late = self.now, sorted(self.late, key=lambda item: item[0])
        while not done() and (self.now - begin) * 1e-9 < timeout_s:
            self.now += 50_000_000
            while late and (self.now - begin) * 1e-9 >= late[0][0]:
                late.pop(0)[1]()
            self.recorder.watch()
        self.waited_s = (self.now - begin) * 1e-9

    def joints(self, stamp_ns: int, names: list[str] = NAMES) -> None:
        """A joint state arrives."""
        message = JointState(name=names, position=[0.1] * len(names))
        message.header.stamp = stamp_from_ns(stamp_ns + self.offset_ns)
        data = serialize_message(message)
        self.filtering.take_joints(data, self.now)
        self.recorder.put(JOINTS, data, self.now)

    def wrench(self, stamp_ns: int, fx: float = 0.0, frame: str = "ft") -> None:
        """A wrench arrives."""
        message = WrenchStamped()
        message.header.stamp = stamp_from_ns(stamp_ns + self.offset_ns)
        message.header.frame_id, message.wrench.force.x = frame, fx
        data = serialize_message(message)
        self.filtering.take_wrench(data, self.now)
        self.recorder.put(WRENCH, data, self.now)

    def mark(self, label: str) -> None:
        """A mark arrives."""
        message = Mark(stamp=stamp_from_ns(self.now), label=label)
        self.recorder.put(MARKS, serialize_message(message), self.now)

    def start(self) -> str:
        """Start a bag, and record the first states in time."""
        self.joints(self.now)
        response = self.recorder._on_start(
            StartRecording.Request(path="bag"), StartRecording.Response()
        )
        assert response.success, response.message
        for _ in range(20):
            self.now += 10_000_000
            self.joints(self.now)
        return str(response.path)

    def stop(self) -> StopRecording.Response:
        """Stop it."""
        answer = self.recorder._on_stop(StopRecording.Request(), StopRecording.Response())
        return asyncio.run(answer) if inspect.isawaitable(answer) else answer


def held_back(logger: Logger, stream: Callable[[int], None], n: int = 30) -> None:
    """The last n messages of 10 ms arrive together, 2.5 s after they were stamped."""
    stamps = [logger.now + 10_000_000 * k for k in range(1, n + 1)]
    logger.now = stamps[-3]  # then somebody stops the recording
    logger.late.append((2.5, lambda: [stream(s) for s in stamps]))


@pytest.mark.parametrize("offset_s", [0.0, -3600.0, 7.0])
def test_a_bag_is_closed_with_the_states_that_are_held_back_whatever_the_drivers_clock(
    tmp_path: Path, offset_s: float
) -> None:
    logger = Logger(tmp_path, offset_s, stale_s=4.0)
    bag = logger.start()
    held_back(logger, logger.joints)
    response = logger.stop()
    assert response.success and response.path == bag
    assert 2.4 < logger.waited_s < 2.7 and logger.recorder.bag is None
    stored = {topic.name: topic.count for topic in StoredBag.open(bag).topics}
    assert stored["/joint_states"] == 50 and response.messages == sum(stored.values())


def test_a_bag_waits_for_the_wrench_and_for_the_end_of_a_marked_motion(tmp_path: Path) -> None:
    logger = Logger(tmp_path, stale_s=60.0)
    bag = logger.start()
    logger.wrench(logger.now)
    logger.mark("motion:start")
    held_back(logger, logger.wrench)
    states = logger.now + 10_000_000 * 50
    logger.late += [(0.1, lambda: logger.joints(states)), (3.0, lambda: logger.mark("motion:end"))]
    assert logger.stop().success and 2.9 < logger.waited_s < 3.2
    stored = {topic.name: topic.count for topic in StoredBag.open(bag).topics}
    assert stored["/wrench"] == 31 and stored["/marks"] == 2


def test_a_stop_waits_for_nothing_that_ended_before_and_not_for_ever(tmp_path: Path) -> None:
    logger = Logger(tmp_path)
    logger.start()
    logger.joints(logger.now + 1_000_000)  # stamped by the driver's clock, which is ahead
    assert logger.stop().success and logger.waited_s < 0.2
    logger = Logger(tmp_path / "dead", stale_s=1.0)
    logger.start()
    logger.now += 20_000_000
    assert logger.stop().success and 0.9 < logger.waited_s < 1.6  # the driver has died
    logger = Logger(tmp_path / "patient", stale_s=60.0)
    logger.start()
    logger.now += 20_000_000
    assert logger.stop().success and logger.waited_s == pytest.approx(qos.HELD_BACK_S, abs=0.1)
    assert "Nothing is being recorded" in logger.stop().message


@pytest.mark.parametrize(
    ("who", "closed"), [(NAMES, False), (["gripper"], True), ([], True)], ids=str
)
def test_a_bag_stays_open_while_states_are_published_but_held_back(
    tmp_path: Path, who: list[str], closed: bool
) -> None:
    logger = Logger(tmp_path, stale_s=1.0)
    bag = logger.start()
    message = serialize_message(JointState(name=who, position=[0.0] * len(who)))
    for _ in range(30):  # 3 s
        logger.now += 100_000_000
        for callback in logger.pulse if who else ():
            callback(message)
        logger.recorder.watch()
    assert (logger.recorder.bag is None) is closed
    if closed:
        return
    logger.now += 10_000_000
    logger.joints(logger.now)
    logger.recorder.watch()
    assert not logger.pulse and logger.stop().success
    assert len(read_bag(bag, joints=NAMES).joints) == 21
    logger = Logger(tmp_path / "for ever", stale_s=1.0)
    logger.start()
    for _ in range(70):
        logger.now += 100_000_000
        for callback in logger.pulse:
            callback(message)
        logger.recorder.watch()
    assert logger.recorder.bag is None  # what was lost is lost


@pytest.mark.parametrize("offset_s", [0.0, -100.0, 30.0])
def test_a_tare_takes_the_readings_of_its_time_however_late_they_arrive(
    tmp_path: Path, offset_s: float
) -> None:
    logger = Logger(tmp_path, offset_s)
    step = 2_000_000
    for _ in range(50):  # with a load, before
        logger.now += step
        logger.wrench(logger.now, 9.0)
    asked = logger.now + 40 * step
    logger.now = asked
    logger.filtering.tare(asked, 0.1)
    logger.now = asked + 2_500_000_000
    for k in range(-39, 100):
        logger.wrench(asked + step * k, 9.0 if k < 0 else 2.0 if k < 50 else 5.0)
    assert logger.sent[-1].tared and logger.sent[-1].bias.force.x == pytest.approx(2.0, abs=0.1)


def test_a_payload_is_not_final_while_samples_or_the_end_of_the_run_are_under_way() -> None:
    component, session = estimator()
    settled, sent = Settled(0, 2.0), []

    def publish(now_s: float) -> bool:
        message = PayloadEstimate(samples_used=session.n)
        message.header.stamp = stamp_from_ns(component.complete_ns(BEGIN_NS + round(now_s * 1e9)))
        sent.append(ns_from_stamp(message.header.stamp) - BEGIN_NS)
        return settled(message)

    for k in range(11):  # all arrive: 0 to 1 s
        component._gates[JOINTS_OF].take(BEGIN_NS + 100_000_000 * k, BEGIN_NS + 100_000_000 * k)
    session.complete_ns = BEGIN_NS + 1_000_000_000
    final = [publish(s) for s in (1.0, 2.0, 3.0, 4.0)]  # nothing more comes: held back
    assert not any(final) and set(sent) == {1_000_000_000}
    session.n, session.complete_ns = 9, BEGIN_NS + 4_500_000_000
    assert not publish(4.5)
    session.complete_ns = BEGIN_NS + 6_600_000_000
    assert publish(6.6) and settled.samples_used == 9
    assert component.complete_ns(BEGIN_NS + 12_000_000_000) == BEGIN_NS + 12_000_000_000  # ended


JOINTS_OF = "data_logger/filtered"


def estimator() -> tuple[Any, Any]:
    """The payload estimation of an estimator node, with a session of the test's."""
    from sysid_nodes.estimator.payload import PayloadComponent

    node: Any = SimpleNamespace(
        config=SimpleNamespace(sensor_frame=""), clocks=SimpleNamespace(watch=lambda *gates: None)
    )
    component = PayloadComponent(node)
    component.session = SimpleNamespace(n=3, complete_ns=0)  # type: ignore[assignment]
    return component, component.session


def test_residuals_come_from_a_stream_that_nothing_holds_back() -> None:
    subscribed: list[Any] = []
    node: Any = SimpleNamespace(
        create_publisher=lambda *a: SimpleNamespace(get_subscription_count=lambda: 1),
        create_subscription=lambda kind, topic, take, qos, raw: subscribed.append((kind, qos)),
        create_timer=lambda *a: None,
    )
    component = TorqueResidualsComponent(node)
    component._look_for_listeners()
    assert subscribed == [(FilteredJointState, qos.NEWEST)]


@pytest.mark.parametrize("late_s", [None, 1.0, 60.0])
def test_a_proposal_waits_for_an_estimate_that_is_held_back(
    late_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=100.0)
    steady = SimpleNamespace(monotonic=lambda: clock.now)
    monkeypatch.setattr("sysid_nodes.payload_bridge.node.time", steady)
    seen: list[Any] = []

    def payload_of(message: Any, *_: Any) -> None:
        seen.append(message)
        raise RuntimeError("seen")

    monkeypatch.setattr("sysid_nodes.payload_bridge.node.payload_at_flange", payload_of)
    bridge: Any = object.__new__(PayloadBridgeNode)

    async def until(done: Callable[[], bool], timeout_s: float) -> None:
        end = clock.now + timeout_s
        while not done() and clock.now < end:
            clock.now += 0.05
            if late_s is not None and clock.now > 103.0 + late_s and len(arrived) == 1:
                arrived.append("new")
                bridge._on_payload("new")

    arrived = ["old"]
    parts = {
        "waits": SimpleNamespace(until=until),
        "now_ns": lambda self: 0,
        "config": None,
        "model": None,
    }
    for name, part in parts.items():
        monkeypatch.setattr(PayloadBridgeNode, name, part, raising=False)
    bridge._on_payload("old")
    clock.now = 100.5 if late_s is None else 103.0
    with pytest.raises(RuntimeError, match="seen"):
        asyncio.run(bridge._propose(None, None))
    assert seen == ["new" if late_s == 1.0 else "old"]
    assert clock.now == (
        100.5 if late_s is None else pytest.approx(104.0 if late_s == 1.0 else 108.0, abs=0.2)
    )


def test_the_stamp_of_now_follows_the_publishers_clock() -> None:
    gate = ClockGate("joint_states", ahead=np.inf)
    assert gate.stamp_at(5_000, "a") == 5_000  # nothing is known
    for delay in (2_000_000, 1_000_000, 3_000_000_000):
        gate.take(BEGIN_NS, BEGIN_NS + delay, "a")
    assert gate.stamp_at(BEGIN_NS + 4_000_000_000, "a") == pytest.approx(
        BEGIN_NS + 3_999_000_000, abs=70_000_000
    )
    assert gate.stamp_at(BEGIN_NS, "b") == BEGIN_NS


def test_an_estimate_covers_a_marked_run_only_up_to_its_last_sample_until_the_end_is_marked() -> (
    None
):
    session = PayloadSession(MODEL, "tool0", OnlinePayload(None))
    zero = np.zeros(MODEL.nv)

    def complete_after(stamps: range) -> float:
        """Time up to which data are complete after samples at these multiples of 10 ms [s]."""
        for k in stamps:  # of 10 ms
            session.add_wrench(BEGIN_NS + 10_000_000 * k, np.full(6, 0.01 * k))
            session.add_joints(BEGIN_NS + 10_000_000 * k, zero, zero, zero)
        session.advance()
        return (session.complete_ns - BEGIN_NS) * 1e-9

    assert session.complete_ns == 0
    assert complete_after(range(100)) == pytest.approx(0.99)
    session.add_mark(BEGIN_NS + 1_205_000_000, "motion:start")
    assert complete_after(range(100, 200)) == pytest.approx(1.205)
    session.add_mark(BEGIN_NS + 1_805_000_000, "motion:end")  # late
    assert complete_after(range(200, 210)) == pytest.approx(2.09)
