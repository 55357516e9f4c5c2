# SPDX-License-Identifier: Apache-2.0
"""Check of received set points."""

from __future__ import annotations

from collections.abc import Callable

from trajectory_msgs.msg import JointTrajectory

from sysid_core.clock_gate import ClockGate
from sysid_core.control import SetPointError, SetPointFault, SetPointLimits, TorqueController
from sysid_nodes import conversions


class SetPointInput:
    """Check of received set points: one publisher, recent stamps, values within the limits.

    Args:
        controller: Controller that follows the set points.
        limits: Limits of the accepted set points.
        publishers: Function that returns the number of publishers of set points (rclpy's
            EventsExecutor does not provide the sender).
    """

    def __init__(
        self,
        controller: TorqueController,
        limits: SetPointLimits,
        publishers: Callable[[], int],
    ) -> None:
        self._controller, self._limits, self._publishers = controller, limits, publishers
        timing = controller.timing
        self.gate = ClockGate(
            "setpoint", oldest=timing.setpoint_timeout, ahead=timing.ahead, in_order=True
        )

    def take(self, message: JointTrajectory, now_ns: int) -> None:
        """Process a message; refused messages change nothing and lead to a damped stop.

        Args:
            message: Message whose last point is the set point.
            now_ns: Current time [ns].

        Raises:
            SysIdError: The set point is refused.
        """
        if self._publishers() > 1:
            raise SetPointError(
                SetPointFault.SECOND_PUBLISHER,
                "Two nodes publish set points: both are ignored.",
                remedy="End one of the two nodes: `ros2 topic info -v` lists both.",
            )
        names = self._controller.chain.actuated
        _, q, v, a = conversions.trajectory_arrays(message, names)
        stamp = conversions.ns_from_stamp(message.header.stamp)
        t = self.gate.take(stamp, now_ns) * 1e-9
        near, dt = self._controller.goes_on_from(t)
        self._limits.require(q[-1], v[-1], a[-1], near, dt)
        self._controller.set_point(t, q[-1], v[-1], a[-1])
