# SPDX-License-Identifier: Apache-2.0
"""Snapshot of the topics of all nodes in one namespace, for the terminal and for rqt."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from robot_sysid.msg import (
    ExecutorState,
    Identifiability,
    InertialEstimate,
    PayloadBridgeState,
    PayloadEstimate,
    StreamStatistics,
)
from std_msgs.msg import String

from sysid_nodes.lifecycle import Newest, qos


def margins(snapshot: Snapshot) -> str:
    """Return the text with the ratio of the current value to each limit of the motion, the largest
    first.
    """
    motion = _values(snapshot, "trajectory_executor: motion")
    others = ("state", "fault", "goal_lateness_s")
    shares = {k: float(v) for k, v in motion.items() if k not in others}
    fullest = sorted(shares, key=lambda kind: -shares[kind])
    listed = ", ".join(f"{kind} {shares[kind]:.0%}" for kind in fullest)
    return f"of the limits: {listed}" if listed else ""


def recorded(snapshot: Snapshot) -> str:
    """Return the duration and size of the current recording as text."""
    bag = _values(snapshot, "data_logger: state")
    if "path" not in bag:
        return "nothing is being recorded"
    return (
        f"recording {Path(bag['path']).name}: {float(bag['seconds']):.0f} s, {bag['messages']} messages,"
        f" {int(bag['bytes']) / 1e6:.1f} MB"
    )


def _values(snapshot: Snapshot, aspect: str) -> dict[str, str]:
    return next((h.values for h in snapshot.health if h.name == aspect and h.level != "stale"), {})


def payload_state(message: Any) -> str:
    """Return the state of the running payload estimation in words."""
    names = {
        PayloadEstimate.COLLECTING: "collecting samples",
        PayloadEstimate.MASS_KNOWN: "mass known",
        PayloadEstimate.COM_KNOWN: "mass and centre of mass known",
        PayloadEstimate.INERTIA_KNOWN: "inertia known",
        PayloadEstimate.PRIOR_DOMINATED: "prior-dominated: keep moving",
    }
    return names.get(message.state, f"state {message.state}")


def bridge_state(message: Any) -> str:
    """Return the state of the payload bridge in words."""
    names = {
        PayloadBridgeState.IDLE: "nothing is proposed",
        PayloadBridgeState.PROPOSED: "waits for confirmation",
        PayloadBridgeState.SENDING: "sending",
        PayloadBridgeState.SET: "set in the controller",
        PayloadBridgeState.FAILED: "failed",
    }
    return names.get(message.state, f"state {message.state}")


STALE_S = 3.0  # a node that says nothing for so long isn't there
LEVELS = ("ok", "warn", "error", "stale")
_HISTORY = 3000  # moments of the running payload


@dataclass(frozen=True)
class NodeHealth:
    """One aspect of the diagnostics of a node.

    Attributes:
        name: Name in the form `<node>: <aspect>`.
        level: ok, warn, error or stale.
        message: Description of the problem, and the remedy.
        values: Further values by key.
        age: Age of the message [s].
    """

    name: str
    level: str
    message: str
    values: dict[str, str]
    age: float


@dataclass(frozen=True)
class PayloadMoment:
    """Running payload estimate at one instant; fields as in `PayloadEstimate`.

    Attributes:
        time: Time since the start of the view [s].
        mass: Mass [kg], with its standard deviation in `mass_sd`.
        com: Centre of mass in the sensor frame [m], with its standard deviation in `com_sd`.
        inertia: Ixx Ixy Ixz Iyy Iyz Izz about the centre of mass [kg m^2], with its standard
            deviation in `inertia_sd`.
    """

    time: float
    mass: float
    mass_sd: float
    com: tuple[float, ...]
    com_sd: tuple[float, ...]
    inertia: tuple[float, ...]
    inertia_sd: tuple[float, ...]


@dataclass(frozen=True)
class Snapshot:
    """State of all nodes at one instant; None for missing messages."""

    health: tuple[NodeHealth, ...] = ()
    executor: Any = None
    streams: dict[str, Any] = field(default_factory=dict)
    payload: Any = None
    history: tuple[PayloadMoment, ...] = ()
    parameters: Any = None
    identifiability: Any = None
    bridge: Any = None
    description: Any = None

    def hears(self, node: str) -> bool:
        """Return True if a node has reported its state recently."""
        return any(h.level != "stale" and _node_of(h.name) == node for h in self.health)

    @property
    def worst(self) -> str:
        """Worst level of all nodes; "stale" if no node reports."""
        levels = [h.level for h in self.health]
        return max(levels, key=LEVELS.index) if levels else "stale"


_MOST = 1000  # aspects of nodes; more are no robot's


class GraphView:
    """Subscriber to the state messages of all nodes.

    Args:
        node: Node that subscribes, either in the namespace of the nodes, or in the root namespace
            if `namespace` is given.
        namespace: Namespace of the nodes, if `node` is in another one.
    """

    def __init__(self, node: Node, namespace: str = "") -> None:
        self._start = time.monotonic()
        self._health: Newest[str, tuple[float, Any]] = Newest(_MOST)
        self._latest: dict[str, Any] = {}
        self._streams: Newest[str, Any] = Newest()
        self._history: deque[PayloadMoment] = deque(maxlen=_HISTORY)
        full = f"{namespace.strip('/')}/" if namespace.strip("/") else ""
        self._own = f"/{full}" if full else node.get_namespace().rstrip("/") + "/"
        live = qos_profile_sensor_data
        self._subscriptions = [
            node.create_subscription(kind, name if name[0] == "/" else f"{full}{name}", take, how)
            for kind, name, take, how in (
                (DiagnosticArray, "/diagnostics", self._on_diagnostics, 50),
                (ExecutorState, "trajectory_executor/state", self._keep("executor"), live),
                (StreamStatistics, "data_logger/statistics", self._on_stream, live),
                (PayloadEstimate, "estimator/payload_estimate", self._on_payload, qos.LATCHED),
                (InertialEstimate, "estimator/parameters", self._keep("parameters"), qos.LATCHED),
                (
                    Identifiability,
                    "estimator/identifiability",
                    self._keep("identifiability"),
                    qos.LATCHED,
                ),
                (String, "robot_description", self._keep("description"), qos.LATCHED),
                (PayloadBridgeState, "payload_bridge/state", self._keep("bridge"), qos.LATCHED),
            )
        ]
        self.node = node

    def close(self) -> None:
        """Destroy the subscriptions."""
        for subscription in self._subscriptions:
            self.node.destroy_subscription(subscription)

    def snapshot(self) -> Snapshot:
        """Return the state from all messages received so far."""
        now = time.monotonic()
        # A node that speaks no longer of an aspect has dropped it: nothing is stale about that.
        alive = {_node_of(n) for n, (when, _) in self._health.items() if now - when <= STALE_S}
        for name, (when, _) in list(self._health.items()):
            if now - when > STALE_S and _node_of(name) in alive:
                del self._health[name]
        health = tuple(
            NodeHealth(
                name=name.removeprefix(self._own),
                level="stale" if now - when > STALE_S else LEVELS[_level(status)],
                message=status.message
                if now - when <= STALE_S
                else f"no message for {now - when:.0f} s: the node may have ended",
                values={pair.key: pair.value for pair in status.values},
                age=now - when,
            )
            for name, (when, status) in sorted(self._health.items())
        )
        return Snapshot(
            health=health,
            streams=dict(self._streams),
            history=tuple(self._history),
            **self._latest,
        )

    def _keep(self, key: str) -> Any:
        def store(message: Any) -> None:
            self._latest[key] = message

        return store

    def _on_diagnostics(self, message: Any) -> None:
        now = time.monotonic()
        for status in message.status:
            if status.name.startswith(self._own):
                self._health[status.name] = (now, status)

    def _on_stream(self, message: Any) -> None:
        self._streams[message.topic] = message

    def _on_payload(self, message: Any) -> None:
        self._latest["payload"] = message
        value, sd = message.inertia, message.inertia_sd
        self._history.append(
            PayloadMoment(
                time.monotonic() - self._start,
                value.m,
                sd.m,
                (value.com.x, value.com.y, value.com.z),
                (sd.com.x, sd.com.y, sd.com.z),
                _moments(value),
                _moments(sd),
            )
        )


def _node_of(name: str) -> str:
    """Name of the node of a diagnostic `<node>: <aspect>`."""
    return name.split(":")[0]


def _level(status: Any) -> int:
    level = status.level
    return min(level[0] if isinstance(level, bytes) else int(level), 3)


def _moments(inertia: Any) -> tuple[float, ...]:
    return tuple(getattr(inertia, f"i{axes}") for axes in ("xx", "xy", "xz", "yy", "yz", "zz"))
