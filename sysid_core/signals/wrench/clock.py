# SPDX-License-Identifier: Apache-2.0
r"""Offset and drift of the wrench's clock relative to the joints' clock.

The two devices have no common clock: an event that the sensor stamps with \(t\) happened at \(t -
d_0 - d_1 (t - t_m)\) on the robot's clock. For every trial value of \((d_0, d_1)\), load and bias
follow by least squares (variable projection, Golub and Pereyra 1973); Gauss-Newton steps find the
minimum with a resolution below the sampling time. Errors of the model are correlated in time; the
covariance is therefore the sandwich \(H^{-1} \sum_b g_b g_b^T H^{-1}\) over blocks of time (White
1980).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.lazy import lazy_import
from sysid_core.robot import FrameMotion, RobotModel, wrench_regressor
from sysid_core.signals.filters import ZeroPhaseFilter
from sysid_core.signals.recording import Array, Recording, Stamps

if TYPE_CHECKING:
    import scipy.interpolate as interpolate
else:
    interpolate = lazy_import("scipy.interpolate")

MotionOf = Callable[[Recording, RobotModel, str], tuple[Array, FrameMotion, int]]

_CUTOFF_HZ = 10.0  # of the joints' zero-phase filter: arms move more slowly
_GAP_S = 0.1  # between joint states, over which nothing is compared
_STEP = 1e-4  # [s] of derivatives
_GRID = 0.02  # [s] between trial offsets: a quarter of the period of motion at 12 Hz
_FEW, _ENOUGH = 2_000, 20_000  # samples for the grid, for the estimate
_BLOCK = 0.5  # [s] over which residuals hang together
_FEWEST_BLOCKS = 6  # from which a deviation is computed
_ROUNDS = 15  # Gauss-Newton steps at most
_KNOWN = 0.02  # [s] of standard deviation
_SIGNIFICANT = 3.0  # standard deviations
_DRIFT_SD = 1e-4  # of a clock before any data: crystals are good to 20 to 100 ppm
_DRIFTING_S = 30.0  # [s] of motion from which a drift is looked for: 3 ms at 100 ppm


def _smoothed(
    recording: Recording, model: RobotModel, frame: str
) -> tuple[Array, FrameMotion, int]:
    """Motion of a frame over the longest span without gaps, joints filtered without phase lag."""
    joints = recording.joints.ordered(model.joint_names)
    longest = max(joints.split_at_gaps(_GAP_S), key=len)
    rate_hz = min((len(longest) - 1) / float(longest.time[-1]), 20.0 * _CUTOFF_HZ)
    smooth = ZeroPhaseFilter(_CUTOFF_HZ).smooth(longest, rate_hz)
    v, a = np.asarray(smooth.v), np.asarray(smooth.a)
    return smooth.time, model.frame_motion(frame, smooth.q, v, a), int(smooth.stamps_ns[0])


class MotionFit:
    """Fit of load and bias to the wrenches, for a motion that is shifted in time.

    Args:
        time: Stamps of the wrench, shape (N,) [s].
        wrench: Readings, shape (N, 6) [N, N m].
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
            delay: Delay of the wrench behind the motion [s], one for all samples or shape (N,).
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


