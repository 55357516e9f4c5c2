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
    verdicts_from_prior,
)
from sysid_core.estimation.payload_map.estimator import PayloadMAP, eliminate_nuisances
from sysid_core.estimation.payload_map.misfit import Misfit, nuisance_misfit, reported_misfit
from sysid_core.estimation.payload_map.motion_error import regressor_derivatives, wrench_sensitivity
from sysid_core.estimation.payload_map.sensor_model import SensorModel
from sysid_core.robot import Array, skew, wrench_regressor
from sysid_core.robot.shapes import Shape

# Errors of causally filtered motion: (a, omega, alpha), and for how long they persist.
MOTION_SD = (0.03, 0.003, 0.2)  # [m/s^2], [rad/s], [rad/s^2]
MOTION_CORRELATION = (0.05, 0.5)  # [s], with a shape and without: there the data stand alone
_UNKNOWN_NOISE = (0.1, 0.005)  # until enough samples tell: Nadeau et al. 2022, moderate
_TINY = 1e-18  # keeps a covariance with zeros positive
_SPIKE = 6.0  # of the noise, from one sample to the next
_LONGEST_SPIKE = 4  # samples
_SURE_OF_NOISE = 40  # samples
_DRIFT_S = 0.5  # [s] between steps of the bias
_REFRESH = 10  # samples between updates of the payload that whitens


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
            motion_correlation = MOTION_CORRELATION[shape is None]
        self._correlation = 0.0 if measured_motion else motion_correlation
        self._measured_motion = measured_motion
        self.reset()

    def reset(self, sensor: SensorModel | None = None) -> None:
        """Forget all samples, and believe something else of the sensor from now on if given."""
        if sensor is not None:
            self._batch.sensor = sensor
        sensor = self._batch.sensor
        self._precision = sensor.prior_sd() ** -2.0
        size = len(self._precision) + 11
        self._gram = np.zeros((size, size))
        self._drifts = max(sensor.drift) > 0 and max(sensor.bias) > 0
        self._bias: Array | None = None
        self._left_open: Array | None = None
        self._before: tuple[Array, Array] | None = None
        self._n_spiked = 0
        self._drifting, self._wandered = 0.0, np.zeros(6)
        if self._drifts:  # the prior of a bias that wanders is used up once
            self._gram[:6, :6] = np.diag(self._precision[:6])
            self._precision[:6] = 0.0
        self._attenuation = np.zeros((10, 10))
        self._weighing = np.zeros(2)
        self._recent: list[Array] = []
        self._roughness = np.zeros(2)
        self._rough_count = 0
        self._last_time: float | None = None
        self._pi: Array | None = None
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

        `motion_covariance`, shape (9, 9), is that of (a, omega, alpha), if the filter tells it;
        `R_WS`, shape (3, 3), the sensor's orientation, where it is known.
        """
        b, a, omega, alpha, g = (
            np.asarray(x, dtype=float) for x in (wrench, a, omega, alpha, gravity)
        )
        self._follow_noise(b)
        A = wrench_regressor(a, omega, alpha)
        if self._is_spike(b, A):
            return
        self.information.add(b, a, omega, alpha, g)
        if self._pi is None:
            self._weigh(A, b)
        pi = self._pi if self._pi is not None else self._batch.homogeneous(1e-3)
        T = wrench_sensitivity(np.hstack([a, omega, alpha])[None], pi)[0]
        rate = T[:, :3] @ skew(omega) @ g  # of the wrench, by gravity's turning
        U = self._batch.sensor.columns(
            (A @ pi)[None],
            rate[None],
            mass_columns=T[None, :, :3],
            R_WS=None if R_WS is None else np.asarray(R_WS, dtype=float)[None],
            gravity=g[None],
        )[0]
        X = np.hstack([U, A, b[:, None]])
        motion = self._motion if motion_covariance is None else np.asarray(motion_covariance)
        Sigma = self._persistence(time) * (T @ motion @ T.T) + np.diag(self._noise_sd() ** 2)
        weight = np.linalg.inv(Sigma)
        self._gram += X.T @ weight @ X
        if self._measured_motion:
            root = np.linalg.cholesky(motion + _TINY * np.eye(9))
            errors = np.tensordot(root.T, regressor_derivatives(omega), axes=1)  # (9, 6, 10)
            self._attenuation += np.einsum("eik,il,elj->kj", errors, weight, errors, optimize=True)
        self._drift(time)
        self._last_time = time
        if self.information.n_samples % _REFRESH == 0:
            self._refresh()

    def fit(self, data: PayloadData, motion_covariance: ArrayLike | None = None) -> Estimate:
        """Start anew, take all samples of a recording, and answer.

        Args:
            data: Wrenches and filtered motions.
            motion_covariance: Of (a, omega, alpha) at every sample, shape (K, 9, 9).
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
        R, r, back = self._compressed()
        found = self._batch.prior.posterior(R, r)
        verdicts = verdicts_from_prior(found.covariance, found.spread)
        u = back[:, -1] - back[:, :-1] @ found.pi
        y = np.concatenate([u, found.pi, [-1.0]])
        left = float(np.sqrt(max(y @ self._gram @ y, 0.0) / (6 * self.information.n_samples)))
        precision = self._precision.copy()
        if self._drifts:
            precision[:6] = 1.0 / (self._batch.sensor.prior_sd()[:6] ** 2 + self._wandered)
        misfit = Misfit(left, 0.0, nuisance_misfit(u, precision), found.wrong_shape)
        covariance, notes = reported_misfit(found.covariance, misfit)
        return payload_estimate(
            self.method,
            found.pi,
            covariance,
            verdicts,
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
        if self._pi is None or self._rough_count < _SURE_OF_NOISE:
            return None
        A = wrench_regressor(*(np.asarray(x, dtype=float) for x in (a, omega, alpha)))
        wrench = A @ self._pi
        biased = max(self._batch.sensor.bias) > 0
        bias = self._bias if biased and self._bias is not None else np.zeros(6)
        left = self._left_open
        spread = np.zeros(6) if left is None else np.sqrt(np.clip(np.diag(A @ left @ A.T), 0, None))
        return wrench + bias, spread, self._noise_sd()

    def _compressed(self) -> tuple[Array, Array, Array]:
        """As `eliminate_nuisances`, without attenuation by errors of a measured motion."""
        R, r, back = eliminate_nuisances(self._gram, self._precision)
        if self._measured_motion:
            scale = np.linalg.norm(R, axis=0)
            scale = np.where(scale > 0, scale, 1.0)
            R = R - np.linalg.pinv(R / scale).T @ (self._attenuation / scale[:, None])
        return R, r, back

    def _is_spike(self, b: Array, A: Array) -> bool:
        """Whether the wrench jumps and the motion doesn't; what lasts is no spike."""
        before, self._before = self._before, (b, A)
        pi = self._pi
        if before is None or pi is None or self._rough_count < _SURE_OF_NOISE:
            return False
        jump = (b - before[0] - (A - before[1]) @ pi) / (np.sqrt(2.0) * self._noise_sd())
        if np.abs(jump).max() < _SPIKE or self._n_spiked >= _LONGEST_SPIKE:
            self._n_spiked = 0
            return False
        self._n_spiked += 1
        self._before = before
        return True

    def _drift(self, time: float) -> None:
        """Let the bias wander: the old bias is eliminated, a new one lies near it.

        The prediction of a Kalman filter in information form (Maybeck 1979, sec. 5.7), once per
        `_DRIFT_S`.
        """
        sensor = self._batch.sensor
        if self._last_time is not None:
            self._drifting += time - self._last_time
        if self._drifting < _DRIFT_S or not self._drifts:
            return
        variance = np.repeat(np.square(sensor.drift), 3) * self._drifting
        self._wandered = self._wandered + variance
        self._drifting = 0.0
        G = self._gram
        # min over b of y^T G y + |b' - b|^2 / variance
        M = np.linalg.inv(G[:6, :6] + np.diag(1.0 / variance))
        cross = M @ G[:6, 6:]
        G[6:, 6:] -= G[6:, :6] @ cross
        G[:6, 6:] = cross / variance[:, None]
        G[6:, :6] = G[:6, 6:].T
        G[:6, :6] = np.diag(1.0 / variance) - M / np.outer(variance, variance)

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
        R, r, back = self._compressed()
        try:
            pi, self._left_open = self._batch.prior.gaussian(R, r, float(self._pi[0]))
        except EstimationError:  # nothing that weighs, so far
            return
        if pi[0] > 0.2 * mass:
            self._pi = pi
            self._bias = (back[:, -1] - back[:, :-1] @ pi)[:6]

    def _follow_noise(self, b: Array) -> None:
        """Mean size of the fourth differences, which no slow motion survives."""
        self._recent = [*self._recent[-4:], b]
        if len(self._recent) == 5:
            d = np.abs(np.diff(np.array(self._recent), n=4, axis=0)[0])
            size = np.array([d[:3].mean(), d[3:].mean()])
            if self._rough_count >= 20:  # a step is not noise
                size = np.minimum(size, 5.0 * self._roughness / self._rough_count)
            self._roughness = self._roughness + size
            self._rough_count += 1

    def _noise_sd(self) -> Array:
        """Of the six axes, as known by now."""
        given = self._batch.sensor.noise
        if given is not None:
            return np.repeat(np.maximum(given, 1e-9), 3)
        if self._rough_count < 20:
            return np.repeat(_UNKNOWN_NOISE, 3)
        sd = self._roughness / self._rough_count * np.sqrt(np.pi / 2.0) / np.sqrt(70.0)
        return np.repeat(np.maximum(sd, [1e-5, 1e-6]), 3)

    def _persistence(self, time: float) -> float:
        """How many samples share one error of the motion."""
        if self._last_time is None:
            return 1.0
        return max(1.0, 2.0 * self._correlation / max(time - self._last_time, 1e-6))
