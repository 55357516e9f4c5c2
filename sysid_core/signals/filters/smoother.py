# SPDX-License-Identifier: Apache-2.0
"""The offline smoother: positions, velocities and accelerations from all samples."""

from __future__ import annotations

import dataclasses

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.signals.filters.penalised_spline import fit_splines
from sysid_core.signals.filters.repair import bridged, outliers, unwrap
from sysid_core.signals.recording import JointStream

_FEWEST_SAMPLES = 20  # of a span


def smooth_joints(stream: JointStream) -> JointStream:
    """Positions, velocities and accelerations at the stamps, from positions alone.

    Angles of joints without end stops are unwrapped, and outliers replaced; then each joint gets a
    penalised spline whose cut-off is chosen by cross-validation (`fit_splines`). Measured
    velocities are not used, because drivers filter and delay them. Efforts stay as measured.

    Args:
        stream: A span without gaps; stamps strictly increasing.

    Raises:
        SignalError: Disordered stamps, NaN, or fewer than 20 samples.
    """
    _check(stream)
    time = stream.time
    q = unwrap(stream.q)
    values, _ = fit_splines(time, bridged(time, q, outliers(time, q)))
    q, v, a = np.moveaxis(values, 2, 0)
    return dataclasses.replace(stream, q=q, v=v, a=a)


def _check(stream: JointStream) -> None:
    if len(stream) < _FEWEST_SAMPLES:
        raise SignalError(
            f"A span of {len(stream)} samples is too short to be smoothed.",
            remedy=f"Record {_FEWEST_SAMPLES} samples without a gap at least.",
        )
    steps = np.diff(stream.stamps_ns)
    if (steps <= 0).any():
        k = int(np.argmax(steps <= 0)) + 1
        raise SignalError(
            f"Joint stamps must increase; sample {k} of {len(stream)} is not later than the previous one."
            "",
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
