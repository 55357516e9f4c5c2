# SPDX-License-Identifier: Apache-2.0
"""Offline filtering without delay: Butterworth forward and backward, resampling, derivatives."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.robot import Array
from sysid_core.signals.recording import JointStream


@dataclass(frozen=True)
class ZeroPhaseFilter:
    """Low-pass Butterworth filter, applied forward and backward.

    Attributes:
        cutoff_hz: Frequency at which a single pass attenuates by 3 dB (both passes: 6 dB) [Hz].
        order: Order of a single pass.

    Examples:
        >>> t = np.arange(0.0, 4.0, 0.01)
        >>> slow, fast = np.sin(2.0 * np.pi * 0.5 * t), np.sin(2.0 * np.pi * 40.0 * t)
        >>> left = ZeroPhaseFilter(5.0).apply(slow + fast, 100.0) - slow
        >>> bool(np.abs(left[50:-50]).max() < 0.01)
        True
    """

    cutoff_hz: float
    order: int = 4

    def __post_init__(self) -> None:
        if self.cutoff_hz <= 0.0 or self.order < 1:
            raise SignalError(
                "A filter needs a positive cut-off and an order of one or more.",
                remedy="Give a cut-off frequency above 0 Hz.",
            )

    def apply(self, signal: ArrayLike, rate_hz: float) -> Array:
        """Filter along the first axis; a cut-off above the Nyquist frequency leaves the signal
        unchanged.

        The ends are continued by reflection about the end point, never by zeros.

        Args:
            signal: Samples, shape (K, ...).
            rate_hz: Sampling rate [Hz].

        Returns:
            Filtered samples, shape (K, ...).

        Raises:
            SignalError: The signal is too short to be filtered.
        """
        signal = np.asarray(signal, dtype=float)
        if 2.0 * self.cutoff_hz >= rate_hz:
            return signal
        sections = scipy.signal.butter(self.order, 2.0 * self.cutoff_hz / rate_hz, output="sos")
        pad = int(np.ceil(3.0 * rate_hz / self.cutoff_hz))
        if len(signal) < 10:
            raise SignalError(
                f"A span of {len(signal)} samples is too short to be filtered.",
                remedy="Record longer, or allow larger gaps.",
            )
        return scipy.signal.sosfiltfilt(sections, signal, axis=0, padlen=min(pad, len(signal) - 1))

    def smooth(self, stream: JointStream, rate_hz: float) -> JointStream:
        """Return positions, velocities and accelerations at equally spaced times, all filtered
        alike.

        Measured velocities are filtered; positions are differentiated only if velocities are
        missing. Efforts are resampled and left unfiltered.

        Args:
            stream: Joint states without gaps.
            rate_hz: Sampling rate of the result [Hz].
        """
        at_rate = resample(stream, rate_hz)
        fine = _filtered(stream, max(_rate(stream), rate_hz), self)
        motion = JointStream(fine.names, fine.stamps_ns, fine.q, fine.v, fine.a)
        smooth = _interpolate(motion, at_rate.time)
        return dataclasses.replace(at_rate, q=smooth.q, v=smooth.v, a=smooth.a)

    @staticmethod
    def central_difference(signal: ArrayLike, rate_hz: float) -> Array:
        """Return the derivative by fourth-order central differences, `[1 -8 0 8 -1] / (12 dt)`; lower
        order at the ends.

        Args:
            signal: Equally spaced samples, shape (K, ...), K >= 3.
            rate_hz: Sampling rate [Hz].

        Returns:
            Derivative [1/s times the unit of the signal], shape (K, ...).
        """
        x = np.asarray(signal, dtype=float)
        out = np.gradient(x, 1.0 / rate_hz, axis=0, edge_order=2)
        if len(x) >= 5:
            out[2:-2] = (x[:-4] - 8.0 * x[1:-3] + 8.0 * x[3:-1] - x[4:]) * (rate_hz / 12.0)
        return out


def resample(stream: JointStream, rate_hz: float) -> JointStream:
    """Return the span at equal steps: linear interpolation; low-pass first if samples are removed.

    Args:
        stream: Joint states without gaps.
        rate_hz: Sampling rate of the result [Hz].
    """
    time = stream.time
    native = _rate(stream)
    if native > 1.5 * rate_hz:  # average away what the lower rate can't carry
        fine = _interpolate(stream, np.arange(0.0, time[-1] + 1e-9, 1.0 / native))
        low_pass = ZeroPhaseFilter(0.4 * rate_hz)
        columns: dict[str, Any] = {
            key: None if (x := getattr(fine, key)) is None else low_pass.apply(x, native)
            for key in ("q", "v", "a", "effort")
        }
        stream = dataclasses.replace(fine, **columns)
    return _interpolate(stream, np.arange(0.0, time[-1] + 1e-9, 1.0 / rate_hz))


def _filtered(stream: JointStream, rate_hz: float, low_pass: ZeroPhaseFilter) -> JointStream:
    """Filtered motion, with derivatives computed at the original rate, before samples are
    dropped.
    """
    fine = _interpolate(stream, np.arange(0.0, stream.time[-1] + 1e-9, 1.0 / rate_hz))
    q = low_pass.apply(fine.q, rate_hz)
    v = (
        ZeroPhaseFilter.central_difference(q, rate_hz)
        if fine.v is None
        else low_pass.apply(fine.v, rate_hz)
    )
    a = (
        ZeroPhaseFilter.central_difference(v, rate_hz)
        if fine.a is None
        else low_pass.apply(fine.a, rate_hz)
    )
    return dataclasses.replace(fine, q=q, v=v, a=a)


def _rate(stream: JointStream) -> float:
    """Mean rate of the samples [Hz]."""
    if len(stream) < 2:
        raise SignalError(
            f"A span of {len(stream)} samples is too short to be filtered.",
            remedy="Record longer, or allow larger gaps.",
        )
    return float((len(stream) - 1) / stream.time[-1])


def _interpolate(stream: JointStream, time: Array) -> JointStream:
    own = stream.time
    columns: dict[str, Any] = {
        key: None
        if (x := getattr(stream, key)) is None
        else scipy.interpolate.make_interp_spline(own, x, k=1)(time)
        for key in ("q", "v", "a", "effort")
    }
    stamps = stream.stamps_ns[0] + np.round(time * 1e9).astype(np.int64)
    return dataclasses.replace(stream, stamps_ns=stamps, **columns)
