# SPDX-License-Identifier: Apache-2.0
"""Body that is fixed to a frame of an arm: as part of the arm, and in the torques of its joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.reasons import Reason, Verdict
from sysid_core.robot import Array, RobotModel, parameter_transform
from sysid_core.signals import JointStream

_PEAK = 2.0  # times the URDF's limit that a drive may give for a moment
_POSTURES = 200
# Of the load's torques: half-way, in logarithm, to the factor of the nearest other unit (lbf: 4.4).
_AS_WEIGHED = 2.0


def payload_torque_regressor(
    model: RobotModel, frame: str, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> Array:
    """Return the regressor of the joint torques of a body that is fixed to a frame, for its
    parameters in that frame.

    Args:
        model: Robot model.
        frame: Name of the link or frame that carries the body.
        q: Joint positions, shape (K, nv) [rad].
        v: Joint velocities, shape (K, nv) [rad/s].
        a: Joint accelerations, shape (K, nv) [rad/s^2].

    Returns:
        Regressor Y_L, shape (K, nv, 10).
    """
    return model.torque_regressor(q, v, a) @ carried_by(model, frame)


def carried_by(model: RobotModel, frame: str) -> Array:
    """Return the matrix from `pi` of a body in a frame to the parameters of all N bodies, shape (10
    N, 10).

    Raises:
        EstimationError: The frame is fixed to the base.
    """
    placed = model.pin_model.frames[model.frame_id(frame)]
    body = int(placed.parentJoint) - 1
    if body < 0:
        raise EstimationError(
            f"'{frame}' is fixed to the base of '{model.name}': no joint carries it.",
            remedy="Give a frame on the moving part of the arm, such as the flange.",
        )
    out = np.zeros((10 * model.n_bodies, 10))
    out[10 * body : 10 * body + 10] = parameter_transform(placed.placement.homogeneous)
    return out


@dataclass(frozen=True, eq=False)
class CarriedBody:
    """Body that an arm carries.

    Attributes:
        model: The robot without the body.
        frame: Name of the frame to which the body is fixed.
        pi: Inertial parameters of the body in that frame, shape (10,).
    """

    model: RobotModel
    frame: str
    pi: Array

    @property
    def robot(self) -> RobotModel:
        """Robot with the body.

        Raises:
            EstimationError: The frame is fixed to the base.
        """
        added = carried_by(self.model, self.frame) @ np.asarray(self.pi, dtype=float)
        return self.model.with_pi(self.model.pi.ravel() + added)

    def judged(self, q: Array) -> Verdict:
        """Report a failure if the gravity torque of a payload would exceed twice the torque limits
        of the joints.

        Args:
            q: Recorded postures with the load, shape (K, n).
        """
        rest = q[:: max(1, len(q) // _POSTURES)]
        still = np.zeros_like(rest)
        carrying = self.robot
        needed = np.max(np.abs(carrying.inverse_dynamics(rest, still, still)), axis=0, initial=0.0)
        limits = self.model.effort_limits
        known = np.isfinite(limits) & (limits > 0.0)
        share = np.where(known, needed / np.where(known, limits, 1.0), 0.0)
        j = int(np.argmax(share))
        if share[j] <= _PEAK:
            return Verdict()
        found = Reason.failure(
            "load-too-heavy",
            mass=self.pi[0],
            joint=self.model.joint_names[j],
            needed=needed[j],
            limit=limits[j],
        )
        return Verdict((found,))

    def torques_agree(self, motion: JointStream, measured: JointStream) -> bool:
        """Return True if the joint torques contain those of the estimated load, times a factor
        between 0.5 and 2.

        The factor is fitted by least squares to the torques that the model of the arm does not
        explain, together with Coulomb friction, viscous friction and an offset of each joint.

        Args:
            motion: Positions, velocities and accelerations of the joints, with the load.
            measured: Joint torques, interpolated to the stamps of the motion.
        """
        motion, measured = (stream.ordered(self.model.joint_names) for stream in (motion, measured))
        if motion.v is None or motion.a is None or measured.effort is None:
            return False
        stamps, at = (
            measured.stamps_ns - motion.stamps_ns[0],
            motion.stamps_ns - motion.stamps_ns[0],
        )
        torques = np.column_stack([np.interp(at, stamps, column) for column in measured.effort.T])
        left = torques - self.model.inverse_dynamics(motion.q, motion.v, motion.a)
        load = (
            payload_torque_regressor(self.model, self.frame, motion.q, motion.v, motion.a) @ self.pi
        )
        product = power = 0.0
        for own, rest, v in zip(load.T, left.T, motion.v.T, strict=True):
            friction = np.column_stack([np.sign(v), v, np.ones_like(v)])
            own = own - friction @ np.linalg.lstsq(friction, own, rcond=None)[0]
            product, power = product + own @ rest, power + own @ own
        return bool(power < _AS_WEIGHED * product < _AS_WEIGHED**2 * power)
