# SPDX-License-Identifier: Apache-2.0
"""Validation of set points for a controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.robot import Array
from sysid_core.settings import Kind


class SetPointFault(Kind):
    """Reason for the refusal of a set point."""

    POSITION = "set_point_outside_position_limits"
    VELOCITY = "set_point_beyond_velocity_limits"
    ACCELERATION = "set_point_beyond_acceleration_limits"
    STEP = "set_point_too_far_away"
    SPEED_STEP = "set_point_speed_jumps"
    NO_STATE = "set_point_without_state"
    SECOND_PUBLISHER = "set_points_of_two_publishers"


class SetPointError(SignalError):
    """Error raised for a refused set point; `code` is the reason."""

    def __init__(self, code: SetPointFault, message: str, *, remedy: str = "", **data: Any) -> None:
        super().__init__(message, remedy=remedy, code=code, **data)
        self.code = code


_FIND = "Find the node that publishes on this topic with `ros2 topic info -v`."
_FASTER = " For faster motions raise feedback_limit."
_GO_ON = (
    "Set points must continue from the current position of the robot. Check if a second node"
    " publishes them."
)


@dataclass(frozen=True, eq=False)
class SetPointLimits:
    """Limits of set points, arrays in the order of the actuated joints of the robot.

    A set point may deviate from the extrapolated reference by at most the motion that the feedback
    can cause in the time dt since the last set point: `step + a dt^2 / 2` in position, `w step + a
    dt` in velocity. The distance between reference and robot is limited to `2 v_max / w`, at which
    the feedback drives the robot at its velocity limit: a reference cannot run away from the robot.

    Attributes:
        joint_names: Names of the n_a actuated joints.
        lower: Lower position limits, shape (n_a,) [rad or m].
        upper: Upper position limits, shape (n_a,) [rad or m].
        velocity: Velocity limits, shape (n_a,) [rad/s or m/s].
        step: Largest distance of a set point from the extrapolated reference that does not count as
            a jump [rad or m].
        bandwidth: Bandwidth w of the tracking-error dynamics [rad/s].
        acceleration: Upper limit a of the acceleration caused by a set point and the feedback
            [rad/s^2].
    """

    joint_names: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    step: float
    bandwidth: float
    acceleration: float

    def require(
        self,
        q: Array,
        v: Array,
        a: Array,
        near: list[tuple[Array, Array]],
        dt: float = 0.0,
    ) -> None:
        """Raise an error if the robot cannot follow a set point within its limits.

        Args:
            q: Positions of the set point, shape (n_a,) [rad or m].
            v: Velocities of the set point, shape (n_a,) [rad/s or m/s].
            a: Accelerations of the set point, shape (n_a,) [rad/s^2 or m/s^2].
            near: Positions and velocities of the measured state and of the reference, shape (n_a,)
                each; the set point must continue from one of them.
            dt: Time since the previous set point [s]; 0: none is followed.

        Raises:
            SetPointError: The set point exceeds a limit, or is too far from the reference and the
                robot.
        """
        beyond = np.flatnonzero((q < self.lower) | (q > self.upper))
        if beyond.size:
            j = int(beyond[0])
            raise SetPointError(
                SetPointFault.POSITION,
                f"The set point of {self.joint_names[j]} is {q[j]:.4g}, outside"
                f" [{self.lower[j]:.4g}, {self.upper[j]:.4g}].",
                remedy=_FIND,
                joint=self.joint_names[j],
            )
        acceleration = np.full(len(a), self.acceleration)
        for code, name, values, limit, more in (
            (SetPointFault.VELOCITY, "speed", v, self.velocity, ""),
            (SetPointFault.ACCELERATION, "acceleration", a, acceleration, _FASTER),
        ):
            beyond = np.flatnonzero(np.abs(values) > limit)
            if beyond.size:
                j = int(beyond[0])
                raise SetPointError(
                    code,
                    f"The set point's {name} of {self.joint_names[j]} is {values[j]:.4g}, limit"
                    f" {limit[j]:.4g}.",
                    remedy=_FIND + more,
                    joint=self.joint_names[j],
                )
        if not near:
            raise SetPointError(
                SetPointFault.NO_STATE,
                "A set point arrived before any joint state, so that its distance from the robot"
                " is unknown.",
                remedy="Start the robot's driver first.",
            )
        far = [float(np.max(np.abs(q - q_0))) for q_0, _ in near]
        faster = [float(np.max(np.abs(v - v_0))) for _, v_0 in near]
        runs_away = np.any(np.abs(q - near[0][0]) > 2.0 * self.velocity / self.bandwidth)
        if runs_away or min(far) > self.step + 0.5 * self.acceleration * dt**2:
            raise SetPointError(
                SetPointFault.STEP,
                f"A set point is {far[0]:.3g} rad away from the robot.",
                remedy=_GO_ON,
                distance=far[0],
            )
        if min(faster) > self.bandwidth * self.step + self.acceleration * dt:
            raise SetPointError(
                SetPointFault.SPEED_STEP,
                f"The velocity of the set points changes by {min(faster):.3g} rad/s in one step.",
                remedy=_GO_ON,
                speed=min(faster),
            )
