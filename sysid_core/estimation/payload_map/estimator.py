r"""The default payload estimator: motion, sensor errors and payload estimated together.

Maximum a posteriori of

    b_k = (1 + E)(A(x_k) pi) + beta - tau d(A pi)/dt + noise,      pi = Phi m,  m > 0

where the motion x is known as well as encoders and smoothness let it be (`motion_belief`), the
sensor's bias beta, delay tau and gain and crosstalk matrix E have Gaussian priors, and the cell
masses m a relative-entropy prior (`density_prior`). Gauss-Newton; everything but the ten
parameters is eliminated exactly in each pass, whatever the number of samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import (
    CONTRASTS,
    PayloadData,
    PayloadInformation,
    UnknownContrast,
    payload_estimate,
    verdicts_from_prior,
    weigh,
)
from sysid_core.estimation.payload_map.motion_belief import ExactMotion, MotionBelief
from sysid_core.estimation.payload_map.motion_error import wrench_sensitivity
from sysid_core.robot import Array, wrench_regressor
from sysid_core.robot.shapes import Shape
from sysid_core.signals.wrench import SensorCalibration

MISFIT_LIMIT = 1.5
BIAS_DRIFT = (0.05, 0.0025)  # [N], [N m] since the tare: half a reading's noise


@dataclass(frozen=True)
class SensorModel:
    """How far a force-torque sensor may be off, as standard deviations.

    Attributes:
        noise: Of force and torque per sample [N, N m]; estimated from the data when None.
        bias: Of force and torque [N, N m].
        delay: Between wrench and motion [s].
        gain: Of each entry of the 6x6 gain and crosstalk matrix [-].
        crosstalk_length: What makes forces and torques comparable in that matrix [m]: the ratio of
            torque to force noise (0.005 N m / 0.1 N in Nadeau et al. 2022, table II).
    """

    noise: tuple[float, float] | None = None
    bias: tuple[float, float] = (0.3, 0.015)
    delay: float = 0.01
    gain: float = 0.01
    crosstalk_length: float = 0.05

    @classmethod
    def tared(cls, calibration: SensorCalibration) -> SensorModel:
        """What remains after a tare: its own uncertainty and some drift; gains stay as they are."""
        sd = calibration.bias_sd
        delay = calibration.delay[1]
        return cls(
            bias=(
                max(float(sd[:3].max()), BIAS_DRIFT[0]),
                max(float(sd[3:].max()), BIAS_DRIFT[1]),
            ),
            delay=delay if np.isfinite(delay) else cls.delay,
        )


CALIBRATED_SENSOR = SensorModel(bias=(0.0, 0.0), delay=0.0, gain=0.0)


class PayloadMAP:
    """Maximum a posteriori of payload, motion and sensor errors.

    Args:
        shape: Of the object, in the sensor frame.
        sensor: What the sensor's errors may be.
        contrasts: Of the density, that are possible (`UnknownContrast`).
        passes: At most that many Gauss-Newton passes.
    """

    method = "MAP"

    def __init__(
        self,
        shape: Shape,
        *,
        sensor: SensorModel | None = None,
        contrasts: tuple[float, ...] = CONTRASTS,
        passes: int = 6,
    ) -> None:
        self.shape = shape
        self.sensor = sensor or SensorModel()
        self.prior = UnknownContrast(shape, contrasts)
        self.passes = passes

    def fit(self, data: PayloadData, belief: MotionBelief | None = None) -> Estimate:
        """Estimate from a whole recording.

        Args:
            data: Wrenches and motions.
            belief: Of the motion at the wrenches' stamps; the data's motion, taken as exact,
                when None.
        """
        belief = belief or ExactMotion(data.a, data.omega, data.alpha)
        noise_sd = self._noise_sd(data)
        if not isinstance(belief, ExactMotion):
            # Uncertain motion is eliminated by differences; far below it, noise is lost in them.
            force = float(np.sqrt(np.mean(data.wrench[:, :3] ** 2)))
            size = float(np.max(self.shape.size))
            noise_sd = np.maximum(noise_sd, 1e-5 * force * np.repeat([1.0, size], 3))
        compressed = PayloadInformation.from_data(data)
        pi = self.shape.homogeneous(weigh(self.shape, compressed))
        precision = self.nuisance_precision()
        typical = self.prior.typical()
        Phi = typical.cells.parameters_per_mass
        for _ in range(self.passes):
            x = belief.motion()
            A = wrench_regressor(x[:, :3], x[:, 3:6], x[:, 6:])
            U = self.nuisance_columns(A @ pi, _rate(data.time, A @ pi))
            X = np.concatenate([U, A, (data.wrench - A @ pi)[:, :, None]], axis=2)
            information = belief.information(wrench_sensitivity(x, pi), X, noise_sd)
            R, r, back = eliminate_nuisances(information, precision)
            new = Phi @ typical.most_likely_masses(R, r + R @ pi)
            step = new - pi
            u = back[:, -1] - back[:, :-1] @ step
            belief.correct(np.concatenate([u, step]))
            pi = new
            if np.linalg.norm(R @ step) < 1e-3:
                break
        x = belief.corrected()
        A = wrench_regressor(x[:, :3], x[:, 3:6], x[:, 6:])
        misfit = max(_misfit(data.wrench - A @ pi - U @ u, noise_sd), nuisance_misfit(u, precision))
        pi, covariance, spread = self.prior.posterior(R, r + R @ (pi - step))
        verdicts = verdicts_from_prior(covariance, spread)
        covariance, notes = told_misfit(covariance, misfit)
        return payload_estimate(
            self.method, pi, covariance, verdicts, compressed, source=data.source, notes=notes
        )

    def _noise_sd(self, data: PayloadData) -> Array:
        """Shape (6,)."""
        if self.sensor.noise is not None:
            return np.repeat(np.maximum(self.sensor.noise, 1e-12), 3)
        return white_noise_sd(data.wrench)

    def nuisance_precision(self) -> Array:
        """Prior precisions of the sensor's errors, in the order of `nuisance_columns`."""
        sensor = self.sensor
        sd: list[float] = []
        if max(sensor.bias) > 0:
            sd += np.repeat(np.maximum(sensor.bias, 1e-9), 3).tolist()
        if sensor.delay > 0:
            sd.append(sensor.delay)
        if sensor.gain > 0:
            sd += [sensor.gain] * 36
        return np.array(sd) ** -2.0 if sd else np.zeros(0)

    def nuisance_columns(self, wrench: Array, rate: Array) -> Array:
        """How the sensor's errors show in the wrench.

        Args:
            wrench: Shape (K, 6).
            rate: Its time derivative, shape (K, 6).

        Returns:
            Shape (K, 6, u): bias, delay, and the gain matrix row by row, those that are assumed.
        """
        sensor, K = self.sensor, len(wrench)
        columns = [np.zeros((K, 6, 0))]
        if max(sensor.bias) > 0:
            columns.append(np.tile(np.eye(6), (K, 1, 1)))
        if sensor.delay > 0:
            columns.append(-rate[:, :, None])
        if sensor.gain > 0:
            unit = np.repeat([1.0, sensor.crosstalk_length], 3)
            cross = np.zeros((K, 6, 36))
            for i in range(6):
                cross[:, i, 6 * i : 6 * i + 6] = unit[i] * wrench / unit
            columns.append(cross)
        return np.concatenate(columns, axis=2)


