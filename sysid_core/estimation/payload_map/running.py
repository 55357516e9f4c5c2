# SPDX-License-Identifier: Apache-2.0
r"""The default payload estimator for samples that arrive one by one.

The same model as `payload_map` (sensor errors, uncertain motion, density prior), in information
form: the rows of each sample are whitened once, with the payload known by then, and added up. The
wrench doesn't correct past motion here.

Motion from a filter needs no more (`motion_belief`, Berkson's errors). Motion as an accelerometer
reads it attenuates the inertia: errors e of the regressor add `B = E[A'(e)^T Sigma^-1 A'(e)]` to
the sum `G = A^T Sigma^-1 A`, not to `g = A^T Sigma^-1 b`. What holds in the mean is then
`g = (G - B) pi`, and g scatters about it with a covariance of about G; so the data say
`|G^-1/2 ((G - B) pi - g)|` (errors in variables; Fuller, Measurement Error Models, 1987, sec. 3.1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import (
    CONTRASTS,
    EXTENT,
    CompressedWrenches,
    PayloadData,
    payload_estimate,
)
from sysid_core.estimation.payload_map.estimator import PayloadMAP
from sysid_core.estimation.payload_map.misfit import reported_misfit
from sysid_core.estimation.payload_map.motion_error import regressor_derivatives, wrench_sensitivity
from sysid_core.estimation.payload_map.running_belief import RunningBelief
from sysid_core.estimation.payload_map.running_noise import RunningNoise
from sysid_core.estimation.payload_map.sensor_model import SensorModel
from sysid_core.robot import (
    Array,
    mass_com_inertia_from_pi,
    pi_from_mass_com_inertia,
    skew,
    wrench_regressor,
)
from sysid_core.robot.shapes import Shape

# Errors of causally filtered motion: (a, omega, alpha), and for how long they persist.
MOTION_SD = (0.03, 0.003, 0.2)  # [m/s^2], [rad/s], [rad/s^2]
MOTION_CORRELATION = (0.05, 0.5)  # [s], with a shape and without: there the data stand alone
# Inertia with which the motion's errors are weighed, in that believed so far (with a shape, without):
# weighed with too little, the first samples, whose motion is hardly known, pull the inertia to zero.
LARGER = (2.0, 3.0)
_TINY = 1e-18  # keeps a covariance with zeros positive
_SPIKE = 6.0  # of the noise, from one sample to the next
_LONGEST_SPIKE = 4  # samples
_REFRESH = 10  # samples between updates of the payload that whitens
_AGAIN = (20, 40, 80, 160)  # samples after which all are whitened anew


class _Sample(NamedTuple):
    """One sample: time [s], wrench (6,), motion (9,), gravity (3,), the motion's covariance."""

    time: float
    wrench: Array
    x: Array
    gravity: Array
    motion: Array
    R_WS: Array | None


