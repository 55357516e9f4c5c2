# SPDX-License-Identifier: Apache-2.0
r"""Default payload estimator for samples that arrive one by one.

The same model as `payload_map` (sensor errors, uncertain motion, density prior), in information
form: the rows of each sample are whitened once, with the payload estimated so far, and added up. In
this estimator, the wrench does not correct the motion of earlier samples.

Motion from a filter needs no correction (`motion_belief`, Berkson's errors). Motion measured by an
accelerometer attenuates the estimate of the inertia: errors e of the regressor add `B = E[A'(e)^T
Sigma^-1 A'(e)]` to the sum `G = A^T Sigma^-1 A`, not to `g = A^T Sigma^-1 b`. Therefore `g = (G -
B) pi` holds on average, and g scatters about this value with a covariance of about G, so that the
misfit of the data is `|G^-1/2 ((G - B) pi - g)|` (errors in variables; Fuller, Measurement Error
Models, 1987, sec. 3.1).
"""

from __future__ import annotations

from itertools import groupby

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import CompressedWrenches, PayloadData
from sysid_core.estimation.payload.result import payload_estimate
from sysid_core.estimation.payload.shape_prior import CONTRASTS, EXTENT
from sysid_core.estimation.payload_map.estimator import PayloadMAP
from sysid_core.estimation.payload_map.misfit import reported_misfit
from sysid_core.estimation.payload_map.motion_error import (
    ExpectedWrench,
    regressor_derivatives,
    wrench_sensitivity,
)
from sysid_core.estimation.payload_map.running_belief import RunningBelief
from sysid_core.estimation.payload_map.sensor_model import SensorModel
from sysid_core.robot import (
    Array,
    mass_com_inertia_from_pi,
    pi_from_mass_com_inertia,
    skew,
)
from sysid_core.robot.shapes import Shape

_UNKNOWN = (0.1, 0.005)  # until enough samples tell: Nadeau et al. 2022, moderate
_FOURTH = np.array([1.0, -4.0, 6.0, -4.0, 1.0])  # difference
_FEW, _ENOUGH = 20, 40  # samples


class RunningNoise:
    """Mean magnitude of the fourth differences of the wrench, which remove slow motion.

    Args:
        given: Known noise of force and torque [N, N m]; None: estimated.
    """

    def __init__(self, given: tuple[float, float] | None = None) -> None:
        self._given = given
        self._recent: list[Array] = []
        self._sum = np.zeros(2)
        self._count = 0
        self._sd: Array | None = None

    @property
    def known(self) -> bool:
        """True if there are enough samples for an estimate."""
        return self._count >= _ENOUGH

    def follow(self, wrench: Array) -> None:
        """Add one reading, shape (6,)."""
        self._recent = [*self._recent[-4:], wrench]
        if len(self._recent) == 5:
            size = np.abs(_FOURTH @ np.array(self._recent)).reshape(2, 3).mean(axis=1)
            if self._count >= _FEW:  # a step is not noise
                size = np.minimum(size, 5.0 * self._sum / self._count)
            self._sum = self._sum + size
            self._count += 1
            self._sd = None

    @property
    def sd(self) -> Array:
        """Current estimates of the standard deviations of the six axes."""
        if self._sd is None:
            self._sd = np.repeat(self._levels(), 3)
        return self._sd

    def _levels(self) -> Array:
        """Standard deviations of force and torque, shape (2,)."""
        if self._given is not None:
            return np.maximum(self._given, 1e-9)
        if self._count < _FEW:
            return np.array(_UNKNOWN)
        sd = self._sum / self._count * np.sqrt(np.pi / 2.0) / np.sqrt(70.0)
        return np.asarray(np.maximum(sd, [1e-5, 1e-6]))


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


