# SPDX-License-Identifier: Apache-2.0
r"""The default payload estimator: motion, sensor errors and payload estimated together.

Maximum a posteriori of

    b_k = (1 + E)(A(x_k) pi) + beta(t) - tau d(A pi)/dt + noise

where the motion x is known as well as encoders and smoothness let it be (`motion_belief`), the
sensor's errors (bias, drift, delay, gains, mounting, gravity's direction: `sensor_model`) have Gaussian
priors, and the payload one of what bodies may be (`ShapePrior`). Gauss-Newton; everything but the ten
parameters is eliminated exactly in each pass, whatever the number of samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import (
    CONTRASTS,
    EXTENT,
    CompressedWrenches,
    PayloadData,
    ShapePrior,
    payload_estimate,
)
from sysid_core.estimation.payload_map.misfit import (
    Misfit,
    nuisance_misfit,
    reported_misfit,
    slow_misfit,
    spikes,
    white_misfit,
    white_noise_sd,
)
from sysid_core.estimation.payload_map.motion_belief import ExactMotion, MotionBelief, chunks
from sysid_core.estimation.payload_map.motion_error import wrench_sensitivity
from sysid_core.estimation.payload_map.sensor_model import SensorModel
from sysid_core.robot import Array, wrench_regressor
from sysid_core.robot.shapes import Shape

_ARITHMETIC = 1e-5  # of the force: finer noise is lost in differences
_LIGHT = 0.05  # [kg], where Gauss-Newton starts when the bias hides the weight
_FREEDOM = 3.0  # of Student's t for sensor errors
_DOUBTED = 0.5  # probability of another shape, from which it is no longer insisted on
_SPIKED = 1e6  # by which a spike's noise is larger


class PayloadMAP:
    """Maximum a posteriori of payload, motion and sensor errors.

    Args:
        shape: Shape of the object, in the sensor frame; None where it isn't known.
        sensor: What the sensor's errors may be.
        contrasts: Contrasts of the density, that are possible (`ShapePrior`).
        extent: Size of the space in which something of unknown shape is held [m].
        passes: At most that many Gauss-Newton passes.
    """

    method = "MAP"

    def __init__(
        self,
        shape: Shape | None = None,
        *,
        sensor: SensorModel | None = None,
        contrasts: tuple[float, ...] = CONTRASTS,
        extent: float = EXTENT,
        passes: int = 6,
    ) -> None:
        self.shape = shape
        self.sensor = sensor or SensorModel()
        self.prior = ShapePrior(shape, contrasts=contrasts, extent=extent)
        self.passes = passes

    def fit(self, data: PayloadData, belief: MotionBelief | None = None) -> Estimate:
        """Estimate from a whole recording.

        Args:
            data: Wrenches and motions.
            belief: Belief of the motion at the wrenches' stamps; the data's motion, taken as exact,
                when None.

        Raises:
            EstimationError: The data ask for a negative mass.
        """
        belief = belief or ExactMotion(data.a, data.omega, data.alpha)
        noise_sd = np.tile(self._noise_sd(data), (len(data), 1))
        compressed = CompressedWrenches.from_data(data)
        fit = _GaussNewton(self, data, belief, noise_sd, self._start(compressed))
        residual = fit.run(self.passes)
        spiked = spikes(residual / noise_sd)
        if spiked.any():
            noise_sd[spiked] *= _SPIKED
            residual = fit.run(self.passes)
        found = self.prior.posterior(fit.R, fit.r)
        if found.wrong_shape > _DOUBTED and not fit.doubted:
            residual = fit.run(self.passes)
            found = self.prior.posterior(fit.R, fit.r)
        relative = (residual / noise_sd)[~spiked]
        misfit = Misfit(
            white_misfit(relative),
            slow_misfit(relative),
            nuisance_misfit(fit.nuisances, fit.prior),
            found.wrong_shape,
        )
        covariance, warnings = reported_misfit(
            found.covariance, misfit, int(spiked.sum()), len(data)
        )
        return payload_estimate(
            self.method,
            found.pi,
            covariance,
            found.verdicts,
            compressed,
            source=data.source,
            warnings=warnings,
        )

    def _noise_sd(self, data: PayloadData) -> Array:
        """Shape (6,)."""
        if self.sensor.noise is None:
            sd = white_noise_sd(data.wrench)
        else:
            sd = np.repeat(np.maximum(self.sensor.noise, 1e-12), 3)
        force = float(np.sqrt(np.mean(data.wrench[:, :3] ** 2)))
        length = 0.1 if self.shape is None else float(np.max(self.shape.size))
        return np.maximum(sd, max(_ARITHMETIC * force, 1e-9) * np.repeat([1.0, length], 3))

    def _start(self, compressed: CompressedWrenches) -> Array:
        """A first body, whatever the bias makes of its weight; shape (10,)."""
        unit = self.homogeneous(1.0)
        predicted, measured = compressed.force[:, :10] @ unit, compressed.force[:, 10]
        power = float(predicted @ predicted)
        mass = float(predicted @ measured) / power if power > 0 else 0.0
        return self.homogeneous(max(mass, _LIGHT))

    def homogeneous(self, mass: float) -> Array:
        """An even body of the shape, or a ball in the sensor's origin without one; shape (10,)."""
        if self.shape is not None:
            return self.shape.homogeneous(mass)
        inertia = 0.4 * mass * 0.05**2
        return np.array([mass, 0, 0, 0, inertia, 0, inertia, 0, 0, inertia])


