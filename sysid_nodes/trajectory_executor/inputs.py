# SPDX-License-Identifier: Apache-2.0
"""Inputs of the executor: joint states, wrench, safety topics, speed scaling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from sysid_core.clock_gate import ClockGate
from sysid_core.errors import SysIdError
from sysid_core.execution import Continuity, ExecutorSettings, Measured, PositionRates
from sysid_core.robot import RobotModel
from sysid_core.signals import EffortKind
from sysid_nodes import conversions
from sysid_nodes.lifecycle import Level, Newest, qos
from sysid_nodes.trajectory_executor.config import TrajectoryExecutorConfig
from sysid_nodes.trajectory_executor.safety_inputs import SafetyInputs

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

NO_SCALING = "none"
_STALE_S = _WATCH_S = 1.0


class SpeedScaling:
    """Speed scaling of the robot, from a topic in percent.

    Args:
        topic: Name of the topic; `none` for a robot without a slider, empty if no topic reports it.
    """

    def __init__(self, topic: str) -> None:
        self.topic = "" if topic == NO_SCALING else topic
        self._fixed = 1.0 if topic == NO_SCALING else None
        self._seen: tuple[float, float] | None = None

    def take(self, percent: float, now: float) -> None:
        """Store a received percentage with its arrival time [s].

        Raises:
            SysIdError: The value is not a percentage.
        """
        if not math.isfinite(percent) or not 0.0 <= percent <= 100.5:
            raise SysIdError(
                f"{self.topic} reports {percent} %, which is not a valid speed scaling.",
                remedy="Give the topic with the driver's speed scaling in per cent.",
            )
        self._seen = (min(percent / 100.0, 1.0), now)

    def value(self, now: float) -> float | None:
        """Return the speed scaling between 0 and 1 at a time [s]; None if unknown or outdated."""
        return self._fixed if self._seen is None or self.is_late(now) else self._seen[0]

    def is_late(self, now: float) -> bool:
        """Return True if the topic has reported the speed scaling, but not recently."""
        return self._seen is not None and now - self._seen[1] > _STALE_S


class RobotState:
    """Newest state of the robot as a `Measured`, from joint states and wrenches.

    Joint states of other drivers on the same topic (such as a gripper's) are ignored. Velocities
    that a driver does not measure are computed from its positions.

    Args:
        now: Function that returns the current time, for messages without a stamp [s].
        has_torques: True if the efforts are torques.
    """

    def __init__(self, now: Callable[[], float], has_torques: bool) -> None:
        self._now, self._has_torques = now, has_torques
        self._robot: tuple[str, ...] = ()
        self._continuity, self._broken_at = Continuity(np.zeros(0)), -math.inf
        self._rates = PositionRates()
        self._wrench: tuple[float, np.ndarray] | None = None
        # Whether a state is too old, new or out of order is asked where it is used, at every step.
        self.gates = {t: ClockGate(t, ahead=math.inf) for t in ("joint_states", "wrench")}
        self.measured: Measured | None = None
        self.others: Newest[tuple[str, ...], bool] = Newest()  # joints of each other driver

    def of(self, model: RobotModel) -> None:
        """Use only the joints of this robot from now on, and ignore other joints in the messages."""
        self._robot, self.measured = tuple(model.joint_names), None
        self._broken_at = -math.inf
        speed = np.where(model.velocity_limits > 0.0, model.velocity_limits, math.inf)
        self._continuity = Continuity(speed, ExecutorSettings.start_tolerance)
        self.others.clear()

    def on_joints(self, message: JointState) -> None:
        """Store a received joint state."""
        names = tuple(message.name)
        if set(names).isdisjoint(self._robot):
            self.others[names] = True
            return
        stamp = self._stamp("joint_states", message, names[0])
        q, v = np.array(message.position), np.array(message.velocity)
        if set(names).issuperset(self._robot) and len(q) == len(names):
            now, columns = self._now(), [names.index(name) for name in self._robot]
            if self._continuity.breaks(now, stamp, q[columns]):
                self._broken_at = now
        if np.isnan(v).all():  # also where there are none
            rates = self._rates.update(stamp, q)
            if rates is None:
                return
            v = rates
        torques = self._has_torques and len(message.effort) == len(names)
        effort = np.array(message.effort) if torques else None
        wrench_stamp, wrench = self._wrench or (None, None)
        self.measured = Measured(stamp, names, q, v, effort, wrench, wrench_stamp)

    def on_wrench(self, message: WrenchStamped) -> None:
        """Store a received wrench; its age counts from its arrival, because sensors have separate
        clocks.
        """
        self._stamp("wrench", message, message.header.frame_id)
        wrench = conversions.wrench_from_message(message.wrench)
        self._wrench = (self._now(), wrench)

    def _stamp(self, topic: str, message: JointState | WrenchStamped, publisher: str) -> float:
        stamp, now_ns = conversions.ns_from_stamp(message.header.stamp), round(self._now() * 1e9)
        return self.gates[topic].take(stamp, now_ns, publisher) * 1e-9

    @property
    def problem(self) -> str:
        """Contradiction between recent joint states; empty if there is none."""
        jumps = 0.0 <= self._now() - self._broken_at < _WATCH_S  # time may be set back
        return "joint_states jumps farther than the robot can move" if jumps else ""

    @property
    def has_wrench(self) -> bool:
        """True if a wrench has been received."""
        return self._wrench is not None

    def begin(self) -> None:
        """Start a run; a sensor without recent measurements counts as absent."""
        if self._wrench is not None and self._now() - self._wrench[0] > 10.0:
            self._wrench = None
        for gate in self.gates.values():
            gate.forget()

    def publishers_hint(self, publishers: list[str]) -> str:
        """Return the explanation of contradictory joint states from several publishers; empty if
        there is one publisher.
        """
        if len(publishers) < 2 + len(self.others):  # a gripper's driver is one of them
            return ""
        backwards = self.gates["joint_states"].backwards
        out_of_order = f" {backwards} states came out of order." if backwards else ""
        return (
            f" joint_states has {len(publishers)} publishers ({', '.join(sorted(publishers))}):"
            f" only one may publish this robot's joints.{out_of_order}"
        )


class RobotInputs:
    """Subscriptions to all inputs from the robot, with the newest value of each.

    Args:
        node: Configured node that subscribes.
    """

    def __init__(self, node: ManagedNode) -> None:
        self._node = node
        c: TrajectoryExecutorConfig = node.config
        self.robot = RobotState(self.now, EffortKind(c.effort_kind).is_torque)
        node.clocks.watch(*self.robot.gates.values())
        self.safety = SafetyInputs(c.safety_inputs, c.enable_topic)
        self.scaling = SpeedScaling(c.speed_scaling_topic)

    def listen(self, on_safety: Callable[[str], None]) -> None:
        """Subscribe to all inputs.

        Args:
            on_safety: Function that is called with the reason if a safety input forbids motion.
        """
        node = self._node
        node.subscribe_to_data(JointState, "joint_states", self.robot.on_joints, qos=qos.NEWEST)
        node.subscribe_to_data(WrenchStamped, "wrench", self.robot.on_wrench, qos=qos.NEWEST)
        self.safety.listen(
            lambda kind, topic, take: node.subscribe_to_data(kind, topic, take, qos=qos.LAST),
            self.now,
            on_safety,
        )
        node.create_timer(_WATCH_S, self.watch)
        if self.scaling.topic:
            node.subscribe_to_data(
                Float64,
                self.scaling.topic,
                lambda message: self.scaling.take(message.data, self.now()),
                qos=qos.NEWEST,
            )

    def watch(self) -> None:
        """Report in the diagnostics every condition that would end a motion, even at rest."""
        health = self._node.health
        said = {"publishers": self.publishers_hint, "safety": self.problem}
        for aspect, words in said.items():
            if words:
                health.say(aspect, Level.WARN, words.strip())
            else:
                health.forget(aspect)

    def now(self) -> float:
        """Return the time of the node's clock [s].

        Simulated time is never earlier than the newest state: after a long check, states may be
        processed before the `/clock` message that was sent with them.
        """
        now, measured = self._node.now_ns() * 1e-9, self.robot.measured
        return now if measured is None or not self._simulated else max(now, measured.stamp)

    @property
    def _simulated(self) -> bool:
        return bool(self._node.get_clock().ros_time_is_active)

    @property
    def problem(self) -> str:
        """Reason why the robot must not move now; empty if it may."""
        return self.safety.problem(self.now()) or self.robot.problem

    @property
    def publishers_hint(self) -> str:
        """Explanation of contradictory joint states; empty if there are none."""
        topic = self._node.resolve_topic_name("joint_states")
        publishers = self._node.get_publishers_info_by_topic(topic)
        return self.robot.publishers_hint(
            [f"{p.node_namespace}/{p.node_name}".replace("//", "/") for p in publishers]
        )
