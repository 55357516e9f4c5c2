# SPDX-License-Identifier: Apache-2.0
"""Set points on their way into the controller."""

from __future__ import annotations

from typing import Any

from trajectory_msgs.msg import JointTrajectory

from sysid_core.control import SetPointError, SetPointFault, SetPointLimits, TorqueController
from sysid_core.signals import ClockGate
from sysid_nodes import conversions


class SetPointInput:
    """Lets in what one publisher sends, with stamps of now, within the robot's limits.

    Args:
        controller: That follows them.
        limits: Of what may be asked of it.
        timeout: Largest age of a set point [s].
    """

    def __init__(
        self, controller: TorqueController, limits: SetPointLimits, timeout: float
    ) -> None:
        self._controller, self._limits, self._timeout = controller, limits, timeout
        self.gate = ClockGate("setpoint", oldest=timeout, in_order=True)
        self._from: tuple[Any, int] | None = None  # who is followed, and its last message [ns]

    def take(self, message: JointTrajectory, now_ns: int, publisher: Any) -> None:
        """Take in a message; what is refused changes nothing, and so ends in a damped stop.

        Args:
            message: Its last point is the set point.
            now_ns: The clock [ns].
            publisher: Who sent it, as far as the middleware says it.

        Raises:
            SysIdError: It isn't to be followed.
        """
        followed = self._from
        if followed is not None and followed[0] != publisher:
            if now_ns - followed[1] <= self._timeout * 1e9:
                raise SetPointError(
                    SetPointFault.SECOND_PUBLISHER,
                    "A second node publishes set points: only the first one's are followed.",
                    remedy="End one of them: `ros2 topic info -v` names both.",
                )
            self.gate.forget()
        names = self._controller.chain.actuated
        _, q, v, a = conversions.trajectory_arrays(message, names)
        stamp = conversions.ns_from_stamp(message.header.stamp)
        t = self.gate.take(stamp, now_ns, publisher) * 1e-9
        near, dt = self._controller.goes_on_from(t)
        self._limits.require(q[-1], v[-1], near, dt)
        self._controller.set_point(t, q[-1], v[-1], a[-1])
        self._from = (publisher, now_ns)