@dataclass(frozen=True)
class ClockOffset:
    """Offset between the clocks of the wrench and of the joint states.

    Attributes:
        offset_s: Offset at the time `at_ns`: stamp of a wrench minus stamp of the joint states of
            the same instant [s]. It includes the delay of the sensor.
        offset_sd: Standard deviation of the offset [s].
        drift: Rate of change of the offset [s/s]; 1e-6 is a microsecond per second.
        drift_sd: Standard deviation of the drift [s/s].
        at_ns: Middle of the motion, on the wrench's clock [ns].
        span_s: Length of the motion [s].
    """

    offset_s: float
    offset_sd: float
    drift: float
    drift_sd: float
    at_ns: int
    span_s: float

    @property
    def is_known(self) -> bool:
        """True if the motion determines the offset with a standard deviation below 20 ms."""
        return bool(self.offset_sd < _KNOWN)

    @property
    def drifts(self) -> bool:
        """True if the drift is significant."""
        return abs(self.drift) > _SIGNIFICANT * self.drift_sd

    @property
    def largest_s(self) -> float:
        """Largest significant stamp error during the motion [s]."""
        offset = abs(self.offset_s) if abs(self.offset_s) > _SIGNIFICANT * self.offset_sd else 0.0
        return offset + (0.5 * self.span_s * abs(self.drift) if self.drifts else 0.0)

    def corrected(self, stamps_ns: Stamps) -> Stamps:
        """Return the stamps of the wrench, converted to the clock of the joint states; an
        insignificant drift is ignored.
        """
        stamps: Stamps = np.asarray(stamps_ns, dtype=np.int64)
        shift = np.full(len(stamps), self.offset_s)
        if self.drifts:
            shift += self.drift * ((stamps - self.at_ns) * 1e-9)
        out: Stamps = stamps - np.round(shift * 1e9).astype(np.int64)
        return out

    def apply(self, recording: Recording) -> Recording:
        """Return the recording with corrected wrench stamps, and a note about the correction."""
        if recording.wrench is None:
            return recording
        wrench = replace(recording.wrench, stamps_ns=self.corrected(recording.wrench.stamps_ns))
        note = f"The time stamps of the wrench were corrected to the clock of the joint states: {self}."
        return replace(recording, wrench=wrench, notes=(*recording.notes, note))

    def __str__(self) -> str:
        late = "late" if self.offset_s >= 0.0 else "early"
        text = f"they are {1e3 * abs(self.offset_s):.2f} ± {1e3 * self.offset_sd:.2f} ms {late}"
        drift = f"{1e6 * self.drift:.0f} ± {1e6 * self.drift_sd:.0f} ppm"
        return f"{text}, drift {drift}" + (
            "" if self.drifts else " (within its uncertainty, not corrected)"
        )

    @classmethod
    def of_recording(
        cls,
        recording: Recording,
        model: RobotModel,
        frame: str,
        *,
        window_ns: tuple[int, int] | None = None,
        max_offset_s: float = 0.5,
        motion_of: MotionOf = _smoothed,
    ) -> ClockOffset:
        """Return the clock offset and drift between wrench and joint states, estimated from motion
        with a fixed load.

        Args:
            recording: Joint states and wrench.
            model: Robot with the sensor's frame.
            frame: Name of the sensor's frame.
            window_ns: First and last stamp of the joint states used [ns]; None: all.
            max_offset_s: Largest absolute offset in the search [s].
            motion_of: Function of recording, robot and frame that returns the times of the sensor's
                motion, the motion, and the stamp of time 0.

        Raises:
            SignalError: The wrench is missing, the motion is too short, or the offset lies at the
                limit of the search.
        """
        if window_ns is not None:
            rows = slice(*np.searchsorted(recording.joints.stamps_ns, window_ns).tolist())
            recording = replace(recording, joints=recording.joints.select(rows))
        if recording.wrench is None or len(recording.joints) < 20:
            raise SignalError(
                f"'{recording.source}' has no wrench, or no motion.",
                remedy="Record the force-torque sensor and the joint states of a motion.",
            )
        time, motion, origin = motion_of(recording, model, frame)
        order = np.argsort(recording.wrench.stamps_ns, kind="stable")
        time_wrench = (recording.wrench.stamps_ns[order] - origin) * 1e-9
        wrench = recording.wrench.wrench[order]
        return estimate_clock(time_wrench, wrench, time, motion, origin, max_offset_s=max_offset_s)


