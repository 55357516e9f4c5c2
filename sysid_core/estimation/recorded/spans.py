# SPDX-License-Identifier: Apache-2.0
"""Gapless spans of a recording: motion beside measured torques."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from scipy.interpolate import make_interp_spline

from sysid_core.errors import SignalError
from sysid_core.robot import Array

Motion = TypeVar("Motion")


@dataclass(frozen=True, eq=False)
class Span(Generic[Motion]):
    """Gapless, equally spaced motion with measured torques at the joints.

    Attributes:
        motion: Motion of all joints, as it was `delay` before the torques.
        tau: Torques of the n measured joints, unfiltered, shape (K, n) [N m].
        rate_hz: Samples per second.
        source: Which recording it comes from.
    """

    motion: Motion
    tau: Array
    rate_hz: float
    source: str = ""


def shifted(values: Array, time: Array, shift: float) -> Array:
    """Smooth columns, shape (K, ...), as they were `shift` [s] before; held at the ends."""
    return make_interp_spline(time, values, k=1)(np.clip(time - shift, time[0], time[-1]))


def filled(values: Array | None) -> Array:
    """What `smooth_motion` fills.

    Raises:
        SignalError: It hasn't.
    """
    if values is None:
        raise SignalError(
            "The motion has no velocities or accelerations.",
            remedy="Smooth the motion first: `smooth_motion` gives velocities and accelerations.",
        )
    return values
