# SPDX-License-Identifier: Apache-2.0
"""Usable readings of a force-torque sensor, without repetitions, spikes and saturated values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.signals.recording import Array, WrenchStream
from sysid_core.signals.wrench.checks import saturated

_SPIKE = 6.0  # times what samples within `_NEAR` differ from their neighbours, noise never does
_NEAR, _THIRD = 10, 3  # samples; the third largest difference is usual: another spike may be near
_LIKELY = 0.05  # of the samples: more are no spikes
_NEAREST = 3  # other readings by which the density at an extreme is estimated
_TURNING = 2.5  # times that density at the extreme of a cosine: 1 / (sqrt(2) - 1)
_STRONG = 6.0  # [nat]: 20 to 1, after odds of 1 to 20 that an axis saturates at all
REPEATING = 0.05  # of the samples: fewer are chance, such as of coarse readings


def usable_readings(stream: WrenchStream) -> tuple[WrenchStream, tuple[str, ...]]:
    """Return the wrench readings in time order, without non-finite and saturated values,
    repetitions and isolated spikes.

    A driver that publishes faster than its sensor measures repeats each reading. Such repetitions
    are removed, because their stamps are not times at which the sensor measured.

    Args:
        stream: Wrench readings as recorded.

    Returns:
        Stream, and remarks on the removed readings, one sentence each.
    """
    order = np.argsort(stream.stamps_ns, kind="stable")
    stamps, wrench = stream.stamps_ns[order], stream.wrench[order]
    finite = np.isfinite(wrench).all(axis=1) & np.concatenate([[True], np.diff(stamps) > 0])
    stamps, wrench = stamps[finite], wrench[finite]
    notes = []
    clipped = saturated(wrench).any(axis=1)
    if clipped.any():
        notes.append(f"{int(clipped.sum())} saturated wrench samples were omitted.")
        stamps, wrench = stamps[~clipped], wrench[~clipped]
    spiked = single_spikes(wrench)
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
    return replace(stream, stamps_ns=stamps, wrench=wrench), tuple(notes)


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
