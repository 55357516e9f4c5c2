# SPDX-License-Identifier: Apache-2.0
"""Periodic disturbances in a wrench at frequencies above the motion: mains, drives, the filter of
the sensor.

A motion ends below some 10 Hz. What a wrench shows beyond is noise, of one power throughout, and
lines. At the rate at which the sensor is read a line lies where it is; read more slowly, a line
near a multiple of that rate becomes slow (aliasing), and looks like a load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from sysid_core.signals.recording import WrenchStream
from sysid_core.signals.wrench.sensor import WRENCH_AXES

MOTION_HZ = 10.0  # above which nothing moves
_LEAST_S = 1.0  # of readings, for lines some 3 Hz wide
_MOST = 4096  # readings that are looked at, the newest
_FLOOR = 41  # bins about a line that show the noise
_CHANCE = 1e-9  # of taking noise for a line, per spectrum: live there is one each second
_LEAST_PART = 0.5  # of the noise of a reading: a weaker line does no harm


@dataclass(frozen=True)
class Hum:
    """Periodic disturbance: a line in the spectrum.

    Attributes:
        frequency_hz: Frequency at the rate of the readings [Hz].
        amplitude: Amplitude on the axis that shows it most [N or N m].
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
            f"The wrench contains a hum at {self.frequency_hz:.1f} Hz ({self.amplitude:.2g} {unit} in {self.axis}, read"
            f" at {self.rate_hz:.0f} Hz): at a lower rate it may look like a rotating load (aliasing)."
            " Switch on the sensor's low-pass filter, or look for mains, drives and"
            " loose cables."
        )


def wrench_hum(stream: WrenchStream) -> Hum | None:
    """Strongest periodic disturbance at frequencies above the motion; None if there is none, or
    with too few readings.

    The power of noise is exponentially distributed about its mean in every bin of a spectrum
    (Schuster 1898, On the investigation of hidden periodicities); a line has more than that reaches
    anywhere by a chance of `_CHANCE`. Blackman's window keeps the motion where it is (Harris 1978, On
    the use of windows for harmonic analysis, table 1).

    Args:
        stream: Raw readings, at the rate of the sensor.
    """
    wrench, time = stream.wrench[-_MOST:], stream.time[-_MOST:]
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
    row, axis = np.unravel_index(int(np.argmax(np.where(line, power / floor, 0.0))), power.shape)
    return Hum(float(frequency[row]), float(amplitude[row, axis]), WRENCH_AXES[axis], 1.0 / period)
