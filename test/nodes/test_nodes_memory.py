# SPDX-License-Identifier: Apache-2.0
"""New names in messages don't fill the memory: the size of every container of a node is limited."""

from __future__ import annotations

import contextlib
import types
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: run `make test`")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from robot_sysid.msg import StreamStatistics
from sensor_msgs.msg import JointState

from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind
from sysid_core.signals.wrench import SensorFrame
from sysid_monitor.graph_view import GraphView
from sysid_nodes.data_logger.live_filtering import LiveFiltering
from sysid_nodes.estimator.sensor import SensorComponent
from sysid_nodes.lifecycle.guarded_node import GuardedNode
from sysid_nodes.trajectory_executor.inputs import RobotState

MODEL = RobotModel.from_urdf("ur5")
NAMES = [f"invented_{k}" for k in range(1500)]
MOST = 1000  # entries of one container


def entries(thing: Any, seen: set[int] | None = None) -> int:
    """Number of entries of the largest container that an object reaches, caches included."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, type | types.ModuleType | str | bytes | RobotModel):
        return 0
    seen.add(id(thing))
    inside: list[Any] = []
    size = 0
    if isinstance(thing, dict):
        size, inside = len(thing), [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset | deque):
        size, inside = len(thing), list(thing)
    elif hasattr(thing, "cache_info"):
        size = thing.cache_info().currsize
    elif type(thing).__module__.startswith("sysid"):
        inside = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    return max([size, *(entries(part, seen) for part in inside)])


def nothing(*_: Any, **__: Any) -> None: ...


def a_node(**more: Any) -> Any:
    log = SimpleNamespace(info=nothing, warning=nothing, error=nothing)
    parts = {"get_logger": lambda: log, "health": SimpleNamespace(say=nothing, forget=nothing)}
    parts["clocks"] = SimpleNamespace(watch=nothing)
    return SimpleNamespace(create_subscription=nothing, **parts, **more)


def wrench(frame: str) -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id, message.header.stamp.sec = frame, 1000
    return message


def logger() -> tuple[Any, Callable[[str], Any]]:
    sent: Any = nothing
    filtering = LiveFiltering(
        effort_kind=EffortKind.UNKNOWN, max_gap_s=0.1, stale_s=1.0, send_joints=sent, send_wrench=sent
    )  # fmt: skip
    filtering.use_joints(MODEL.joint_names)

    def take(name: str) -> None:
        stamp = 10**12 + 10**6 * NAMES.index(name)
        message = wrench(name)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        filtering.take_wrench(serialize_message(message), stamp)
        data = serialize_message(JointState(name=[name, name[:9]], position=[0.0, 0.0]))
        filtering.take_joints(data, stamp)

    return filtering, take


def executor() -> tuple[Any, Callable[[str], Any]]:
    state = RobotState(lambda: 1000.0, False)
    state.of(MODEL)

    def take(name: str) -> None:
        state.on_joints(JointState(name=[name], position=[0.0]))
        state.on_wrench(wrench(name))

    return state, take


def estimator() -> tuple[Any, Callable[[str], Any]]:
    config = SimpleNamespace(sensor_frame="tool0", sensor_parent="", wrench_frames=())
    sensor = SensorComponent(a_node(config=config), nothing)
    sensor._sensor = SensorFrame(MODEL, "tool0")
    return sensor, sensor.check_frame


def any_node() -> tuple[Any, Callable[[str], Any]]:
    with contextlib.suppress(Exception):  # without a context of ROS it goes no further
        GuardedNode.__init__(node := object.__new__(GuardedNode), "node")
    log = SimpleNamespace(error=nothing)
    said: Any = SimpleNamespace(_logged=node._logged, get_logger=lambda: log)
    return said._logged, lambda name: GuardedNode.log_error(said, name, name)


def monitor() -> tuple[Any, Callable[[str], Any]]:
    view = GraphView(a_node(get_namespace=lambda: "/"))

    def take(name: str) -> None:
        status = DiagnosticStatus(name=f"/{name}: x", level=DiagnosticStatus.OK)
        view._on_diagnostics(DiagnosticArray(status=[status]))
        view._on_stream(StreamStatistics(topic=name))

    return view, take


@pytest.mark.parametrize("part", [logger, executor, estimator, any_node, monitor])
def test_invented_names_fill_no_memory(part: Callable[[], tuple[Any, Any]]) -> None:
    thing, take = part()
    for name in NAMES:
        take(name)
    assert 0 < entries(thing) <= MOST