def estimate_clock(
    time_wrench: Array,
    wrench: Array,
    time_motion: Array,
    motion: FrameMotion,
    origin_ns: int = 0,
    *,
    max_offset_s: float = 0.5,
) -> ClockOffset:
    """Return the offset and drift of the stamps of the wrench relative to those of the motion.

    Args:
        time_wrench: Stamps of the wrench, increasing, shape (N,) [s].
        wrench: Readings, shape (N, 6) [N, N m].
        time_motion: Stamps of the motion, increasing, shape (K,) [s].
        motion: Motion of the sensor frame, K samples.
        origin_ns: Stamp at which both times are zero [ns].
        max_offset_s: Largest absolute offset in the search [s].

    Raises:
        SignalError: The streams overlap too little, or the offset lies at the end of the search.
    """

    def fit_of(most: int, reach: float, at: float = 0.0) -> MotionFit:
        low, high = time_motion[0] + reach + at, time_motion[-1] - reach + at
        rows = np.flatnonzero((time_wrench >= low) & (time_wrench <= high))
        if len(rows) < 20:
            raise SignalError(
                f"Only {len(rows)} wrench samples lie {reach:.2f} s inside the motion: too few to"
                " compare clocks.",
                remedy="Record a longer motion, or look for a smaller offset.",
            )
        rows = rows[:: max(1, -(-len(rows) // most))]
        return MotionFit(time_wrench[rows], wrench[rows], time_motion, motion)

    reach = min(max_offset_s, 0.25 * float(time_motion[-1] - time_motion[0]))
    coarse = fit_of(_FEW, reach)
    grid = np.linspace(-reach, reach, 2 * max(1, int(np.ceil(reach / _GRID))) + 1)
    weights = coarse.axis_weights(0.0)
    for _ in range(2):
        costs = [float(np.sum(coarse.residual(float(d), weights) ** 2)) for d in grid]
        best = int(np.argmin(costs))
        weights = coarse.axis_weights(float(grid[best]))
    spread = max(costs) - min(costs)
    if best in (0, len(grid) - 1) and spread > 0.01 * min(costs):
        raise SignalError(
            f"The clocks of wrench and joints are {reach:.2f} s apart or more.",
            remedy="Give both devices one clock (PTP or NTP), or record a longer motion.",
            beyond_s=reach,
        )
    fit = fit_of(_ENOUGH, 2.0 * _GRID, float(grid[best]))
    return _refined(fit, float(grid[best]), weights, origin_ns)


def _refined(fit: MotionFit, offset: float, weights: Array, origin_ns: int) -> ClockOffset:
    """Offset and drift after Gauss-Newton steps from the best offset of the grid."""
    t = fit.time
    middle, half = float(0.5 * (t[0] + t[-1])), float(max(0.5 * (t[-1] - t[0]), 1e-3))
    unknowns = 2 if 2.0 * half >= _DRIFTING_S else 1
    shape = np.column_stack([np.ones(len(t)), (t - middle) / half])[:, :unknowns]  # [s] of shift
    x = np.array([offset, 0.0])[:unknowns]
    prior_sd = _DRIFT_SD * half  # [s] at the ends of the motion

    def residual(x: Array) -> Array:
        return fit.residual(shape @ x, weights)

    for _ in range(_ROUNDS):
        weights = fit.axis_weights(shape @ x)
        r = residual(x)
        J = np.array(
            [
                (residual(x + _STEP * e) - residual(x - _STEP * e)) / (2 * _STEP)
                for e in np.eye(unknowns)
            ]
        )
        noise = float(np.sum(r**2) / max(r.size - 18, 1)) * _together(t)
        prior = np.diag([0.0, noise / prior_sd**2])[:unknowns, :unknowns]
        H = np.einsum("iku,jku->ij", J, J) + prior
        step = np.linalg.lstsq(H, np.einsum("iku,ku->i", J, r) + prior @ x, rcond=1e-12)[0]
        step = np.clip(step, -_GRID, _GRID)
        if np.sum(residual(x - step) ** 2) > np.sum(r**2):
            break
        x = x - step
        if np.abs(step).max() < 1e-7:
            break
    covariance = _covariance(t, residual(x), J, H)
    sd = np.sqrt(np.diag(covariance))
    return ClockOffset(
        offset_s=float(x[0]),
        offset_sd=float(sd[0]),
        drift=float(x[1] / half) if unknowns > 1 else 0.0,
        drift_sd=float(sd[1] / half) if unknowns > 1 else _DRIFT_SD,
        at_ns=origin_ns + round(middle * 1e9),
        span_s=2.0 * half,
    )


def _together(t: Array) -> float:
    """Number of consecutive samples in one block, which share one model error."""
    return max(1.0, _BLOCK * len(t) / max(float(t[-1] - t[0]), _BLOCK))


def _covariance(t: Array, r: Array, J: Array, H: Array) -> Array:
    """Block-wise covariance, at least that of white residuals."""
    if not np.all(np.linalg.eigvalsh(H) > 1e-12):
        return np.diag(np.full(len(H), np.inf))
    inverse = np.linalg.inv(H)
    white = inverse * float(np.sum(r**2) / max(r.size - 18, 1))
    block = ((t - t[0]) / _BLOCK).astype(np.intp)
    count = len(np.unique(block))
    if count < _FEWEST_BLOCKS:
        return white * _together(t)
    g = np.zeros((block.max() + 1, len(H)))
    np.add.at(g, block, np.einsum("iku,ku->ki", J, r))
    robust = inverse @ (g.T @ g) @ inverse * count / (count - len(H))
    return np.where(np.eye(len(H), dtype=bool), np.maximum(white, robust), robust)
