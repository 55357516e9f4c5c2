# SPDX-License-Identifier: Apache-2.0
"""Filtered joint states, with standard deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sysid_core.signals.recording import Array, JointStream
from sysid_core.signals.stream_clock import SampleOutcome


@dataclass(frozen=True, eq=False)
class FilteredSample:
    """Joint state after one sample; shape (n,) each.

    Attributes:
        outcome: What became of the sample given.
        stamp_ns: Stamp of the last accepted sample, whose values follow; None (and NaN) before one.
        q, v, a: Position, velocity, acceleration [rad, rad/s, rad/s²].
        q_sd, v_sd, a_sd: Their standard deviations.
        effort, effort_sd: In the unit given, or None where not measured.
    """

    outcome: SampleOutcome
    stamp_ns: int | None
    q: Array
    v: Array
    a: Array
    q_sd: Array
    v_sd: Array
    a_sd: Array
    effort: Array | None = None
    effort_sd: Array | None = None


@dataclass(frozen=True, eq=False)
class FilteredJointStream(JointStream):
    """A joint stream with standard deviations.

    Attributes:
        q_sd: Shape (K, n), as those below.
        v_sd: Standard deviations of the velocities.
        a_sd: Standard deviations of the accelerations.
        effort_sd: Standard deviations of the efforts, where measured.
    """

    q_sd: Array | None = None
    v_sd: Array | None = None
    a_sd: Array | None = None
    effort_sd: Array | None = None

    COLUMNS: ClassVar[tuple[str, ...]] = (
        *JointStream.COLUMNS,
        *("q_sd", "v_sd", "a_sd", "effort_sd"),
    )
