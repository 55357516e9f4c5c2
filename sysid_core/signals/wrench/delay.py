# SPDX-License-Identifier: Apache-2.0
r"""Delay of the wrench against the kinematics.

A sensor with its own filter and bus delivers its readings late: `w(t) = A(t - d) pi + b`. For every
trial delay d, the load and the bias follow by least squares, so that the residual is a function of
`d` alone (variable projection, Golub and Pereyra 1973). Its minimum is found with a resolution
below the sampling time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.lazy import lazy_import
from sysid_core.robot import FrameMotion, RobotModel, wrench_regressor
from sysid_core.signals.filters import ZeroPhaseFilter, smooth_motion
from sysid_core.signals.recording import Array, JointStream, Recording

if TYPE_CHECKING:
    import scipy.optimize as optimize
else:
    optimize = lazy_import("scipy.optimize")

if TYPE_CHECKING:
    import scipy.interpolate as interpolate
else:
    interpolate = lazy_import("scipy.interpolate")


@dataclass(frozen=True)
class DelayEstimate:
    """Estimated delay of the wrench relative to the kinematics.

    Attributes:
        delay: Positive when the wrench is late [s].
        sd: Standard deviation from the curvature of the residual [s]; large when the motion
            hardly shows it.
    """

    delay: float
    sd: float

    @property
    def is_known(self) -> bool:
        """True if the motion determines the delay to better than 20 ms."""
        return bool(self.sd < 0.02)


class MotionFit:
    """Wrenches explained by any load and bias on a motion that is shifted in time.

    Args:
        time: Stamps of the wrench, shape (N,) [s].
        wrench: Readings, shape (N, 6).
        time_motion: Stamps of the motion, increasing, shape (K,) [s].
        motion: Motion of the sensor frame, K samples.
    """

    def __init__(self, time: Array, wrench: Array, time_motion: Array, motion: FrameMotion) -> None:
        self.time, self.wrench = time, wrench
        columns = np.hstack([motion.a, motion.omega, motion.alpha])
        self._spline = interpolate.CubicSpline(time_motion, columns)

    def residual(self, delay: float | Array, weights: Array) -> Array:
        """Return the residual of the best load and bias, weighted by axis, shape (N, 6).

        Args:
            delay: Delay of the wrench behind the motion, a number or one for each sample, shape (N,) [s].
            weights: Weights of the axes, shape (6,).
        """
        t, w = self.time, self.wrench
        x = self._spline(t - delay)
        A = wrench_regressor(x[:, :3], x[:, 3:6], x[:, 6:])
        Y = np.concatenate([A, np.broadcast_to(np.eye(6), (len(t), 6, 6))], axis=2)
        Y = (Y * weights[None, :, None]).reshape(-1, 16)
        b = (w * weights).reshape(-1)
        Y = Y / np.maximum(np.sqrt(np.sum(Y**2, axis=0)), 1e-12)
        # 16 unknowns: the normal equations of scaled columns are small and good enough here.
        values, vectors = np.linalg.eigh(Y.T @ Y)
        keep = values > 1e-12 * values[-1]
        solution = vectors[:, keep] @ ((vectors[:, keep].T @ (Y.T @ b)) / values[keep])
        return np.asarray((b - Y @ solution).reshape(-1, 6))

    def axis_weights(self, delay: float | Array) -> Array:
        """Return the inverse spread of each axis' residual at a delay, shape (6,)."""
        spread = np.sqrt(np.mean(self.residual(delay, np.ones(6)) ** 2, axis=0))
        return np.asarray(1.0 / np.maximum(spread, 1e-9 * max(float(spread.max()), 1e-12)))


def _require_increasing(time_wrench: Array, time_motion: Array) -> None:
    if (
        len(time_motion) < 4
        or np.any(np.diff(time_motion) <= 0)
        or np.any(np.diff(time_wrench) < 0)
    ):
        raise SignalError(
            "The stamps of wrench or motion don't increase.",
            remedy="Sort the streams and drop duplicates first.",
        )