@dataclass(eq=False)
class _GaussNewton:
    """Passes over the data; after `run`, `|R pi - r|` is what they say of the payload."""

    estimator: PayloadMAP
    data: PayloadData
    belief: MotionBelief
    noise_sd: Array  # (K, 6)
    pi: Array

    def __post_init__(self) -> None:
        self.duration = duration = float(self.data.time[-1] - self.data.time[0])
        self.doubted = False  # whether the shape is no longer insisted on
        self.prior = self.estimator.sensor.prior_sd(duration) ** -2.0
        self.precision = self.prior

    def run(self, passes: int) -> Array:
        """Repeat until the payload settles; the residual of the wrench, shape (K, 6)."""
        prior = self.estimator.prior
        for k in range(passes):
            rows = self._rows(self.belief.motion(), self.pi)
            information = self.belief.information(rows, self.noise_sd)
            R, r, back = eliminate_nuisances(information, self.precision)
            self.R, self.r = R, r + R @ self.pi
            found = prior.posterior(R, self.r) if k == 0 or self.doubted else None
            if found is not None and found.wrong_shape > _DOUBTED:
                self.doubted = True
            new = found.pi if found is not None and self.doubted else prior.first(R, self.r)
            step = new - self.pi
            self.nuisances = back[:, -1] - back[:, :-1] @ step
            self.belief.correct(np.concatenate([self.nuisances, step]))
            self.precision = self.prior * heavy_tails(self.nuisances**2 * self.prior)
            self.pi = new
            if np.linalg.norm(R @ step) < 1e-3:
                break
        return self._residual()

    def _rows(self, x: Array, pi: Array) -> Callable[[slice], tuple[Array, Array]]:
        """Sensitivity (K, 6, 9) and linear model (K, 6, u + 11) of any of the samples."""
        data, sensor = self.data, self.estimator.sensor
        time = data.time - data.time[0]

        def rows(part: slice) -> tuple[Array, Array]:
            A = wrench_regressor(x[part, :3], x[part, 3:6], x[part, 6:])
            T = wrench_sensitivity(x[part], pi)
            wrench = A @ pi
            U = sensor.columns(
                wrench,
                _rate(time[part], wrench),
                mass_columns=T[:, :, :3],
                R_WS=None if data.R_WS is None else data.R_WS[part],
                gravity=data.gravity[part],
                time=time[part],
                duration=self.duration,
            )
            return T, np.concatenate([U, A, (data.wrench[part] - wrench)[:, :, None]], axis=2)

        return rows

    def _residual(self) -> Array:
        """Residuals of the wrench, the motion corrected by it, shape (K, 6)."""
        rows = self._rows(self.belief.corrected(), self.pi)
        u = len(self.nuisances)
        return np.concatenate(
            [
                X[:, :, -1] - X[:, :, :u] @ self.nuisances
                for X in (rows(part)[1] for part in chunks(len(self.data)))
            ]
        )


def _rate(time: Array, wrench: Array) -> Array:
    """Time derivative, shape (K, 6)."""
    return np.gradient(wrench, time, axis=0) if len(time) > 2 else np.zeros_like(wrench)


def heavy_tails(squares: Array) -> Array:
    """Weights of priors by which sensor errors are Student's t, not Gaussian: a few are large.

    Iteratively reweighted, `(n + 1) / (n + z^2)` (Lange, Little, Taylor 1989, eq. (3)); never surer.

    Args:
        squares: Squares of the errors in units of their standard deviations, shape (u,).
    """
    return np.minimum(1.0, (_FREEDOM + 1.0) / (_FREEDOM + squares))


def eliminate_nuisances(information: Array, precision: Array) -> tuple[Array, Array, Array]:
    """Nuisances (the first rows) eliminated: factor R, r with `|R step - r|`, and the way back.

    The nuisances that go with a step are `back[:, -1] - back[:, :-1] @ step`.
    """
    u = len(precision)
    N = information[:u, :u] + np.diag(precision)
    back = np.linalg.solve(N, information[:u, u:])
    M = information[u:, u:] - information[:u, u:].T @ back
    # M may be singular (motion that doesn't show everything): eigenvalues, scaled columns.
    H, g = M[:10, :10], M[:10, 10]
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    keep = values > 1e-13 * values[-1]
    root = np.sqrt(values[keep])
    R = (vectors[:, keep] * root).T / scale
    r = (vectors[:, keep] / root).T @ (scale * g)
    return R, r, back
