# SPDX-License-Identifier: Apache-2.0
"""Kalman filters whose noise levels follow the data."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sysid_core.signals.filters.kalman import (
    FLOOR_SD,
    KinematicBank,
    NoiseEstimator,
    NoiseLevels,
    kernels,
)
from sysid_core.signals.recording import Array

_HORIZON_S = 1.0  # of the running noise levels
_FILTERS = 25  # of the noise estimator: enough for the ratio within some 20 %
_RETUNE_SAMPLES = 10  # the levels change slowly; finding their best costs more than a step
_SETTLED_SAMPLES = 100  # before samples are judged by the levels
_UNKNOWN_NOISE = 10.0  # times the initial level before there are differences to look at
_ENOUGH_SAMPLES = 20  # before the initial levels are replaced
_SOME_DIFFERENCES = 6  # that may show less noise than was assumed
_NONE, _NOBODY = np.zeros(0), np.zeros(0, dtype=np.bool_)


class TunedBank:
    """Bank of Kalman filters for n signals, whose noise levels are given or estimated from the
    data.

    Args:
        noise: Noise levels, shape (n,): fixed, or initial values where `tuned`.
        tuned: Mask of the signals whose levels are estimated over about the last second, shape
            (n,).
        rates: Number of signals whose first derivative is also measured; they are the first ones.
        tunes_rates: True to estimate the noise of the measured rates.
        order: Order of the model, as in `KinematicBank`.

    Attributes:
        bank: Kalman filters, one per signal.
        noise: Noise levels in use.
    """

    def __init__(
        self,
        noise: NoiseLevels,
        tuned: NDArray[np.bool_],
        *,
        rates: int = 0,
        tunes_rates: bool = False,
        order: int = 2,
    ) -> None:
        self._tuned = tuned
        self._rates = rates
        self._tunes_rates = tunes_rates and rates > 0
        self._estimator: NoiseEstimator | None = None
        if tuned.any() or self._tunes_rates:
            self._estimator = NoiseEstimator(
                len(tuned) + rates, order, horizon_s=_HORIZON_S, filters=_FILTERS
            )
        self.noise = noise
        self.bank = KinematicBank(noise.density, order)
        # Three samples say nothing about noise: until then it may be large.
        unknown = np.where(tuned, _UNKNOWN_NOISE, 1.0)
        self._variance: Array = np.square(unknown * noise.measurement_sd)
        levels = np.ones(rates) if noise.rate_sd is None else noise.rate_sd[:rates]
        self._rate_variance: Array = np.square(levels)
        self._disagreement = np.zeros(rates)
        self._disagreement_weight = 0.0
        self._samples = 0
        self._first: list[Array] = []  # values before the levels are known
        self._differences: list[Array] = []
        self._step = kernels().step
        # Of the estimator's filters: those tuned like the levels, and those that took over.
        self._nearest: NDArray[np.intp] | None = None
        self._sudden: dict[int, int] = {}

    @property
    def settled(self) -> bool:
        """True if the noise levels are given, or already estimated from the data."""
        return self._estimator is None or self._estimator.samples >= _SETTLED_SAMPLES

    @property
    def rate_sd(self) -> Array:
        """Standard deviation of the measured rates, shape (rates,)."""
        return np.sqrt(self._rate_variance)

    def start(self, z: Array, rate: Array | None, start_sd: Array) -> None:
        """Start or restart all filters at the values `z`.

        Args:
            z: Values, shape (n,).
            rate: Measured first derivatives, shape (rates,); None if there are none.
            start_sd: Standard deviations of unknown derivatives, shape (n, order).
        """
        x = np.zeros(self.bank.x.shape)
        x[:, 0] = z
        sd = np.column_stack([np.sqrt(self._variance), start_sd])
        if rate is not None:
            x[: self._rates, 1], sd[: self._rates, 1] = rate, self.rate_sd
        self.bank.start(x, sd)
        self.bank.density = self.noise.density
        self._sudden = {}
        if self._estimator is not None:
            self._estimator.start(z if rate is None else np.concatenate([z, rate]))

    def restart(self, signal: int, z: float, rate: float | None, start_sd: Array) -> None:
        """Restart the filter of one signal at the value `z`.

        Args:
            signal: Index of the signal.
            z: Value of the signal.
            rate: Measured first derivative; None if there is none.
            start_sd: Standard deviations of unknown derivatives, shape (order,).
        """
        sd = np.array([self.noise.measurement_sd[signal], *start_sd])
        x = np.zeros(len(sd))
        x[0] = z
        if rate is not None:
            x[1], sd[1] = rate, self.rate_sd[signal]
        self.bank.x[signal], self.bank.P[signal] = x, np.diag(np.square(sd))
        self._sudden.pop(signal, None)
        if self._estimator is not None:
            self._estimator.restart(signal, z)

    def update(
        self,
        dt: float,
        z: Array,
        rate: Array | None = None,
        left_out: NDArray[np.bool_] | None = None,
    ) -> None:
        """Process new values, which were measured `dt` seconds after the previous ones.

        Args:
            dt: Step [s].
            z: Values, shape (n,).
            rate: Measured first derivatives, shape (rates,); None if there are none.
            left_out: Mask of the ignored signals among the first m, shape (m,); `z` must contain
                expected values for them. None: no signal is ignored.
        """
        bank = self.bank
        keep = math.exp(-dt / _HORIZON_S)
        rates = _NONE if rate is None else np.array(rate)
        if rate is not None:
            self._disagreement_weight = keep * self._disagreement_weight + 1.0
        self._step(
            bank.x,
            bank.P,
            *bank.unit_step,
            dt,
            bank.density,
            z,
            self._variance,
            rates,
            self._rate_variance,
            _NOBODY if left_out is None else left_out,
            self._disagreement,
            keep,
            self._tunes_rates,
        )
        if self._estimator is not None:
            self._estimator.update(dt, z if rate is None else np.concatenate([z, rates]))
            self._samples += 1
            if self._samples % _RETUNE_SAMPLES == 0 and self._estimator.samples >= _ENOUGH_SAMPLES:
                self._tune(self._estimator.levels())
                self._nearest = self._estimator.nearest_filter(self.noise)
            if self._nearest is None:
                self._look_at_differences(z)
            else:
                self._follow_sudden_motion(self._estimator, self._nearest)

    def _look_at_differences(self, z: Array) -> None:
        """Use at least the noise level that follows from third differences, until the noise levels
        are estimated.

        The variance of third differences is 20 times that of a measurement, and motion hardly
        affects them.
        """
        self._first = [*self._first[-3:], z.copy()]
        if len(self._first) < 4:
            return
        a, b, c, d = self._first
        self._differences.append(np.square(d - 3.0 * c + 3.0 * b - a) / 20.0)
        seen = np.mean(self._differences, axis=0)
        least = np.square(self.noise.measurement_sd)
        if len(self._differences) >= _SOME_DIFFERENCES:
            least = np.minimum(least, 2.0 * seen)
        self._use_variance(
            np.where(self._tuned, np.maximum(np.maximum(seen, least), FLOOR_SD**2), self._variance)
        )

    def _use_variance(self, variance: Array) -> None:
        """Use this measurement variance from now on; if it is larger than the previous one,
        increase the covariances of the states by the same factor.
        """
        ratio = np.maximum(variance / self._variance, 1.0)
        self._variance = variance
        self.bank.P *= ratio[:, None, None]

    def _tune(self, levels: NoiseLevels) -> None:
        n = len(self._tuned)
        self.noise = NoiseLevels(
            np.where(self._tuned, levels.measurement_sd[:n], self.noise.measurement_sd),
            np.where(self._tuned, levels.density[:n], self.noise.density),
        )
        variance = np.square(self.noise.measurement_sd)
        if self._nearest is None:
            self._use_variance(variance)
        self._variance = variance
        if self._tunes_rates:
            # Rates that a driver has filtered are smooth but late: their own noise isn't all.
            own = np.square(levels.measurement_sd[n:])
            self._rate_variance = np.maximum(own, self._disagreement / self._disagreement_weight)

    def _follow_sudden_motion(self, estimator: NoiseEstimator, used: NDArray[np.intp]) -> None:
        """Replace a filter by a faster one if the noise levels of the last second no longer fit the
        motion.

        Without the faster filter, the start of a motion after a rest would be detected late, with
        standard deviations that are too small. The state of the faster filter, which has processed
        the same samples, is used from then on.
        """
        faster = estimator.faster_filter(used, self._variance)
        before, self._sudden = self._sudden, {}
        self.bank.density = self.noise.density
        if not faster:
            return
        density = self.noise.density.copy()
        for j, index in faster.items():
            if not self._tuned[j]:
                continue
            x, P, density[j] = estimator.filter_state(index, j, float(self._variance[j]))
            if index > before.get(j, -1) + 1:
                self.bank.x[j], self.bank.P[j] = x, P
            else:
                index = max(index, before.get(j, -1))
            self._sudden[j] = index
        self.bank.density = density