class RunningMAP:
    """Recursive maximum a posteriori estimator of payload and sensor errors.

    Args:
        shape: Shape of the object, in the sensor frame; None: unknown.
        sensor: Error magnitudes of the sensor.
        measured_motion: True for a motion measured by sensors, without filter, with errors that are
            independent between samples.
        contrasts: Possible contrasts of the density (see `ShapePrior`).
    """

    method = "MAP (running)"

    def __init__(
        self,
        shape: Shape | None = None,
        *,
        sensor: SensorModel | None = None,
        measured_motion: bool = False,
        contrasts: tuple[float, ...] = CONTRASTS,
    ) -> None:
        self._batch = PayloadMAP(shape, sensor=sensor, contrasts=contrasts)
        self.shape = shape
        self._motion = np.diag(np.repeat(np.square(MOTION_SD), 3))
        correlation = MOTION_CORRELATION[self._batch.prior.shape is None]
        self._correlation = 0.0 if measured_motion else correlation
        self._measured_motion = measured_motion
        self.reset()

    def reset(self, sensor: SensorModel | None = None) -> None:
        """Delete all samples, and optionally replace the sensor model."""
        if sensor is not None:
            self._batch.sensor = sensor
        self._sum = RunningBelief(self._batch.sensor, self._batch.prior)
        self._noise = RunningNoise(self._batch.sensor.noise)
        self._expected: ExpectedWrench | None = None
        self._before: tuple[Array, Array] | None = None
        self._n_spiked = 0
        self._weighing = np.zeros(2)
        self.n_samples = 0  # but for spikes
        self._first: list[PayloadData] = []
        self._waiting: list[tuple[PayloadData, int, Array]] = []  # sample k, and its noise (6,)
        self._last_time: float | None = None
        self._pi: Array | None = None
        self._larger_of: Array | None = None
        self.information = CompressedWrenches()

    def take(self, data: PayloadData, k: int) -> None:
        """Add sample `k`; if the covariance of its motion is unknown, a typical covariance is used."""
        b, A = data.wrench[k], data.regressor[k]
        self._noise.follow(b)
        if self._is_spike(b, A):
            return
        if self._pi is None:
            self._take_waiting()
            self._weigh(A, b)
        self.n_samples += 1
        self._waiting.append((data, k, self._noise.sd))
        if self.n_samples % _REFRESH == 0:
            self._take_waiting()
            self._refresh()
        if self.n_samples in _AGAIN:
            self._take_again()

    def _take_waiting(self) -> None:
        """Whiten the samples since the last update of the payload, all with the same payload."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        of_one = [list(group) for _, group in groupby(waiting, key=lambda one: id(one[0]))]
        samples = PayloadData.joined(
            [group[0][0].select(np.array([k for _, k, _ in group])) for group in of_one]
        )
        self.information.add(samples)
        if self.information.n_samples <= _AGAIN[-1]:
            self._first.append(samples)
        self._take(samples, np.array([noise_sd for _, _, noise_sd in waiting]))

    def _take(self, samples: PayloadData, noise_sd: Array) -> None:
        """Whiten samples with the present payload estimate, and add them to the sums."""
        x = np.hstack([samples.a, samples.omega, samples.alpha])
        g, A, b = samples.gravity, samples.regressor, samples.wrench
        motion = np.tile(self._motion, (len(samples), 1, 1))
        if samples.covariance is not None:
            known = ~np.isnan(samples.covariance[:, 0, 0])
            motion[known] = samples.covariance[known]
        pi = self._pi if self._pi is not None else self._batch.homogeneous(1e-3)
        if self._larger_of is not pi:
            self._larger, self._larger_of = self._of_more_inertia(pi), pi
        T = wrench_sensitivity(x, self._larger)
        turning = skew(x[:, 3:6]) @ g[:, :, None]  # of gravity, in the sensor's axes
        U = self._batch.sensor.columns(
            A @ pi,
            (T[:, :, :3] @ turning)[:, :, 0],
            mass_columns=T[:, :, :3],
            R_WS=samples.R_WS,
            gravity=g,
        )
        steps = np.diff(
            samples.time, prepend=np.nan if self._last_time is None else self._last_time
        )
        spread = self._persistence(steps)[:, None, None] * (T @ motion @ T.transpose(0, 2, 1))
        weight = np.linalg.inv(spread + noise_sd[:, :, None] ** 2 * np.eye(6))
        X = np.concatenate([U, A, b[:, :, None]], axis=2)
        grams = X.transpose(0, 2, 1) @ weight @ X
        for k, (gram, step) in enumerate(zip(grams, steps, strict=True)):
            attenuation = None
            if self._measured_motion:
                attenuation = self._attenuation(x[k, 3:6], motion[k], weight[k])
            self._sum.add(gram, attenuation)
            if step == step:  # not the first
                self._sum.drift(float(step))
        self._last_time = float(samples.time[-1])

    def _attenuation(self, omega: Array, motion: Array, weight: Array) -> Array:
        """Increase of `A^T Sigma^-1 A` by errors of a measured motion, shape (10, 10)."""
        root = np.linalg.cholesky(motion + _TINY * np.eye(9))
        errors = np.tensordot(root.T, regressor_derivatives(omega), axes=1)  # (9, 6, 10)
        return np.asarray(np.einsum("eik,il,elj->kj", errors, weight, errors, optimize=True))

    def _take_again(self) -> None:
        """Process all samples so far once more, because the first were whitened with a very
        uncertain payload.
        """
        if self._pi is None:
            return
        self._sum = RunningBelief(self._batch.sensor, self._batch.prior)
        self._last_time, self._waiting = None, []
        first = PayloadData.joined(self._first)
        self._take(first, np.tile(self._noise.sd, (len(first), 1)))
        if self.n_samples == _AGAIN[-1]:
            self._first = []
        self._refresh()

    def fit(self, data: PayloadData) -> Estimate:
        """Delete all samples, add all samples of a recording, and estimate the payload."""
        self.reset()
        for k in range(len(data)):
            self.take(data, k)
        return self.estimate(source=data.source)

    def estimate(self, *, source: str = "") -> Estimate:
        """Estimate the payload from all samples so far.

        Raises:
            EstimationError: There are no samples, or no load is held.
        """
        if self.n_samples == 0:
            raise EstimationError(
                "The payload cannot be estimated without samples.",
                remedy="Add samples to the estimate first.",
            )
        self._take_waiting()
        found, misfit = self._sum.posterior(self.n_samples)
        covariance, warnings = reported_misfit(found.covariance, misfit)
        return payload_estimate(
            self.method,
            found.pi,
            covariance,
            found.verdicts,
            self.information,
            source=source,
            warnings=warnings,
        )

    def prediction(self, regressor: Array) -> tuple[Array, Array, Array] | None:
        """Return the wrench predicted by the present estimate, with its standard deviation and the
        noise.

        Args:
            regressor: `wrench_regressor` of the sensor's motion, shape (6, 10).

        Returns:
            Wrench including the estimated bias, its standard deviation, and that of a reading,
            shape (6,) each; None while there is no estimate.
        """
        if self._expected is None or not self._noise.known:
            return None
        return *self._expected.at(regressor), self._noise.sd

    def _is_spike(self, b: Array, A: Array) -> bool:
        """True if the wrench jumps without a change of the motion, for a short time only."""
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
        """Set the initial estimate of the mass from the forces so far."""
        unit = self._batch.homogeneous(1.0)
        f = A[:3] @ unit
        self._weighing += [float(f @ b[:3]), float(f @ f)]
        if self._weighing[0] > 0 and self._weighing[1] > 0:
            self._pi = self._batch.homogeneous(self._weighing[0] / self._weighing[1])

    def _refresh(self) -> None:
        """Update the payload that is used for whitening: the Gaussian approximation of the
        estimate.
        """
        mass = self._weighing[0] / self._weighing[1] if self._weighing[1] > 0 else 0.0
        if self._pi is None or not mass > 0:
            return
        R, r, back = self._sum.compressed()
        try:
            pi, _ = self._batch.prior.gaussian(R, r, float(self._pi[0]))
        except EstimationError:  # nothing that weighs, so far
            return
        if pi[0] > 0.2 * mass:
            self._pi = pi
            biased = max(self._batch.sensor.bias) > 0
            self._expected = ExpectedWrench.of(R, r, back[:6] if biased else back[:0], pi, EXTENT)

    def _of_more_inertia(self, pi: Array) -> Array:
        """Body with the largest plausible inertia, with which the effect of motion errors is
        computed if the motion was filtered.
        """
        if self._measured_motion:  # its errors stay the same, and are taken out of the inertia
            return pi
        mass, com, inertia = mass_com_inertia_from_pi(pi)
        return pi_from_mass_com_inertia(
            mass, com, LARGER[self._batch.prior.shape is None] * inertia
        )

    def _persistence(self, steps: Array) -> Array:
        """Number of samples that share the same error of the motion, from the time since the
        previous sample, shape (K,).
        """
        with np.errstate(invalid="ignore"):
            shared = 2.0 * self._correlation / np.maximum(steps, 1e-6)
        return np.asarray(np.where(np.isnan(steps), 1.0, np.maximum(1.0, shared)))