class RunningMAP:
    """Maximum a posteriori of payload and sensor errors, sample by sample.

    Args:
        shape: Shape of the object, in the sensor frame; None where it isn't known.
        sensor: What the sensor's errors may be.
        motion_sd: Standard deviations of proper acceleration, angular velocity and angular
            acceleration, each per axis.
        motion_correlation: How long these errors persist [s]; `MOTION_CORRELATION` when None.
        measured_motion: The motion is not filtered but as sensors read it, with errors that are
            independent from sample to sample.
        contrasts: Contrasts of the density, that are possible (`ShapePrior`).
        extent: Size of the space in which something of unknown shape is held [m].
    """

    method = "MAP (running)"

    def __init__(
        self,
        shape: Shape | None = None,
        *,
        sensor: SensorModel | None = None,
        motion_sd: tuple[float, float, float] = MOTION_SD,
        motion_correlation: float | None = None,
        measured_motion: bool = False,
        contrasts: tuple[float, ...] = CONTRASTS,
        extent: float = EXTENT,
    ) -> None:
        self._batch = PayloadMAP(shape, sensor=sensor, contrasts=contrasts, extent=extent)
        self.shape = shape
        self._motion = np.diag(np.repeat(np.square(motion_sd), 3))
        if motion_correlation is None:
            motion_correlation = MOTION_CORRELATION[self._batch.prior.shape is None]
        self._correlation = 0.0 if measured_motion else motion_correlation
        self._measured_motion = measured_motion
        self.reset()

    def reset(self, sensor: SensorModel | None = None) -> None:
        """Forget all samples, and believe something else of the sensor from now on if given."""
        if sensor is not None:
            self._batch.sensor = sensor
        self._sum = RunningBelief(self._batch.sensor, self._batch.prior)
        self._noise = RunningNoise(self._batch.sensor.noise)
        self._bias: Array | None = None
        self._left_open: Array | None = None
        self._before: tuple[Array, Array] | None = None
        self._n_spiked = 0
        self._weighing = np.zeros(2)
        self._first: list[_Sample] = []
        self._last_time: float | None = None
        self._pi: Array | None = None
        self._larger_of: Array | None = None
        self.information = CompressedWrenches()

    def update(
        self,
        time: float,
        wrench: ArrayLike,
        a: ArrayLike,
        omega: ArrayLike,
        alpha: ArrayLike,
        gravity: ArrayLike,
        motion_covariance: ArrayLike | None = None,
        R_WS: ArrayLike | None = None,
    ) -> None:
        """Take one sample, in the axes of the sensor; shapes (6,) and (3,).

        `motion_covariance`, shape (9, 9), is that of (a, omega, alpha), if the filter gives it;
        `R_WS`, shape (3, 3), the sensor's orientation, where it is known.
        """
        b, a, omega, alpha, g = (
            np.asarray(x, dtype=float) for x in (wrench, a, omega, alpha, gravity)
        )
        self._noise.follow(b)
        A = wrench_regressor(a, omega, alpha)
        if self._is_spike(b, A):
            return
        self.information.add(b, a, omega, alpha, g)
        if self._pi is None:
            self._weigh(A, b)
        motion = self._motion if motion_covariance is None else np.asarray(motion_covariance)
        R = None if R_WS is None else np.asarray(R_WS, dtype=float)
        sample = _Sample(time, b, np.hstack([a, omega, alpha]), g, motion, R)
        self._take(sample)
        n = self.information.n_samples
        if n <= _AGAIN[-1]:
            self._first.append(sample)
        if n % _REFRESH == 0:
            self._refresh()
        if n in _AGAIN:
            self._take_again()

    def _take(self, sample: _Sample) -> None:
        """Whiten a sample, with the payload as it is known by now, and add it up."""
        a, omega, alpha = np.split(sample.x, 3)
        A = wrench_regressor(a, omega, alpha)
        pi = self._pi if self._pi is not None else self._batch.homogeneous(1e-3)
        if self._larger_of is not pi:
            self._larger, self._larger_of = self._of_more_inertia(pi), pi
        T = wrench_sensitivity(sample.x[None], self._larger)[0]
        rate = T[:, :3] @ skew(omega) @ sample.gravity  # of the wrench, by gravity's turning
        U = self._batch.sensor.columns(
            (A @ pi)[None],
            rate[None],
            mass_columns=T[None, :, :3],
            R_WS=None if sample.R_WS is None else sample.R_WS[None],
            gravity=sample.gravity[None],
        )[0]
        spread = self._persistence(sample.time) * (T @ sample.motion @ T.T)
        weight = np.linalg.inv(spread + np.diag(self._noise.sd**2))
        attenuation = None
        if self._measured_motion:
            root = np.linalg.cholesky(sample.motion + _TINY * np.eye(9))
            errors = np.tensordot(root.T, regressor_derivatives(omega), axes=1)  # (9, 6, 10)
            attenuation = np.einsum("eik,il,elj->kj", errors, weight, errors, optimize=True)
        self._sum.add(np.hstack([U, A, sample.wrench[:, None]]), weight, attenuation)
        if self._last_time is not None:
            self._sum.drift(sample.time - self._last_time)
        self._last_time = sample.time

    def _take_again(self) -> None:
        """All samples so far once more: the first were whitened with a payload hardly known."""
        if self._pi is None:
            return
        self._sum = RunningBelief(self._batch.sensor, self._batch.prior)
        self._last_time = None
        for sample in self._first:
            self._take(sample)
        if self.information.n_samples == _AGAIN[-1]:
            self._first = []
        self._refresh()

    def fit(self, data: PayloadData, motion_covariance: ArrayLike | None = None) -> Estimate:
        """Start anew, take all samples of a recording, and answer.

        Args:
            data: Wrenches and filtered motions.
            motion_covariance: Covariance of (a, omega, alpha) at every sample, shape (K, 9, 9).
        """
        self.reset()
        K = len(data)
        covariances = [None] * K if motion_covariance is None else np.asarray(motion_covariance)
        for k in range(K):
            self.update(
                float(data.time[k]),
                data.wrench[k],
                data.a[k],
                data.omega[k],
                data.alpha[k],
                data.gravity[k],
                covariances[k],
                None if data.R_WS is None else data.R_WS[k],
            )
        return self.estimate(source=data.source)

    def estimate(self, *, source: str = "") -> Estimate:
        """The answer from all samples so far.

        Raises:
            EstimationError: No samples, or nothing that weighs is held.
        """
        if self.information.n_samples == 0:
            raise EstimationError("No samples yet.", remedy="Call `update` first.")
        found, misfit = self._sum.posterior(self.information.n_samples)
        covariance, notes = reported_misfit(found.covariance, misfit)
        return payload_estimate(
            self.method,
            found.pi,
            covariance,
            found.verdicts,
            self.information,
            source=source,
            notes=notes,
        )

    def prediction(
        self, a: ArrayLike, omega: ArrayLike, alpha: ArrayLike
    ) -> tuple[Array, Array, Array] | None:
        """Wrench that the payload known so far needs, what that leaves open, and the noise.

        Args:
            a, omega, alpha: Motion of the sensor, shape (3,) each.

        Returns:
            Wrench, its standard deviation and that of a reading, shape (6,) each, the bias found so
            far included; None while nothing is known.
        """
        if self._pi is None or not self._noise.known:
            return None
        A = wrench_regressor(*(np.asarray(x, dtype=float) for x in (a, omega, alpha)))
        wrench = A @ self._pi
        biased = max(self._batch.sensor.bias) > 0
        bias = self._bias if biased and self._bias is not None else np.zeros(6)
        left = self._left_open
        spread = np.zeros(6) if left is None else np.sqrt(np.clip(np.diag(A @ left @ A.T), 0, None))
        return wrench + bias, spread, self._noise.sd

    def _is_spike(self, b: Array, A: Array) -> bool:
        """Whether the wrench jumps and the motion doesn't; what lasts is no spike."""
        before, self._before = self._before, (b, A)
        pi = self._pi
        if before is None or pi is None or not self._noise.known:
            return False
        jump = (b - before[0] - (A - before[1]) @ pi) / (np.sqrt(2.0) * self._noise.sd)
        if np.abs(jump).max() < _SPIKE or self._n_spiked >= _LONGEST_SPIKE:
            self._n_spiked = 0
            return False
        self._n_spiked += 1
        self._before = before
        return True

    def _weigh(self, A: Array, b: Array) -> None:
        """First idea of the mass, from the forces so far."""
        unit = self._batch.homogeneous(1.0)
        f = A[:3] @ unit
        self._weighing += [float(f @ b[:3]), float(f @ f)]
        if self._weighing[0] > 0 and self._weighing[1] > 0:
            self._pi = self._batch.homogeneous(self._weighing[0] / self._weighing[1])

    def _refresh(self) -> None:
        """The payload that whitens: the Gaussian version of the estimate."""
        mass = self._weighing[0] / self._weighing[1] if self._weighing[1] > 0 else 0.0
        if self._pi is None or not mass > 0:
            return
        R, r, back = self._sum.compressed()
        try:
            pi, self._left_open = self._batch.prior.gaussian(R, r, float(self._pi[0]))
        except EstimationError:  # nothing that weighs, so far
            return
        if pi[0] > 0.2 * mass:
            self._pi = pi
            self._bias = (back[:, -1] - back[:, :-1] @ pi)[:6]

    def _of_more_inertia(self, pi: Array) -> Array:
        """A body of as much inertia as this may have: filtered motion's errors are weighed with it."""
        if self._measured_motion:  # its errors stay the same, and are taken out of the inertia
            return pi
        mass, com, inertia = mass_com_inertia_from_pi(pi)
        return pi_from_mass_com_inertia(
            mass, com, LARGER[self._batch.prior.shape is None] * inertia
        )

    def _persistence(self, time: float) -> float:
        """How many samples share one error of the motion."""
        if self._last_time is None:
            return 1.0
        return max(1.0, 2.0 * self._correlation / max(time - self._last_time, 1e-6))
