# SPDX-License-Identifier: Apache-2.0
"""Commands to the motion guard, a ros2_control controller that receives whole motions and brakes by
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from std_msgs.msg import Empty, Header, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from sysid_core.errors import SysIdError
from sysid_core.execution import Command, ExecutorState, Outgoing
from sysid_nodes.conversions import message_from_trajectory, ns_from_stamp, stamp_from_ns
from sysid_nodes.trajectory_executor.drive import RobotDrive

if TYPE_CHECKING:
    from sysid_nodes.lifecycle import ManagedNode

_HOLDING, _PLAYING, _BRAKING = "holding", "playing", "braking"
# A short braking and "holding" come together: none may replace the other.
_LATCHED = QoSProfile(depth=5, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class GuardDrive(RobotDrive):
    """Client of the motion guard: sends each motion once, starts it when the guard has stored it,
    and sends heartbeats.

    Args:
        node: Node that owns the topics, all below `motion_guard`.
        on_clock: Function that is called with the time since the start of the motion according to
            the guard [s], the commanded positions, and the stamp [s].
    """

    takes_whole = True
    listener = "a motion guard"

    def __init__(
        self, node: ManagedNode, on_clock: Callable[[float | None, np.ndarray, float], None]
    ) -> None:
        super().__init__(node)
        self._on_clock = on_clock
        self._heartbeat = node.create_publisher(Empty, "motion_guard/heartbeat", 1)
        self._trajectory = node.create_publisher(JointTrajectory, "motion_guard/trajectory", 1)
        self._play = node.create_client(Trigger, "motion_guard/play")
        self._stop = node.create_client(Trigger, "motion_guard/stop")
        node.create_subscription(String, "motion_guard/state", self._on_state, _LATCHED)
        node.create_subscription(Header, "motion_guard/kept", self._on_kept, 1)
        node.create_subscription(String, "motion_guard/refused", self._on_refused, 1)
        node.create_subscription(JointTrajectory, "motion_guard/reference", self._on_reference, 1)
        self._state = ""
        self._sent_ns = 0  # stamp of the motion that the guard has or is to have; 0: none
        self._begun = self._stopping = False

    @property
    def ready(self) -> bool:
        """True if a motion guard accepts motions."""
        heard = self._trajectory.get_subscription_count() > 0
        return bool(heard and self._play.service_is_ready() and self._stop.service_is_ready())

    def begin(self) -> None:
        """Reset the state of the last run (see RobotDrive); refuse a guard that plays another
        client's motion.
        """
        super().begin()
        self._sent_ns, self._begun, self._stopping = 0, False, False
        if self._state != _HOLDING:
            raise SysIdError(
                f"The motion guard is '{self._state or 'inactive'}', not '{_HOLDING}'.",
                remedy="Activate the motion guard, or wait until the robot is at rest.",
            )

    def send(self, out: Outgoing) -> None:
        """Send a motion to the guard; it starts when the guard has checked and stored it."""
        message = message_from_trajectory(out.trajectory, start_ns=0)
        self._sent_ns, self._begun, self.completed = self._node.now_ns(), False, False
        message.header.stamp = stamp_from_ns(self._sent_ns)
        self._trajectory.publish(message)

    def stream(self, command: Command) -> None:
        """Send a heartbeat, without which the guard stops the robot."""
        if not (self._stopping or command.state is ExecutorState.ABORTING):
            self._heartbeat.publish(Empty())

    def stop(self) -> None:
        """Request a stop from the guard; if the request is lost, the guard stops when it misses the
        heartbeats.
        """
        self._stopping = True
        self._sent_ns = 0
        self.completed = not self._begun  # one that is still on its way doesn't begin any more
        self._stop.call_async(Trigger.Request())

    def cancel(self) -> None:
        """Request a stop from the guard, which then holds the robot."""
        self.stop()

    def _on_kept(self, header: Header) -> None:
        if self._sent_ns and ns_from_stamp(header.stamp) == self._sent_ns and not self._begun:
            self._begun = True
            self._play.call_async(Trigger.Request()).add_done_callback(self._on_answer)

    def _on_answer(self, answer: Future) -> None:
        if not answer.result().success:
            self.dropped = f"the motion guard does not begin: {answer.result().message}"

    def _on_refused(self, message: String) -> None:
        if self._sent_ns:
            self.dropped = f"the motion guard refuses the motion: {message.data}"

    def _on_state(self, message: String) -> None:
        self._state = message.data
        if self._begun and self._state == _HOLDING:
            self.completed = True
        elif self._begun and self._state.startswith(_BRAKING) and not self._stopping:
            self.dropped = f"the motion guard is {self._state}"

    def _on_reference(self, message: JointTrajectory) -> None:
        if not (self._begun and message.points):
            return
        place = message.points[0].time_from_start
        u = place.sec + 1e-9 * place.nanosec
        q = np.asarray(message.points[0].positions)
        self._on_clock(u, q, 1e-9 * ns_from_stamp(message.header.stamp))