def estimate_delay(
    time_wrench: ArrayLike,
    wrench: ArrayLike,
    time_motion: ArrayLike,
    motion: FrameMotion,
    *,
    max_delay_s: float = 0.1,
) -> DelayEstimate:
    """Return the delay between two streams of the same clock, below their sampling period.

    Args:
        time_wrench: Stamps of the wrench, increasing, shape (N,) [s].
        wrench: Readings, shape (N, 6).
        time_motion: Stamps of the motion on the same clock, increasing, shape (K,) [s].
        motion: Motion of the sensor frame, K samples.
        max_delay_s: Largest one looked for, either way [s].

    Raises:
        SignalError: The streams overlap too little, or the delay lies at the end of the search.
    """
    time_wrench, wrench = np.asarray(time_wrench, dtype=float), np.asarray(wrench, dtype=float)
    time_motion = np.asarray(time_motion, dtype=float)
    _require_increasing(time_wrench, time_motion)
    inside = (time_wrench - max_delay_s >= time_motion[0]) & (
        time_wrench + max_delay_s <= time_motion[-1]
    )
    t, w = time_wrench[inside], wrench[inside]
    if len(t) < 20:
        raise SignalError(
            f"Only {len(t)} wrench samples lie {max_delay_s:.2f} s inside the motion: too few for a"
            " delay.",
            remedy="Record a longer motion, or give a smaller `max_delay_s`.",
        )
    fit = MotionFit(t, w, time_motion, motion)

    def cost(delay: float, weights: Array) -> float:
        return float(np.sum(fit.residual(delay, weights) ** 2))

    delay = 0.0
    for half_width in (max_delay_s, 0.1 * max_delay_s):  # everywhere, then close by
        weights = fit.axis_weights(delay)
        delay = _minimise(partial(cost, weights=weights), delay, half_width)
    variance = cost(delay, weights) / (6 * len(t) - 17)
    at_the_end = abs(delay) > 0.98 * max_delay_s
    if at_the_end and cost(0.0, weights) - cost(delay, weights) < 25.0 * variance:
        delay, at_the_end = 0.0, False  # nothing to see
    if at_the_end:
        raise _beyond(delay, max_delay_s)
    step = 1e-4  # [s]
    ahead, behind = (fit.residual(delay + by, weights) for by in (step, -step))
    slope = (ahead - behind) / (2 * step)
    information = float(np.sum(slope**2))
    return DelayEstimate(
        delay=delay,
        sd=float(np.sqrt(variance / information)) if information > 0 else float("inf"),
    )


def _minimise(cost: Callable[[float], float], centre: float, half_width: float) -> float:
    """Minimise on a grid, then by Brent's method between the neighbours of the best grid point."""
    grid = centre + half_width * np.linspace(-1.0, 1.0, 41 if centre == 0.0 else 9)
    values = [cost(d) for d in grid]
    k = int(np.argmin(values))
    if k in (0, len(grid) - 1):
        return float(grid[k])
    found = optimize.minimize_scalar(
        cost, bracket=(grid[k - 1], grid[k], grid[k + 1]), options={"xtol": 1e-7}
    )
    return float(found.x)


def delay_of_recording(
    recording: Recording, model: RobotModel, frame: str, *, motion_cutoff_hz: float = 10.0
) -> DelayEstimate:
    """Return the delay of the wrench in a recording with motion; the joint states are filtered
    without delay.

    Args:
        recording: Joint states and wrench on one clock.
        model: The robot.
        frame: The sensor's frame.
        motion_cutoff_hz: Cut-off of the joints' zero-phase filter.

    Raises:
        SignalError: No wrench, or too short a motion.
    """
    if recording.wrench is None:
        raise SignalError(
            f"'{recording.source}' has no wrench.", remedy="Record the force-torque sensor."
        )
    smooth, motion = sensor_motion(recording, model, frame, motion_cutoff_hz=motion_cutoff_hz)
    wrench = recording.wrench
    order = np.argsort(wrench.stamps_ns, kind="stable")
    time = (wrench.stamps_ns[order] - smooth.stamps_ns[0]) * 1e-9
    return estimate_delay(time, wrench.wrench[order], smooth.time, motion)


def sensor_motion(
    recording: Recording, model: RobotModel, frame: str, *, motion_cutoff_hz: float = 10.0
) -> tuple[JointStream, FrameMotion]:
    """Filter the joints without phase lag over the longest span without gaps, and compute the
    frame's motion.

    Args:
        recording: Joint states.
        model: The robot.
        frame: A frame of it.
        motion_cutoff_hz: Cut-off of the zero-phase filter.
    """
    parts = recording.joints.ordered(model.joint_names).split_at_gaps(0.1)
    longest = max(parts, key=len)
    rate_hz = min((len(longest) - 1) / float(longest.time[-1]), 20.0 * motion_cutoff_hz)
    smooth = smooth_motion(longest, rate_hz, ZeroPhaseFilter(motion_cutoff_hz))
    v, a = np.asarray(smooth.v), np.asarray(smooth.a)
    return smooth, model.frame_motion(frame, smooth.q, v, a)


def _beyond(delay: float, max_delay_s: float) -> SignalError:
    return SignalError(
        f"The delay of the wrench lies at or beyond the {max_delay_s * 1e3:.0f} ms looked for.",
        remedy="Are both streams stamped by the same clock? Else raise `max_delay_s`.",
        delay=delay,
    )
