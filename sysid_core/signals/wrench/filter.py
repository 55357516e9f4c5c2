# SPDX-License-Identifier: Apache-2.0
"""Filtered force-torque readings, and the bias of the sensor, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.signals.filters.kalman import NoiseLevels
from sysid_core.signals.filters.tuned_bank import TunedBank
from sysid_core.signals.recording import Array
from sysid_core.signals.stream import (
    FilterCounts,
    SampleOutcome,
    StreamClock,
    is_measured,
)

# Forces, then torques; a wrist sensor of a cobot, until the data say better.
_INITIAL_NOISE = NoiseLevels(
    np.repeat([0.1, 0.005], 3),  # [N], [N m]
    np.repeat([1e3, 1e1], 3),  # [N²/s³], [(N m)²/s³]
)
_START_RATES = np.repeat([[1e2], [1e1]], 3, axis=0)  # [N/s], [N m/s] sd of unknown rates
_PRIOR_BIAS_SD = np.repeat([50.0, 5.0], 3)  # [N], [N m] before a tare


@dataclass(frozen=True, eq=False)
class FilteredWrench:
    """Filtered wrench after one sample: forces [N], then torques [N m].

    Attributes:
        outcome: Acceptance or rejection of the sample.
        stamp_ns: Stamp of the last accepted sample [ns]; None (values: NaN) before the first.
        measured: Filtered reading, bias included, shape (6,) [N, N m].
        measured_sd: Standard deviation of the filtered reading, shape (6,).
        bias: Mean of reading minus expected wrench during the tare, shape (6,); zero before.
        bias_sd: Standard deviation of the bias, shape (6,).
    """

    outcome: SampleOutcome
    stamp_ns: int | None
    measured: Array
    measured_sd: Array
    bias: Array
    bias_sd: Array

    @property
    def wrench(self) -> Array:
        """Filtered reading minus the bias, shape (6,)."""
        return self.measured - self.bias

    @property
    def wrench_sd(self) -> Array:
        """Standard deviation of `wrench`, shape (6,); the errors of reading and bias are
        independent after the tare.
        """
        return np.hypot(self.measured_sd, self.bias_sd)


class WrenchFilter:
    """Constant-rate Kalman filter of the six readings, and Kalman filter of their bias.

    The bias is observable only if the true wrench is known: during a tare, give the wrench that the
    sensor should read (zero without a load, or the weight of the load). At other times the bias is
    unchanged.

    Args:
        max_gap_s: Longest gap after which the filter continues [s]; longer ones restart it with the
            same bias. After a gap or a step back of more than 1 s, noise is estimated anew.
    """

    def __init__(self, *, max_gap_s: float = 0.1) -> None:
        self._filters = self._build()
        self._clock = StreamClock(max_gap_s)
        self._bias = np.zeros(6)
        self._bias_variance: Array = np.square(_PRIOR_BIAS_SD)
        self.tared = False

    @property
    def counts(self) -> FilterCounts:
        """Numbers of accepted and rejected samples so far."""
        return self._clock.counts

    @property
    def noise(self) -> NoiseLevels:
        """Current noise levels, shape (6,)."""
        return self._filters.noise

    def _build(self) -> TunedBank:
        return TunedBank(_INITIAL_NOISE, np.full(6, True), order=1)

    def forget_bias(self) -> None:
        """Return to the state before a tare."""
        self._bias = np.zeros(6)
        self._bias_variance = np.square(_PRIOR_BIAS_SD)
        self.tared = False

    def update(
        self, stamp_ns: int, wrench: ArrayLike, expected: ArrayLike | None = None
    ) -> FilteredWrench:
        """Process one reading.

        Args:
            stamp_ns: Time of the measurement [ns].
            wrench: Reading: force, then torque, shape (6,) [N, N m].
            expected: Expected reading of a sensor without bias, shape (6,); None if it is unknown.

        Returns:
            Filtered wrench; its `outcome` states whether the reading was used.

        Raises:
            SignalError: An array has the wrong length, or the stamp is not an integer.
        """
        z = _six(wrench)
        known = None if expected is None else _six(expected)
        finite = is_measured(z) and (known is None or is_measured(known))
        outcome, dt = self._clock.judge(stamp_ns, finite)
        if self._clock.begins_anew(dt) and not outcome.refused:
            self._filters = self._build()
        if outcome is SampleOutcome.STARTED:
            self._filters.start(z, None, _START_RATES)
        elif outcome is SampleOutcome.ACCEPTED:
            self._filters.update(dt, z)
        if known is not None and not outcome.refused:
            self._observe_bias(z - known)
        (measured, _), (measured_sd, _) = self._filters.bank.state_and_sd()
        return FilteredWrench(
            outcome,
            self._clock.stamp_ns,
            measured,
            measured_sd,
            self._bias,
            np.sqrt(self._bias_variance),
        )

    def _observe_bias(self, z: Array) -> None:
        P, R = self._bias_variance, np.square(self.noise.measurement_sd)
        self._bias = self._bias + P / (P + R) * (z - self._bias)
        self._bias_variance = P * R / (P + R)
        self.tared = True


def _six(values: ArrayLike) -> Array:
    array = np.asarray(values, dtype=float)
    if array.shape != (6,):
        raise SignalError(
            f"A wrench has shape {array.shape}, expected (6,).",
            remedy="Give six numbers: three forces, then three torques.",
        )
    return array
