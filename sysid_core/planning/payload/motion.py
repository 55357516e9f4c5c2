# SPDX-License-Identifier: Apache-2.0
"""Oscillations of the wrist: the payload motion of Nadeau et al. (2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import ExcitationError
from sysid_core.planning import Trajectory
from sysid_core.planning.transfer import sample_times
from sysid_core.robot import Array, RobotModel

# Nadeau, Giamou and Kelly 2022, section V-A: alpha_n + 45 deg sin(2 pi f_n t / 240).
FREQUENCY_RATIO = (0.1, 0.13, 0.16)
AMPLITUDE = np.pi / 4.0  # [rad]
PHASE_PERIOD = 100.0  # after which all three sines repeat


def wrist_columns(model: RobotModel, frame: str) -> NDArray[np.intp]:
    """Return the indices of the last three joints between base and frame, shape (3,).

    Raises:
        ExcitationError: There are fewer than three joints, or joints with several degrees of
            freedom.
    """
    joint = model.pin_model.frames[model.frame_id(frame)].parentJoint
    chain = [int(j) for j in model.pin_model.supports[joint] if j > 0]
    if len(chain) < 3 or any(model.pin_model.joints[j].nv != 1 for j in chain[-3:]):
        raise ExcitationError(
            f"The way to '{frame}' has {len(chain)} joints; a payload motion needs three single"
            " joints behind one another.",
            remedy="Give the frame of the sensor or tool as TCP frame.",
        )
    return np.array([model.pin_model.joints[j].idx_v for j in chain[-3:]], dtype=np.intp)


def oscillation(
    posture: ArrayLike,
    columns: ArrayLike,
    frequencies_hz: ArrayLike,
    duration: float,
    *,
    amplitude: ArrayLike = AMPLITUDE,
    ramp: float = 1.0,
    rate_hz: float = 100.0,
) -> tuple[Array, Array, Array, Array]:
    r"""Return the sine motion of some joints, `alpha + A sin(2 pi f phi(t))`, which starts and ends
    at rest.

    The phase speed increases and decreases along a minimum-jerk profile. The path is therefore that
    of the sines, velocity and acceleration vanish at both ends, and no velocity exceeds that of the
    sines.

    Args:
        posture: Centre of the oscillation and start of the motion, shape (n,) [rad].
        columns: Indices of the m joints that move, shape (m,).
        frequencies_hz: Frequencies of these joints, shape (m,) [Hz].
        duration: Duration of the motion with both ramps [s].
        amplitude: Amplitudes, one for all joints, or shape (m,) [rad].
        ramp: Duration of each ramp, at most half of the whole [s].
        rate_hz: Sampling rate [Hz].

    Returns:
        Times (K,) [s], and q, v and a, shape (K, n) each.
    """
    posture, columns = np.asarray(posture, dtype=float), np.asarray(columns, dtype=int)
    ramp = min(ramp, duration / 2.0)
    time = sample_times(duration, rate_hz)

    def area(s: Array) -> Array:
        """Return the integral of the minimum-jerk profile from 0 to s."""
        return s**4 * (2.5 - 3.0 * s + s**2)

    rise, fall = np.clip(time / ramp, 0, 1), np.clip((duration - time) / ramp, 0, 1)
    speed = np.minimum(Trajectory.minimum_jerk(rise)[0], Trajectory.minimum_jerk(fall)[0])
    slope = (Trajectory.minimum_jerk(rise)[1] - Trajectory.minimum_jerk(fall)[1]) / ramp
    phase = np.where(time <= ramp, ramp * area(rise), time - ramp / 2.0)
    phase = np.where(time > duration - ramp, duration - ramp * (1.0 + area(fall)), phase)
    amplitude = np.asarray(amplitude, dtype=float)
    omega = 2.0 * np.pi * np.asarray(frequencies_hz, dtype=float)
    angle = omega * phase[:, None]
    q = np.tile(posture, (len(time), 1))
    v, a = np.zeros_like(q), np.zeros_like(q)
    q[:, columns] += amplitude * np.sin(angle)
    v[:, columns] = amplitude * omega * np.cos(angle) * speed[:, None]
    a[:, columns] = amplitude * (
        omega * np.cos(angle) * slope[:, None] - (omega * speed[:, None]) ** 2 * np.sin(angle)
    )
    return time, q, v, a


@dataclass(frozen=True, eq=False)
class WristSwing:
    """Oscillation of the last three joints, `alpha + A sin(2 pi f t)`.

    Attributes:
        posture: Centre of the oscillation, shape (n,) [rad].
        columns: Indices of the joints that move, shape (3,).
        frequencies_hz: Frequencies of these joints [Hz].
        amplitude: Amplitude of each of them [rad].
    """

    posture: Array
    columns: NDArray[np.intp]
    frequencies_hz: tuple[float, float, float]
    amplitude: float = AMPLITUDE

    @classmethod
    def of_speed(
        cls,
        model: RobotModel,
        frame: str,
        posture: ArrayLike,
        mean_angular_speed: float,
        *,
        amplitude: float = AMPLITUDE,
    ) -> WristSwing:
        """Return the oscillation with a given mean angular speed of the last link.

        The mean is over the whole period of the three sines.

        Args:
            model: Robot model.
            frame: Frame whose link carries the payload.
            posture: Centre of the oscillation, shape (n,) [rad].
            mean_angular_speed: Mean angular speed of the last link [rad/s].
            amplitude: Amplitude of the oscillation of each joint [rad].
        """
        centre = np.asarray(posture, dtype=float)
        unscaled = cls(centre, wrist_columns(model, frame), FREQUENCY_RATIO, amplitude)
        motion = unscaled.at(np.linspace(0.0, PHASE_PERIOD, 400, endpoint=False))
        speed = np.linalg.norm(model.frame_motion(frame, *motion).omega, axis=1).mean()
        scale = mean_angular_speed / float(speed)
        a, b, c = FREQUENCY_RATIO
        return replace(unscaled, frequencies_hz=(scale * a, scale * b, scale * c))

    def at(self, time: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q, v and a at one time () or several (K,) [s], shape (n,) or (K, n) each."""
        omega = 2.0 * np.pi * np.array(self.frequencies_hz)
        angle = omega * np.asarray(time, dtype=float)[..., None]
        q = np.tile(self.posture, (*angle.shape[:-1], 1))
        v, a = np.zeros_like(q), np.zeros_like(q)
        q[..., self.columns] += self.amplitude * np.sin(angle)
        v[..., self.columns] = self.amplitude * omega * np.cos(angle)
        a[..., self.columns] = -self.amplitude * omega**2 * np.sin(angle)
        return q, v, a
