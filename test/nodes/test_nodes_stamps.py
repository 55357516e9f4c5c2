# SPDX-License-Identifier: Apache-2.0
"""Stamps in the future don't discard a weighing; late joint states are compared with tf; parts are
recognised only if someone subscribes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from robot_sysid.msg import FilteredJointState, FilteredWrench, Mark

from sysid_core.clock_gate import ClockGate, StampError
from sysid_core.errors import SignalError
from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.robot import RobotModel
from sysid_core.signals.wrench import SensorCalibration, SensorFrame
from sysid_nodes.estimator.payload import KeptCalibration, PayloadComponent
from sysid_nodes.estimator.sensor import SensorComponent
from sysid_nodes.lifecycle.clocks import ClockWatch
from sysid_nodes.lifecycle.guarded_node import GuardedNode

MODEL = RobotModel.from_urdf("ur5")
NOW_S, LATER_S = 1000, 4600
SENSOR: Any = SimpleNamespace(check_frame=lambda frame: None, take_posture=lambda *state: None)


def node(now_s: float) -> Any:
    node: Any = SimpleNamespace(
        now_ns=lambda: round(now_s * 1e9), config=SimpleNamespace(sensor_frame="")
    )
    node.clocks = SimpleNamespace(watch=lambda *gates: None)
    node.through = lambda gate, stamp: GuardedNode.through(node, gate, stamp)
    return node


def joints(stamp_s: int) -> FilteredJointState:
    keys = ("position", "velocity", "acceleration")
    rows = {key: [0.0] * MODEL.nv for key in (*keys, *(f"{key}_sd" for key in keys))}
    message = FilteredJointState(name=list(MODEL.joint_names), **rows)
    message.header.stamp = Time(sec=stamp_s)
    return message


@pytest.mark.parametrize("kind", ["joints", "wrench", "mark"])
def test_a_message_of_the_future_does_not_end_a_weighing(kind: str) -> None:
    component = PayloadComponent(node(NOW_S))
    component.session = PayloadSession(MODEL, "tool0", OnlinePayload(None))
    component._sensor = SENSOR
    component._may_tare = False
    wrench = FilteredWrench()
    wrench.header.stamp = Time(sec=LATER_S)
    mark = Mark(stamp=Time(sec=LATER_S), label="motion:start")
    component._on_joints(joints(NOW_S))
    with pytest.raises(StampError, match="in the future"):
        {
            "joints": lambda: component._on_joints(joints(LATER_S)),
            "wrench": lambda: component._on_wrench(wrench),
            "mark": lambda: component._on_mark(mark),
        }[kind]()


def test_before_simulated_time_begins_every_stamp_is_let_in() -> None:
    component = PayloadComponent(node(0.0))
    component.session = PayloadSession(MODEL, "tool0", OnlinePayload(None))
    component._sensor = SENSOR
    component._on_joints(joints(NOW_S))


def test_nothing_is_decided_about_parts_while_nobody_listens() -> None:
    component = PayloadComponent(node(NOW_S))
    component._held = SimpleNamespace(get_subscription_count=lambda: 0)  # cannot publish
    component._publish_part()


@dataclass
class Tool:
    """A tool of 150 mm on tf, as the estimator hears it, and how often it has subscribed."""

    heard: dict[str, Any] = field(default_factory=dict)
    looks: int = 0
    sensor: Any = None
    now_s: float = 0.0

    def subscribe(self, kind: Any, topic: str, take: Any, qos: Any) -> str:
        self.heard[topic] = take
        self.looks += topic == "tf"
        return topic

    def say(self, now_ns: int) -> None:
        tool = SimpleNamespace(transforms=[TransformStamped(child_frame_id="tool0_controller")])
        tool.transforms[0].header.frame_id = "tool0"
        tool.transforms[0].transform.translation.z = 0.15
        tool.transforms[0].header.stamp = Time(sec=now_ns // 10**9, nanosec=now_ns % 10**9)
        if "tf" in self.heard:
            self.heard["tf"](tool)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Tool:
    with_tf = SimpleNamespace(TFMessage=SimpleNamespace)  # the wheels lack this message
    monkeypatch.setitem(sys.modules, "tf2_msgs", SimpleNamespace(msg=with_tf))
    monkeypatch.setitem(sys.modules, "tf2_msgs.msg", with_tf)
    out = Tool()
    settings = {"sensor_frame": "tool0", "sensor_parent": "", "wrench_frames": ["tool0_controller"]}
    listening = node(0.0)
    listening.now_ns = lambda: round(out.now_s * 1e9)
    listening.config = SimpleNamespace(**settings)
    listening.create_subscription, listening.destroy_subscription = out.subscribe, out.heard.pop
    out.sensor = SensorComponent(listening, lambda model: None)
    out.sensor._sensor, out.sensor._outside = SensorFrame(MODEL, "tool0"), "tool0_controller"
    return out


AT_REST = np.zeros(MODEL.nv)


def test_a_tool_is_noticed_though_joint_states_come_two_seconds_late(tool: Tool) -> None:
    with pytest.raises(SignalError, match="150 mm"):
        for tick in range(200):  # of 50 ms
            if tick % 10 == 0:  # each mark asks anew
                tool.sensor.look_where()
            now_ns = 50_000_000 * (tick + 1000)
            tool.say(now_ns)
            tool.sensor.take_posture(now_ns - 2 * 10**9, AT_REST, AT_REST)


def test_a_tool_is_looked_for_once_in_a_motion_and_noticed_at_its_end(tool: Tool) -> None:
    tool.sensor.look_where()
    with pytest.raises(SignalError, match="150 mm"):
        for tick in range(200):
            moving = AT_REST + 0.1 * (tick < 150)
            tool.say(50_000_000 * (tick + 1000))
            tool.sensor.take_posture(50_000_000 * (tick + 1000), AT_REST, moving)
    assert 150 <= tick < 155 and tool.looks == 2


def test_a_stored_tare_is_as_old_as_its_postures_not_as_its_file(tmp_path: Path) -> None:
    of = node(NOW_S)
    of.get_fully_qualified_name = lambda: "/estimator"
    of.get_logger = lambda: SimpleNamespace(info=print, warning=print)
    kept = KeptCalibration(of, str(tmp_path), "tool0", 600.0)
    found = {}
    for stamp_s in (NOW_S - 900, NOW_S - 500, LATER_S):
        tare = SensorCalibration(
            "tool0", np.zeros(6), np.zeros(4), np.eye(10), stamp_ns=stamp_s * 10**9
        )
        kept.keep(tare)
        found[stamp_s] = kept.load() is not None
    assert found == {NOW_S - 900: False, NOW_S - 500: True, LATER_S: False}


def test_a_transform_of_the_future_is_refused(tool: Tool) -> None:
    """No posture would ever be compared with it."""
    tool.now_s = NOW_S
    tool.sensor.look_where()
    with pytest.raises(StampError, match="in the future"):
        tool.say(LATER_S * 10**9)


def test_every_node_reports_the_clocks_that_its_gates_measure() -> None:
    said: dict[str, str] = {}
    simulated = False
    listening: Any = SimpleNamespace(
        create_timer=lambda period, look, clock: None,
        get_clock=lambda: SimpleNamespace(ros_time_is_active=simulated),
        health=SimpleNamespace(
            clock=None,
            say=lambda aspect, level, words: said.update({aspect: words}),
            forget=lambda aspect: said.pop(aspect, None),
        ),
    )
    watch, gate = ClockWatch(listening), ClockGate("joint_states", ahead=np.inf)
    watch.watch(gate)
    watch.look()
    assert not said
    gate.take(4 * 10**9, 10**9, "left")
    gate.take(10**9, 10**9, "right")
    watch.look()
    assert "joint_states (left) is ahead by 3 s" in said["clocks"] and "right" not in said["clocks"]
    simulated = True
    watch.look()
    assert not said
