# SPDX-License-Identifier: Apache-2.0
r"""Reaction of the drives' controllers to the measurement noise of velocities.

The true states of a motion are unknown. Sensors measure them with noise, and the low-pass filter of
the motion estimates them. A position or impedance controller feeds the *measured* velocity back, so
that the noise \(e\) of the velocity reappears in the effort of the same joint:

\[ u_k = \hat u(q_k, v_k, a_k) - k_d\, e_{k-l}, \qquad e_k = v_k^{measured} - v_k, \qquad k_d \ge 0
\]

with the efforts \(\hat u\) of the robot model along the filtered motion \(q, v, a\), the velocity
gain \(k_d\) of the controller, and a lag of \(l\) samples. Where noise is larger than motion, the
transfer function from velocity to effort is that of the controller, and not the inverse dynamics of
the robot. Its phase is 180°, whereas that of friction is 0° and that of an inertia 90° (T.
Söderström, P. Stoica, *System Identification* (1989), chapter 10).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm.recordings import Processing
from sysid_core.robot import Array, DriveTrain, RobotModel
from sysid_core.signals import Recording


@dataclass(frozen=True)
class VelocityFeedback:
    """Velocity gains of the controllers, estimated from the noise of the measured efforts.

    Attributes:
        gains: Velocity gain k_d of each joint, in the unit of the efforts per rad/s or m/s; 0: the
            joint shows no reaction.
        lag: Number of samples by which efforts lag behind the velocities to which they react.
        measured: True if the gains refer to the noise of measured velocities; False for
            differences of positions.

    Raises:
        EstimationError: A gain or the lag is negative.
    """

    gains: tuple[float, ...]
    lag: int = 0
    measured: bool = True

    def __post_init__(self) -> None:
        if self.lag < 0 or not all(np.isfinite(k) and k >= 0.0 for k in self.gains):
            raise EstimationError(
                f"Velocity gains {list(self.gains)} with a lag of {self.lag} samples.",
                remedy="Gains and lag of a controller must not be negative.",
            )

    def efforts(
        self, model: RobotModel, recording: Recording, processing: Processing
    ) -> Array | None:
        """Return the reaction of the controllers at the stamps and in the unit of the recording,
        shape (K, n); None if its velocities have another source (sensors or differences of
        positions) than those to which the gains refer.

        Args:
            model: The robot; its order of joints is that of the result.
            recording: Joint states; their efforts are ignored.
            processing: Filters of the motion.
        """
        if self.measured != (recording.joints.v is not None):
            return None
        return -np.array(self.gains) * velocity_noise(model, recording, processing, self.lag)


def velocity_noise(
    model: RobotModel, recording: Recording, processing: Processing, lag: int = 0
) -> Array:
    """Return the difference of the velocities before and after the low-pass filter of the motion,
    shape (K, n) [rad/s or m/s]; 0 where there is no filtered motion. If no velocities were
    measured, they are computed as differences of the positions.

    Args:
        model: The robot; its order of joints is that of the result.
        recording: Joint states.
        processing: Filters of the motion.
        lag: Number of samples by which the result is delayed.
    """
    joints = Processing.driven_joints(model, recording.joints)
    v = np.gradient(joints.q, joints.time, axis=0) if joints.v is None else joints.v
    noise = np.nan_to_num(v - filtered_velocities(model, recording, processing))
    return np.concatenate([np.zeros((lag, model.nv)), noise])[: len(noise)]


def filtered_velocities(model: RobotModel, recording: Recording, processing: Processing) -> Array:
    """Return the velocities of the filtered motion at the stamps of the recording, shape (K, n)
    [rad/s or m/s]; NaN in gaps.
    """
    (v,) = replace(processing, delay=0.0).predicted_efforts(
        model, recording, DriveTrain.direct(model.joint_names), lambda q, v, a: (v,)
    )
    return v
