# SPDX-License-Identifier: Apache-2.0
"""Stamps of the future: one message wipes out no weighing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from builtin_interfaces.msg import Time
from robot_sysid.msg import FilteredJointState, FilteredWrench, Mark

from sysid_core.clock_gate import StampError
from sysid_core.estimation.payload_live import OnlinePayload, PayloadSession
from sysid_core.robot import RobotModel
from sysid_nodes.estimator.payload import PayloadComponent
from sysid_nodes.lifecycle.guarded_node import GuardedNode

MODEL = RobotModel.from_urdf("ur5")
NOW_S, LATER_S = 1000, 4600
SENSOR: Any = SimpleNamespace(check_frame=lambda frame: None, take_posture=lambda *state: None)


def node(now_s: float) -> Any:
    node: Any = SimpleNamespace(
        now_ns=lambda: round(now_s * 1e9), config=SimpleNamespace(sensor_frame="")
    )
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