def white_noise_sd(wrench: Array) -> Array:
    """Noise of force and torque from fourth differences, which no slow motion survives; (6,).

    The median makes it indifferent to steps, such as between postures.
    """
    if len(wrench) < 12:
        return np.repeat([0.1, 0.005], 3)  # too few to tell: Nadeau et al. 2022, moderate noise
    difference = np.diff(wrench, n=4, axis=0) / np.sqrt(70.0)
    sd = np.array([1.4826 * np.median(np.abs(g)) for g in (difference[:, :3], difference[:, 3:])])
    floor = 1e-10 * np.array([np.abs(wrench[:, :3]).max(), np.abs(wrench[:, :3]).max()])
    return np.repeat(np.maximum(sd, np.maximum(floor, 1e-12)), 3)


def _rate(time: Array, wrench: Array) -> Array:
    """Time derivative, shape (K, 6)."""
    return np.gradient(wrench, time, axis=0) if len(time) > 2 else np.zeros_like(wrench)


def _misfit(residual: Array, noise_sd: Array) -> float:
    """Root mean square of what is left of the wrench, in noise; of forces or torques, the worse."""
    relative = np.sqrt(np.mean((residual / noise_sd) ** 2, axis=0))
    return float(max(np.sqrt(np.mean(relative[:3] ** 2)), np.sqrt(np.mean(relative[3:] ** 2))))


def nuisance_misfit(u: Array, precision: Array) -> float:
    """The most unlikely sensor error, in three of its standard deviations (more is no chance)."""
    return float(np.max(np.abs(u) * np.sqrt(precision)) / 3.0) if len(u) else 0.0


def told_misfit(covariance: Array, misfit: float) -> tuple[Array, tuple[str, ...]]:
    """Wider error bars, and a remark, where the model doesn't explain the wrench.

    Args:
        covariance: Shape (10, 10).
        misfit: Size of what the model doesn't explain; 1 where all is as assumed.
    """
    if misfit < MISFIT_LIMIT:
        return covariance, ()
    note = (
        f"The wrench is explained {misfit:.1f} times worse than the sensor allows: check the shape"
        " and where it is, gravity's direction, the sensor's mounting and frame, contact, or a load"
        " that moves. The standard deviations were widened by that factor."
    )
    return covariance * misfit**2, (note,)


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
