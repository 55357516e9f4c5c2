# SPDX-License-Identifier: Apache-2.0
"""Checks of wrenches before a fit: NaN, frozen, saturated and repeated readings, spikes and hum.

Spectral lines at frequencies above those of the motion (about 10 Hz) are due to mains, drives or
the filter of the sensor, because noise has the same power at all frequencies. If the sensor is read
more slowly than it measures, a line near a multiple of the reading rate becomes a slow signal
(aliasing), which looks like a load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.errors import SignalError
from sysid_core.settings import Kind
from sysid_core.signals.recording import Array, WrenchStream
from sysid_core.signals.wrench.sensor import WRENCH_AXES

_MAX_FROZEN_S = 0.25  # for which a live sensor may repeat a value exactly
_SLOW_WINDOW = 15  # samples
SLOW_LIMIT = 2.5  # of `slow_part`
_CLIPPED_RUN = 5  # samples at exactly the extreme value
_FEW_DISTINCT = 20  # readings of an axis: a coarse sensor at rest, or a short recording
_STILL = 3.0  # steps of a coarse axis that noise at rest makes at most
MOTION_HZ = 10.0  # above which nothing moves
_LEAST_S = 1.0  # of readings, for lines some 3 Hz wide
_MOST = 4096  # readings that are looked at, the newest
_FLOOR = 41  # bins about a line that show the noise
_CHANCE = 1e-9  # of taking noise for a line, per spectrum: live there is one each second
_LEAST_PART = 0.5  # of the noise of a reading: a weaker line does no harm
_SPIKE = 6.0  # times what samples within `_NEAR` differ from their neighbours, noise never does
_NEAR, _THIRD = 10, 3  # samples; the third largest difference is usual: another spike may be near
_LIKELY = 0.05  # of the samples: more are no spikes
_NEAREST = 3  # other readings by which the density at an extreme is estimated
_TURNING = 2.5  # times that density at the extreme of a cosine: 1 / (sqrt(2) - 1)
_STRONG = 6.0  # [nat]: 20 to 1, after odds of 1 to 20 that an axis saturates at all
REPEATING = 0.05  # of the samples: fewer are chance, such as of coarse readings


class WrenchFaultKind(Kind):
    """Kind of fault of wrench readings."""

    NOT_FINITE = "not finite"
    FROZEN = "frozen"
    SATURATED = "saturated"


@dataclass(frozen=True)
class WrenchFault:
    """One defect of a wrench stream.

    Attributes:
        kind: Kind of defect.
        axes: Names of the affected axes.
        first_s: Time of the first bad sample after the start of the stream [s].
        n_samples: Number of bad samples.
        text: Description of the defect, one sentence.
        remedy: Recommended action.
    """

    kind: WrenchFaultKind
    axes: tuple[str, ...]
    first_s: float
    n_samples: int
    text: str
    remedy: str


@dataclass(frozen=True, eq=False)
class WrenchCheck:
    """Checks of a stream of wrench readings.

    Attributes:
        stream: Wrench readings as recorded.
    """

    stream: WrenchStream

    def faults(
        self,
        *,
        force_range: float | None = None,
        torque_range: float | None = None,
    ) -> tuple[WrenchFault, ...]:
        """List the faults of the wrench readings.

        Args:
            force_range: Full scale of the force axes [N]; None: saturation is recognised by readings
                that stick at their own extreme value.
            torque_range: Full scale of the torque axes [N m]; None: as for `force_range`.
        """
        if len(self.stream) == 0:
            return (
                WrenchFault(
                    WrenchFaultKind.NOT_FINITE,
                    WRENCH_AXES,
                    0.0,
                    0,
                    "The wrench stream is empty.",
                    "Check the topic's name and its QoS (sensors often publish best effort).",
                ),
            )
        wrench, time = self.stream.wrench, self.stream.time
        faults = [*_not_finite(wrench, time)]
        faults += _frozen(wrench, time)
        faults += _saturated(wrench, time, [force_range] * 3 + [torque_range] * 3)
        return tuple(faults)

    def hum(self) -> Hum | None:
        """Return the strongest periodic disturbance at frequencies above those of the motion; None if
        there is none or if there are too few readings.

        In every bin of a spectrum, the power of noise is exponentially distributed with the expected
        power as its mean (Schuster 1898, On the investigation of hidden periodicities). A spectral line
        is reported if its power exceeds the value that noise reaches in any bin with a probability of
        `_CHANCE`. A Blackman window prevents leakage of the motion to other frequencies (Harris 1978,
        On the use of windows for harmonic analysis, table 1).
        """
        wrench, time = self.stream.wrench[-_MOST:], self.stream.time[-_MOST:]
        if len(time) < 2 or time[-1] - time[0] < _LEAST_S or not np.all(np.isfinite(wrench)):
            return None
        period = float(np.median(np.diff(time)))
        if not period > 0 or 0.5 / period < 2.0 * MOTION_HZ:
            return None
        even = np.arange(time[0], time[-1], period)
        samples = np.column_stack([np.interp(even, time, axis) for axis in wrench.T])
        window = np.blackman(len(even))
        spectrum = np.fft.rfft(window[:, None] * (samples - samples.mean(axis=0)), axis=0)
        frequency = np.fft.rfftfreq(len(even), period)
        frequency, power = (x[frequency > MOTION_HZ] for x in (frequency, np.abs(spectrum) ** 2))
        middle = scipy.ndimage.median_filter(power, (min(_FLOOR, len(power)), 1), mode="reflect")
        floor = np.maximum(middle / np.log(2.0), np.finfo(float).tiny)  # mean of the noise's power
        amplitude = 2.0 * np.sqrt(power) / window.sum()
        noise_sd = np.sqrt(floor / np.square(window).sum())
        line = (power > np.log(power.size / _CHANCE) * floor) & (amplitude > _LEAST_PART * noise_sd)
        if not line.any():
            return None
        row, axis = np.unravel_index(
            int(np.argmax(np.where(line, power / floor, 0.0))), power.shape
        )
        return Hum(
            float(frequency[row]), float(amplitude[row, axis]), WRENCH_AXES[axis], 1.0 / period
        )

    def usable(self) -> tuple[WrenchStream, tuple[str, ...]]:
        """Return the wrench readings in time order, without non-finite and saturated values,
        repetitions and isolated spikes.

        A driver that publishes faster than its sensor measures repeats each reading. Such repetitions
        are removed, because their stamps are not times at which the sensor measured.

        Returns:
            Stream, and remarks on the removed readings, one sentence each.
        """
        order = np.argsort(self.stream.stamps_ns, kind="stable")
        stamps, wrench = self.stream.stamps_ns[order], self.stream.wrench[order]
        finite = np.isfinite(wrench).all(axis=1) & np.concatenate([[True], np.diff(stamps) > 0])
        stamps, wrench = stamps[finite], wrench[finite]
        notes = []
        clipped = saturated(wrench).any(axis=1)
        if clipped.any():
            notes.append(f"{int(clipped.sum())} saturated wrench samples were omitted.")
            stamps, wrench = stamps[~clipped], wrench[~clipped]
        spiked = WrenchCheck.single_spikes(wrench)
        if spiked.any():
            notes.append(f"Single spikes of the wrench were omitted: {int(spiked.sum())} samples.")
            stamps, wrench = stamps[~spiked], wrench[~spiked]
        repeated = np.concatenate([[False], np.all(wrench[1:] == wrench[:-1], axis=1)])
        if repeated.any() and not repeated[1:].all():
            share = float(repeated.mean())
            if share > REPEATING:
                notes.append(
                    f"{share:.0%} of the wrench samples repeat the previous one (a sensor slower than its"
                    " topic) and were omitted."
                )
            stamps, wrench = stamps[~repeated], wrench[~repeated]
        return replace(self.stream, stamps_ns=stamps, wrench=wrench), tuple(notes)

    @staticmethod
    def saturated_postures(wrench: Array) -> NDArray[np.bool_]:
        """Mask of static postures in which an axis is at the end of its range, shape (K,).

        Saturated readings are equal. The number of equal readings that occur at an extreme by chance
        follows from the resolution of the axis and from the density of the readings next to it
        (Poisson). If the axis saturates, any number is equally likely. Readings that are equal on all
        axes are one reading that was repeated, and count once.
        """
        readings, where = np.unique(wrench, axis=0, return_inverse=True)
        out = np.zeros(len(readings), dtype=bool)
        for axis in readings.T:
            for values in (axis, -axis):
                ordered = np.sort(values)[::-1]
                at_end = values == ordered[0]
                count = int(at_end.sum())
                below = ordered[count:]
                if count < 2 or len(below) < _NEAREST:
                    continue
                step = np.min(-np.diff(np.unique(ordered)[::-1]))
                near = below[_NEAREST - 1]
                usual = _TURNING * np.sum(below >= near) * step / (ordered[0] - near)
                chance = count * np.log(usual) - usual - scipy.special.gammaln(count + 1.0)
                if count > usual and -chance - np.log(len(values) + 1.0) > _STRONG:
                    out |= at_end
        return out[where.ravel()]

    @staticmethod
    def single_spikes(wrench: Array) -> NDArray[np.bool_]:
        """Return a mask of isolated spikes, shape (K,): readings (K, 6) far from both neighbours in an
        otherwise smooth signal.
        """
        if len(wrench) < 3:
            return np.zeros(len(wrench), dtype=bool)
        off = np.abs(wrench - scipy.ndimage.median_filter(wrench, (3, 1), mode="nearest"))
        usual = scipy.ndimage.rank_filter(off, -_THIRD, size=(2 * _NEAR + 1, 1), mode="nearest")
        found = np.any(off > _SPIKE * np.maximum(usual, 1e-12), axis=1)
        return found if found.mean() <= _LIKELY else np.zeros_like(found)

    @staticmethod
    def slow_note(postures: Sequence[Array]) -> tuple[str, ...]:
        """Return a remark if the readings vary slowly in most static postures; `postures` contains the
        samples of each posture, shape (N, 6).
        """
        parts = [slow_part(samples) for samples in postures]
        if not parts or float(np.median(parts)) < SLOW_LIMIT:
            return ()
        return (
            f"The readings vary by {np.median(parts):.1f} times their noise while the arm is at rest."
            " Possible causes are electrical interference or vibration with a frequency near a multiple of the sampling"
            " rate (aliasing), and contact. Sample at a higher rate, or switch on the low-pass filter of the sensor.",
        )

    @staticmethod
    def require_frame(frame_id: str, sensor_frame: str, source: str) -> None:
        """Raise an error if the wrench is in another frame than that of the sensor.

        Args:
            frame_id: Frame of the wrench's header, or of a calibration; "": unknown, no check.
            sensor_frame: Expected frame.
            source: Name of the recording for the message.

        Raises:
            SignalError: The two frames differ.
        """
        if frame_id and frame_id != sensor_frame:
            raise SignalError(
                f"{source} is in frame '{frame_id}', not in the sensor's frame '{sensor_frame}'.",
                remedy=f"Give --sensor-frame {frame_id}. If the URDF calls the same frame"
                f" '{sensor_frame}', correct the driver's frame_id (its parameter, or in the bag).",
            )


def slow_part(samples: Array) -> float:
    """Return the slow variation of readings at rest, relative to their white noise; 1 if the noise
    is white.

    The variance of moving averages is compared with the one that white noise would cause; the level
    of the white noise is estimated from fourth differences, which suppress slow changes. The result
    is the larger of the two ratios, for forces and for torques. The result is increased by
    vibration, by drift, and by a hum near a multiple of the sampling rate.

    Args:
        samples: Samples of one still posture, shape (N, 6).
    """
    if len(samples) < 4 * _SLOW_WINDOW:
        return 0.0
    noise = np.std(np.diff(samples, n=4, axis=0), axis=0) / np.sqrt(70.0)
    mean = scipy.ndimage.uniform_filter1d(
        samples - samples.mean(axis=0), _SLOW_WINDOW, axis=0, mode="nearest"
    )
    inner = mean[_SLOW_WINDOW // 2 : -_SLOW_WINDOW // 2]
    relative = np.std(inner, axis=0) * np.sqrt(_SLOW_WINDOW) / np.maximum(noise, 1e-12)
    groups = (relative[:3], relative[3:])
    return float(max(np.sqrt(np.mean(group**2)) for group in groups))


def _names(mask: Array) -> tuple[str, ...]:
    return tuple(axis for axis, hit in zip(WRENCH_AXES, mask, strict=True) if hit)


def _frozen(wrench: Array, time: Array) -> list[WrenchFault]:
    """Fault if all axes are constant for too long, or one axis is always constant."""
    faults = []
    same = wrench[1:] == wrench[:-1]
    longest, first = 0.0, 0
    edges = np.flatnonzero(np.diff(np.r_[False, same.all(axis=1), False].astype(int)))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if time[end] - time[start] > longest:
            longest, first = float(time[end] - time[start]), int(start)
    span = float(time[-1] - time[0])
    if longest > _MAX_FROZEN_S:
        n_samples = int(np.sum(same.all(axis=1)))
        faults.append(
            WrenchFault(
                WrenchFaultKind.FROZEN,
                WRENCH_AXES,
                float(time[first]),
                n_samples,
                f"The wrench is frozen for {longest:.2f} s from {time[first]:.3f} s: not a digit"
                " changes.",
                "A working sensor always has noise. The driver repeats its last value: check its"
                " connection, then record again.",
            )
        )
    dead: Array = np.all(same, axis=0)
    if span > _MAX_FROZEN_S and dead.any() and not dead.all():
        axes = _names(dead)
        faults.append(
            WrenchFault(
                WrenchFaultKind.FROZEN,
                axes,
                0.0,
                len(wrench),
                f"Axis {', '.join(axes)} of the wrench never changes.",
                "The axis is dead or not connected; all six are needed.",
            )
        )
    return faults


def saturated(wrench: Array, ranges: Sequence[float | None] = ()) -> NDArray[np.bool_]:
    """Return a mask of the saturated readings (K, n) of a motion, shape (K, n).

    Args:
        wrench: Readings in the order of time, shape (K, n).
        ranges: Full scale of each axis; None, or not given: an axis is saturated where it stays at
            its smallest or largest value while other axes change. At rest, a coarse sensor repeats
            its readings on all axes.
    """
    out = np.zeros(wrench.shape, dtype=bool)
    ranges = ranges or (None,) * wrench.shape[1]
    distinct = [np.unique(axis[np.isfinite(axis)]) for axis in wrench.T]
    steps = np.array([np.min(np.diff(values), initial=np.inf) for values in distinct])
    for j, full_scale in enumerate(ranges):
        if full_scale is not None:
            out[:, j] = np.abs(wrench[:, j]) >= 0.999 * full_scale
            continue
        for run in _runs_at_the_extremes(wrench[:, j], distinct[j], steps[j]):
            # Its quartiles, because a rest begins and ends in motion.
            low, high = np.percentile(wrench[run], (25.0, 75.0), axis=0)
            out[run, j] = np.any(high - low > _STILL * steps)
    return out


def _runs_at_the_extremes(values: Array, distinct: Array, quantum: float) -> Iterator[slice]:
    """Long runs of samples (K,) at the signal's smallest or largest value that cut off a peak;
    `distinct` contains the different values in ascending order, `quantum` is the smallest step
    between them.
    """
    if len(distinct) < _FEW_DISTINCT:
        return
    for extreme in distinct[[0, -1]]:
        edges = np.flatnonzero(np.diff(np.r_[False, values == extreme, False].astype(int)))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            if end - start < _CLIPPED_RUN:
                continue
            # How far the signal would have gone on at the slope with which it came (or left).
            # A smooth top of a quantised signal overshoots by less than four steps.
            slopes = [values[start - 1] - values[start - 3]] if start >= 3 else []
            slopes += [values[end] - values[end + 2]] if end + 2 < len(values) else []
            if 0.25 * (end - start) * np.nanmax(np.abs(slopes), initial=0.0) > 6.0 * quantum:
                yield slice(start, end)


def _not_finite(wrench: Array, time: Array) -> list[WrenchFault]:
    bad: Array = ~np.isfinite(wrench)
    if not bad.any():
        return []
    rows = np.flatnonzero(bad.any(axis=1))
    axes = _names(np.asarray(bad.any(axis=0)))
    return [
        WrenchFault(
            WrenchFaultKind.NOT_FINITE,
            axes,
            float(time[rows[0]]),
            len(rows),
            f"{len(rows)} wrench sample(s) are NaN or infinite ({', '.join(axes)}), first at"
            f" {time[rows[0]]:.3f} s.",
            "The driver has lost the sensor: restart it, check the cable, record again.",
        )
    ]


def _saturated(wrench: Array, time: Array, ranges: Sequence[float | None]) -> Iterator[WrenchFault]:
    bad = saturated(wrench, ranges)
    if bad.any():
        rows = np.flatnonzero(bad.any(axis=1))
        axes = _names(np.asarray(bad.any(axis=0)))
        yield WrenchFault(
            WrenchFaultKind.SATURATED,
            axes,
            float(time[rows[0]]),
            len(rows),
            f"{len(rows)} wrench sample(s) are saturated ({', '.join(axes)}), first at"
            f" {time[rows[0]]:.3f} s.",
            "The load, bias and motion exceed the sensor's range: re-zero it in hardware, move"
            " more slowly, or use a larger sensor.",
        )


@dataclass(frozen=True)
class Hum:
    """Periodic disturbance: a line in the spectrum.

    Attributes:
        frequency_hz: Frequency of the line in the sampled readings [Hz].
        amplitude: Amplitude on the axis with the largest one [N or N m].
        axis: Name of that axis.
        rate_hz: Rate of the readings [Hz].
    """

    frequency_hz: float
    amplitude: float
    axis: str
    rate_hz: float

    @property
    def text(self) -> str:
        """Sentence about the disturbance."""
        unit = "N" if self.axis.startswith("f") else "N m"
        return (
            f"The wrench contains a periodic disturbance of {self.frequency_hz:.1f} Hz ({self.amplitude:.2g} {unit}"
            f" in {self.axis}, sampled at {self.rate_hz:.0f} Hz). At a lower sampling rate, it can be confused with a"
            " rotating load (aliasing). Switch on the low-pass filter of the sensor, or check for interference from mains and"
            " drives, and for loose cables."
        )
