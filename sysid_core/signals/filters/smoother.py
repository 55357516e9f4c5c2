# SPDX-License-Identifier: Apache-2.0
"""The offline smoother: positions, velocities and accelerations from all samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.signals.filters.joint_filter import FilteredJointStream
from sysid_core.signals.filters.penalised_spline import RATE_SHARE, fit_splines
from sysid_core.signals.filters.repair import bridged, outliers, unwrap
from sysid_core.signals.recording import Array, JointStream, Stamps

_TRIED = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)  # harmonics


def fit_harmonics(time: Array, z: Array, period_s: float) -> tuple[Array, Array]:
    """Constant, trend and the number of harmonics that cross-validation finds for each signal.

    Args:
        time: Shape (K,) [s].
        z: Shape (K, n).
        period_s: Period of the plan.

    Returns:
        Value, first and second derivative, shape (K, n, 3), and the variances that noise of unit
        variance leaves in them, shape (n, 3).

    Raises:
        SignalError: Less than one period, or a period that isn't positive.
    """
    K, n = z.shape
    if not 0.0 < period_s <= 1.001 * (time[-1] - time[0]):
        raise SignalError(
            f"A span of {time[-1] - time[0]:.2f} s holds no whole period of {period_s} s.",
            remedy="Give the period of the plan, or record one whole period at least.",
        )
    most = RATE_SHARE * (K - 1) / (time[-1] - time[0]) * period_s
    tried = [h for h in _TRIED if h <= most] or [1]
    columns = [_columns(time, period_s, tried[-1], d) for d in range(3)]
    gram, right = columns[0].T @ columns[0], columns[0].T @ z
    score, solutions = [], []
    for h in tried:
        size = 2 + 2 * h
        solutions.append(np.linalg.solve(gram[:size, :size], right[:size]))
        residual = z - columns[0][:, :size] @ solutions[-1]
        score.append(np.mean(np.square(residual), axis=0) / (1.0 - size / K) ** 2)
    best = np.argmin(score, axis=0)
    values, gain = np.empty((K, n, 3)), np.empty((n, 3))
    for j, index in enumerate(best.tolist()):
        size = 2 + 2 * tried[index]
        inverse = np.linalg.inv(gram[:size, :size])
        for d in range(3):
            basis = columns[d][:, :size]
            values[:, j, d] = basis @ solutions[index][:, j]
            gain[j, d] = np.einsum("ki,ij,kj->", basis[::50], inverse, basis[::50]) / len(
                basis[::50]
            )
    return values, gain


def _columns(time: Array, period_s: float, harmonics: int, derivative: int) -> Array:
    """Constant, trend, then cosine and sine of each harmonic, or their derivatives."""
    t = time - time[0]
    trend = (np.ones_like(t), t / t[-1]), (0.0 * t, np.ones_like(t) / t[-1]), (0.0 * t, 0.0 * t)
    w = 2.0 * np.pi / period_s * np.arange(1, harmonics + 1)
    phase = np.outer(t, w) + derivative * np.pi / 2.0  # a derivative advances by a quarter turn
    waves = np.stack([np.cos(phase), np.sin(phase)], axis=2) * w[:, None] ** derivative
    return np.column_stack([*trend[derivative], waves.reshape(len(t), -1)])


_FEWEST_SAMPLES = 20  # of a span without gaps


@dataclass(frozen=True, eq=False)
class Smoothing:
    """Noise and process parameters of the smoother; shape (n,) each, of the longest span.

    Attributes:
        noise_sd: Standard deviation of a position sample [rad or m].
        cutoff_hz: Below it motion passes.
        order: Order of the penalty.
        outliers: Samples that were bridged.
        left_out: Samples of spans too short to be smoothed; they aren't in the result.
    """

    noise_sd: Array
    cutoff_hz: Array
    order: Array
    outliers: Array
    left_out: int = 0

    def notes(self, what: str) -> tuple[str, ...]:
        """One sentence for each thing that was put right in the stream `what`."""
        counts = (
            (int(self.outliers.sum()), "outliers bridged"),
            (self.left_out, "samples of spans too short to be smoothed left out"),
        )
        return tuple(f"{what}: {count} {text}." for count, text in counts if count)


def smooth_joints(
    stream: JointStream, *, period_s: float | None = None, max_gap_s: float = 0.1
) -> tuple[FilteredJointStream, Smoothing]:
    """Positions, velocities and accelerations with standard deviations, from positions alone.

    Turns of joints without end stops are unwrapped, outliers bridged; then a penalised spline for
    each joint, whose cut-off cross-validation finds (`fit_splines`). Nothing is carried over gaps.
    Measured velocities, which drivers filter and delay, aren't used. Efforts stay as measured.

    Args:
        stream: Joint states; stamps strictly increasing.
        period_s: Period of the planned motion, where it is known to be periodic: its harmonics are
            fitted first, the spline smooths what remains [s].
        max_gap_s: Longer gaps start again.

    Returns:
        A stream of the stamps used with q, v, a and their standard deviations, and what was found.

    Raises:
        SignalError: Disordered stamps, NaN, or no span of 20 samples.
    """
    stamps = _checked(stream)
    breaks = np.flatnonzero(np.diff(stamps) > max_gap_s * 1e9) + 1
    spans = [
        rows for rows in np.split(np.arange(len(stamps)), breaks) if len(rows) >= _FEWEST_SAMPLES
    ]
    if not spans:
        raise SignalError(
            f"No span of {_FEWEST_SAMPLES} samples without a gap of {max_gap_s} s.",
            remedy="Allow larger gaps (`max_gap_s`), or record again.",
        )
    parts = [_smooth_span(stream, rows, period_s) for rows in spans]
    used = np.concatenate(spans)
    values = np.concatenate([part[0] for part in parts])  # (K, n, 3)
    sd = np.concatenate([part[1] for part in parts])
    longest = max(parts, key=lambda part: len(part[0]))[2]
    kept = stream.select(used)
    found = Smoothing(
        longest.noise_sd,
        longest.cutoff_hz,
        longest.order,
        np.sum([part[2].outliers for part in parts], axis=0),
        len(stream) - len(used),
    )
    columns = {key: values[:, :, d] for d, key in enumerate("qva")}
    spreads = {f"{key}_sd": sd[:, :, d] for d, key in enumerate("qva")}
    return FilteredJointStream(
        kept.names,
        kept.stamps_ns,
        effort=kept.effort,
        effort_kind=kept.effort_kind,
        **columns,
        **spreads,
    ), found


def _smooth_span(
    stream: JointStream, rows: Array, period_s: float | None
) -> tuple[Array, Array, Smoothing]:
    time = (stream.stamps_ns[rows] - stream.stamps_ns[rows[0]]) * 1e-9
    q = unwrap(stream.q[rows])
    bad = outliers(time, q)
    q = bridged(time, q, bad)
    if period_s is None:
        fit = fit_splines(time, q)
        values, sd = fit.values, fit.sd
    else:
        periodic, gain = fit_harmonics(time, q, period_s)
        fit = fit_splines(time, q - periodic[:, :, 0])
        values = periodic + fit.values
        sd = np.sqrt(np.square(fit.sd) + gain * np.square(fit.noise_sd)[:, None])
    return values, sd, Smoothing(fit.noise_sd, fit.cutoff_hz, fit.order, bad.sum(axis=0))


def _checked(stream: JointStream) -> Stamps:
    steps = np.diff(stream.stamps_ns)
    if len(stream) == 0 or (steps <= 0).any():
        k = int(np.argmax(steps <= 0)) + 1 if len(stream) else 0
        raise SignalError(
            f"Joint stamps must increase; sample {k} of {len(stream)} doesn't follow the one"
            " before.",
            remedy="Drop disordered samples first: `in_order`.",
            sample=k,
        )
    if not np.isfinite(stream.q).all():
        k, j = np.argwhere(~np.isfinite(stream.q))[0]
        raise SignalError(
            f"The position of '{stream.names[j]}' at sample {k} is {stream.q[k, j]}.",
            remedy="Drop invalid samples first: `in_order`.",
            sample=int(k),
        )
    return stream.stamps_ns
