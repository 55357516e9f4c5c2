# SPDX-License-Identifier: Apache-2.0
"""Facts of a recording's streams: rate, gaps, noise, resolution, saturation."""

from __future__ import annotations

from typing import Any

import numpy as np

from sysid_core.signals.recording import Array, JointStream, Recording, WrenchStream
from sysid_core.signals.timing import (
    TimingReport,
    check_timing,
    quantisation,
    sample_noise,
    standstill_share,
)
from sysid_core.signals.wrench.checks import saturated

_NOISE_SAMPLES = 30_000  # say enough about the noise


def stream_facts(recording: Recording) -> dict[str, dict[str, Any]]:
    """Return the number of samples, rate, gaps and jitter of the joint states and of the wrench, if
    there is one, by the name of the stream.

    Args:
        recording: Recording as read, with the timing of its stamps.
    """
    streams = {"joint states": _joint_facts(recording.joints)}
    if recording.wrench is not None:
        streams["wrench"] = _wrench_facts(recording.wrench)
    for name, key in (("joint states", "joints"), ("wrench", "wrench")):
        if name in streams:
            streams[name] |= _dropped(recording.timing[key])
    return streams


def _joint_facts(stream: JointStream) -> dict[str, Any]:
    rows = slice(None, None, max(len(stream) // _NOISE_SAMPLES, 1))
    saturated = None if stream.effort is None else _saturated(stream.effort, stream.q)
    return {
        **_timing(stream),
        "noise": _noise(stream.time, stream.q),
        "noise_unit": "rad or m",
        "step": quantisation(stream.q[:_NOISE_SAMPLES]).tolist(),
        "saturated": saturated,
        "standstill": standstill_share(stream.time[rows], stream.q[rows]) if len(stream) else 1.0,
    }


def _wrench_facts(stream: WrenchStream) -> dict[str, Any]:
    return {
        **_timing(stream),
        "frame": stream.frame,
        "noise": _noise(stream.time, stream.wrench),
        "noise_unit": "N or N m",
        "step": quantisation(stream.wrench[:_NOISE_SAMPLES]).tolist(),
        "saturated": _saturated(stream.wrench),
    }


def _saturated(values: Array, *others: Array) -> list[float]:
    """Share of samples in which each column is saturated, shape (n,), although the motion continues
    in this or other columns.
    """
    found = saturated(np.column_stack([values, *others]))[:, : values.shape[1]]
    return found.mean(axis=0).tolist() if len(found) else [0.0] * values.shape[1]


def _noise(time: Any, values: Any) -> list[float] | None:
    """Standard deviation of the noise of a sample, from the longest span without gaps."""
    breaks = np.flatnonzero(np.diff(time) > 0.1) + 1
    rows = max(np.split(np.arange(len(time)), breaks), key=len)[:_NOISE_SAMPLES]
    if len(rows) < 100:
        return None
    return list(sample_noise(time[rows], values[rows]).tolist())


def _timing(stream: JointStream | WrenchStream) -> dict[str, Any]:
    report, _ = check_timing(stream.stamps_ns)
    return {
        "samples": report.kept,
        "seconds": float(stream.time[-1]) if len(stream) else 0.0,
        "rate_hz": report.rate_hz,
        "jitter_ms": report.jitter_s * 1e3,
        "gaps": report.gaps,
        "longest_gap_ms": report.longest_gap_s * 1e3,
    }


def _dropped(report: TimingReport) -> dict[str, Any]:
    """Sentences on faults of the time stamps in the recording."""
    return {
        "duplicates": report.duplicates,
        "backward": report.backward,
        "clock_jumps": report.resets,
        "invalid": report.invalid,
    }
