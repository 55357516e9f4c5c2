# SPDX-License-Identifier: Apache-2.0
r"""Default payload estimator: motion, sensor errors and payload are estimated together.

Maximum a posteriori of

    b_k = (1 + E)(A(x_k) pi) + beta(t) - tau d(A pi)/dt + noise

where the uncertainty of the motion x follows from encoder noise and smoothness (`motion_belief`),
the sensor's errors (bias, drift, delay, gains, mounting, gravity's direction: `sensor_model`) have
Gaussian priors, and the prior of the payload describes the bodies that are possible (`ShapePrior`).
A step of the Levenberg-Marquardt method is rejected if it explains the data worse. In each step,
all unknowns except the ten parameters are eliminated exactly, for any number of samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.estimation.payload import CompressedWrenches, PayloadData
from sysid_core.estimation.payload.ball_prior import nearest_body, probabilities
from sysid_core.estimation.payload.result import payload_estimate
from sysid_core.estimation.payload.shape_prior import (
    CONTRASTS,
    MASS_SPREAD,
    PayloadPosterior,
    ShapePrior,
)
from sysid_core.estimation.payload_map.misfit import (
    Misfit,
    nuisance_misfit,
    reported_misfit,
    spikes,
    white_noise_sd,
)
from sysid_core.estimation.payload_map.motion_belief import ExactMotion, MotionBelief, chunks
from sysid_core.estimation.payload_map.motion_error import wrench_sensitivity
from sysid_core.estimation.payload_map.sensor_model import SensorModel
from sysid_core.estimation.payload_map.stretches import Stretches
from sysid_core.reasons import Reason
from sysid_core.robot import Array, wrench_regressor
from sysid_core.robot.shapes import Shape
from sysid_core.signals.wrench import learned_noise

_ARITHMETIC = 1e-5  # of the force: finer noise is lost in differences
_LIGHT = 0.05  # [kg], where Gauss-Newton starts when the bias hides the weight
_LESSONS = 8  # at most that many times noise is learned anew
_SETTLED = 0.1  # of noise, sizes of errors, deviations of the payload: a smaller change is none
_FLAT = 0.1  # of -2 log probability: nobody sees such a difference (odds of 1.05 to 1)
_LEAST_DAMPING = 0.1  # of the information; ten times as much after each step that was refused
_NARROWEST = 1e-6  # of a prior's variance: bodies of no width in some directions get this one
_STRONG = 3.0  # [nat] of evidence: 20 to 1 (Kass, Raftery, Bayes factors, 1995, sec. 3.2)
_SPIKED = 1e6  # by which a spike's noise is larger


class PayloadMAP:
    """Maximum a posteriori estimator of payload, motion and sensor errors.

    Args:
        shape: Shape of the object, in the sensor frame; None: unknown.
        sensor: Error magnitudes of the sensor.
        contrasts: Possible contrasts of the density (see `ShapePrior`).
        passes: Maximum number of steps between two updates of the noise level.
    """

    method = "MAP"

    def __init__(
        self,
        shape: Shape | None = None,
        *,
        sensor: SensorModel | None = None,
        contrasts: tuple[float, ...] = CONTRASTS,
        passes: int = 30,
    ) -> None:
        self.shape = shape
        self.sensor = sensor or SensorModel()
        self.prior = ShapePrior(shape, contrasts=contrasts)
        self.passes = passes

    def fit(self, data: PayloadData, belief: MotionBelief | None = None) -> Estimate:
        """Estimate the payload from a whole recording.

        Args:
            data: Wrenches and motions.
            belief: Motion at the stamps of the wrenches, with its error; None: the motion of the
                data, without error.

        Raises:
            EstimationError: The data imply a negative mass.
        """
        belief = belief or ExactMotion(data.a, data.omega, data.alpha)
        compressed = CompressedWrenches.from_data(data)
        unexplained = _unexplained(data)
        floor = self._floor(data, unexplained)
        level = floor if self.sensor.noise else learned_noise(unexplained, floor)
        spiked = np.zeros(len(data), dtype=bool)
        fit = _Fit(self, data, belief, _deviations(level, spiked), self._start(compressed))
        for _ in range(_LESSONS):
            residual = fit.run()
            spiked = spikes(residual / level)
            before, level = level, learned_noise(residual[~spiked], floor)
            fit.noise_sd = _deviations(level, spiked)
            if fit.settle() and np.all(np.abs(np.log(level / before)) < _SETTLED):
                break
        fit.run()
        found, worse = self._posterior(fit)
        stretches = Stretches.of(*fit.whitened())
        u = len(fit.nuisances)
        seen = np.concatenate([np.arange(self.sensor.biases), np.arange(u, u + 10)])
        misfit = Misfit(
            stretches.disagreement(seen, np.append(fit.nuisances, np.zeros(10))),
            nuisance_misfit(fit.nuisances, fit.prior),
            found.wrong_shape,
            worse,
            colour=float(np.max(level / floor)),
            left=(float(level[0]), float(level[3])),
        )
        unfinished = np.outer(fit.left, fit.left)
        covariance, warnings = reported_misfit(
            found.covariance + unfinished, misfit, int(spiked.sum()), len(data)
        )
        pi = found.pi
        if _is_simpler_better(stretches, seen, fit.prior, found):
            rows = np.append(seen, u + 10)
            precision = fit.prior[: self.sensor.biases]
            R, r, _ = eliminate_nuisances(fit.information[np.ix_(rows, rows)], precision)
            simple = self.prior.posterior(R, r + R @ fit.pi)
            off = simple.pi - pi
            if np.any(off**2 > np.diag(covariance)):
                warnings = (*warnings, Reason.warning("simpler-sensor"))
            pi, covariance = simple.pi, covariance + np.outer(off, off)
        return payload_estimate(
            self.method,
            pi,
            covariance,
            found.verdicts,
            compressed,
            source=data.source,
            warnings=warnings,
        )

    def _posterior(self, fit: _Fit) -> tuple[PayloadPosterior, float]:
        """Posterior of the payload, averaged over the possible sizes of the bias by their evidence,
        and the probability that the bias is larger than declared.
        """
        if len(fit.priors) == 1:
            return self.prior.posterior(fit.R, fit.r), 0.0
        found, evidence = [], []
        for prior, (R, r), log in zip(fit.priors, *fit.by_bias(), strict=True):
            try:
                found.append(self.prior.posterior(R, r))
            except EstimationError:  # a load of negative weight: the bias isn't like that
                if prior is fit.prior:
                    raise
            else:
                evidence.append(log + found[-1].log_evidence)
        weights = probabilities(np.array(evidence))
        mixture = PayloadPosterior.mixture(found, weights)
        declared = len(self.sensor.bias_scales) == 1 and len(found) == len(fit.priors)
        worse = float(weights[1:].sum()) if declared else 0.0
        return replace(mixture, pi=nearest_body(mixture.pi)), worse

    def _floor(self, data: PayloadData, unexplained: Array) -> Array:
        """Lower bound of the noise, shape (6,): the declared noise or the scatter of the samples,
        whichever is larger.

        The scatter is that of the measured wrenches or that of the residuals of a least-squares
        fit, `unexplained` (K, 6), whichever is smaller: either may contain fast changes that are
        not noise.
        """
        declared = np.repeat(self.sensor.noise or (0.0, 0.0), 3)
        force = float(np.sqrt(np.mean(data.wrench[:, :3] ** 2)))
        length = 0.1 if self.shape is None else float(np.max(self.shape.size))
        arithmetic = max(_ARITHMETIC * force, 1e-9) * np.repeat([1.0, length], 3)
        scatter = np.minimum(white_noise_sd(data.wrench), white_noise_sd(unexplained))
        return np.maximum(np.maximum(declared, scatter), arithmetic)

    def _start(self, compressed: CompressedWrenches) -> Array:
        """Initial payload, tolerant of an unknown bias; shape (10,)."""
        unit = self.homogeneous(1.0)
        predicted, measured = compressed.force[:, :10] @ unit, compressed.force[:, 10]
        power = float(predicted @ predicted)
        mass = float(predicted @ measured) / power if power > 0 else 0.0
        return self.homogeneous(max(mass, _LIGHT))

    def homogeneous(self, mass: float) -> Array:
        """Return the inertial parameters of the shape with uniform density; without a shape, of a
        ball at the origin of the sensor; shape (10,).
        """
        if self.shape is not None:
            return self.shape.homogeneous(mass)
        inertia = 0.4 * mass * 0.05**2
        return np.array([mass, 0, 0, 0, inertia, 0, inertia, 0, 0, inertia])


@dataclass(eq=False)
class _Fit:
    """Maximum a posteriori estimation of payload, sensor errors and motion by Levenberg-Marquardt.

    Noise, hypotheses about the body, and the body at which errors of motion and sensor are
    linearised are constant during `run` and updated by `settle`. Otherwise the modelled errors
    would grow with the estimated mass, which would be biased towards values at which these errors
    have their expected size. After `run`, R and r contain the compressed data about the payload;
    after `settle`, `left` is the distance of the payload from that of the previous iteration, shape
    (10,).
    """

    estimator: PayloadMAP
    data: PayloadData
    belief: MotionBelief
    noise_sd: Array  # (K, 6)
    pi: Array

    def __post_init__(self) -> None:
        self.duration = float(self.data.time[-1] - self.data.time[0])
        sensors, shares = zip(*self.estimator.sensor.hypotheses, strict=True)
        self.priors = [sensor.prior_sd(self.duration) ** -2.0 for sensor in sensors]
        self.prior, self.odds = self.priors[-1], np.log(shares)
        self.nuisances = np.zeros(len(self.prior))
        self.body = self.mean = self.pi
        self.change, self.share = np.inf, 1.0
        self.weight: Array = np.zeros((10, 10))
        self._take(self._at(self.pi))
        self._believe(self.estimator.prior.first(self.R, self.r))

    def whitened(self) -> tuple[Array, Array]:
        """Linear model (K, 6, u + 10) and residuals (K, 6) at the last estimate, in units of noise."""
        rows = self._rows(self.belief.corrected(), self.pi)
        X = np.concatenate([rows(part)[1] for part in chunks(len(self.data))])
        X = X / self.noise_sd[:, :, None]
        return X[:, :, :-1], X[:, :, -1]

    def run(self) -> Array:
        """Iterate until the payload converges; returns the residual of the wrench, shape (K, 6)."""
        self._take(self._at(self.pi))
        damping = 0.0
        for _ in range(self.estimator.passes):
            step = self._step(damping)
            if self.gradient @ step < _FLAT:
                break
            u = self.back[:, -1] - self.back[:, :-1] @ step
            self.belief.correct(np.concatenate([u, step]))
            tried = self._at(self.pi + step)
            gain = self.merit - self._merit(*tried)
            if gain >= 0.0:
                self._take(tried)
                damping = 0.1 * damping if damping > _LEAST_DAMPING else 0.0
            else:
                damping = max(10.0 * damping, _LEAST_DAMPING)
            if abs(gain) < _FLAT:
                break
        self.nuisances = self.back[:, -1]
        self.belief.correct(np.concatenate([self.nuisances, np.zeros(10)]))
        return self._residual()

    def _step(self, damping: float) -> Array:
        H = self.R.T @ self.R + self.weight
        scale = 1.0 / np.sqrt(np.diag(H))
        H = H * np.outer(scale, scale) + damping * np.eye(10)
        return np.asarray(scale * np.linalg.solve(H, scale * self.gradient))

    def settle(self) -> bool:
        """Update payload and hypotheses; returns True if the payload has converged.

        If a step is not shorter than the previous one, this and all later steps are halved.
        """
        before, change = self.body, self.change
        found = nearest_body(self.pi) if self.pi[0] > 0 else before
        self.left = found - before
        self.change = float(np.linalg.norm(self.R @ self.left))
        self.share *= 0.5 if self.change >= change else 1.0
        self._believe(before + self.share * self.left)
        if len(self.priors) > 1:
            data, evidence = self.by_bias()
            payload = self.estimator.prior.log_evidences(data, self.body)
            self.prior = self.priors[int(np.argmax(evidence + payload))]
        return self.change < _SETTLED

    def by_bias(self) -> tuple[list[tuple[Array, Array]], Array]:
        """Compressed data (R, r) and log-evidence given the payload, for each size of the bias."""
        data, evidence = [], []
        for prior in self.priors:
            R, r, _ = eliminate_nuisances(self.information, prior)
            data.append((R, r + R @ self.pi))
            evidence.append(
                0.5 * float(np.log(prior).sum()) + left_evidence(self.information, prior, r)
            )
        return data, self.odds + evidence

    def _believe(self, body: Array) -> None:
        """Set the body at which errors are linearised, and the payload's prior from the hypotheses
        about this body.
        """
        self.body = body
        self.mean, C = self.estimator.prior.moments(body, self.R, self.r)
        scale = 1.0 / np.sqrt(np.diag(C))
        inverse = np.linalg.inv(C * np.outer(scale, scale) + _NARROWEST * np.eye(10))
        self.weight = inverse * np.outer(scale, scale)

    def _at(self, pi: Array) -> tuple[Array, Array]:
        """Payload parameters, and the information matrix of payload and sensor errors at these
        parameters.
        """
        rows = self._rows(self.belief.motion(), pi)
        return pi, self.belief.information(rows, self.noise_sd)

    def _merit(self, pi: Array, information: Array) -> float:
        """Objective function of `run`: minus twice the log-posterior of the payload."""
        u = len(self.prior)
        N, right = information[:u, :u] + np.diag(self.prior), information[:u, -1]
        off = pi - self.mean
        left = information[-1, -1] - right @ np.linalg.solve(N, right)
        return float(left + off @ self.weight @ off)

    def _take(self, found: tuple[Array, Array]) -> None:
        self.pi, self.information = found
        self.belief.accept()
        self.R, r, self.back = eliminate_nuisances(self.information, self.prior)
        self.r = r + self.R @ self.pi
        self.merit = self._merit(*found)
        self.gradient = self.R.T @ r + self.weight @ (self.mean - self.pi)

    def _rows(self, x: Array, pi: Array) -> Callable[[slice], tuple[Array, Array]]:
        """Sensitivity (K, 6, 9) and linear model (K, 6, u + 11) of any of the samples."""
        data, sensor = self.data, self.estimator.sensor
        time = data.time - data.time[0]

        def rows(part: slice) -> tuple[Array, Array]:
            A = wrench_regressor(x[part, :3], x[part, 3:6], x[part, 6:])
            T = wrench_sensitivity(x[part], self.body)
            wrench = A @ self.body
            U = sensor.columns(
                wrench,
                _rate(time[part], wrench),
                mass_columns=T[:, :, :3],
                R_WS=None if data.R_WS is None else data.R_WS[part],
                gravity=data.gravity[part],
                time=time[part],
                duration=self.duration,
            )
            return T, np.concatenate([U, A, (data.wrench[part] - A @ pi)[:, :, None]], axis=2)

        return rows

    def _residual(self) -> Array:
        """Residuals of the wrench after the correction of the motion by the wrench, shape (K, 6)."""
        rows = self._rows(self.belief.corrected(), self.pi)
        u = len(self.nuisances)
        return np.concatenate(
            [
                X[:, :, -1] - X[:, :, :u] @ self.nuisances
                for X in (rows(part)[1] for part in chunks(len(self.data)))
            ]
        )


def _rate(time: Array, wrench: Array) -> Array:
    """Time derivative of a signal, with the same shape."""
    return np.gradient(wrench, time, axis=0) if len(time) > 2 else np.zeros_like(wrench)


def _unexplained(data: PayloadData) -> Array:
    """Residual of a least-squares fit of payload and bias, shape (K, 6)."""
    X = np.concatenate([data.regressor, np.tile(np.eye(6), (len(data), 1, 1))], axis=2)
    residual = np.empty((len(data), 6))
    for rows in (slice(0, 3), slice(3, 6)):
        Y, b = X[:, rows].reshape(-1, 16), data.wrench[:, rows].reshape(-1)
        residual[:, rows] = (b - Y @ np.linalg.lstsq(Y, b, rcond=None)[0]).reshape(-1, 3)
    return residual


def _is_simpler_better(
    stretches: Stretches, simple: NDArray[np.intp], precision: Array, found: PayloadPosterior
) -> bool:
    """True if a model with only payload and bias predicts held-out parts of the recording clearly
    better than the full model.

    Args:
        stretches: Stretches of the whole model.
        simple: Indices of the unknowns of bias and payload.
        precision: Prior precision of the sensor's errors, shape (u,).
        found: The payload.
    """
    u = len(precision)
    body = found.spread + MASS_SPREAD**2 * np.outer(found.pi, found.pi)
    scale = np.sqrt(np.maximum(np.diag(body), np.finfo(float).tiny))
    # Bodies of no width in some directions: a thousandth of their size is.
    inverse = np.linalg.inv(body / np.outer(scale, scale) + 1e-6 * np.eye(10))
    whole = np.zeros((u + 10, u + 10))
    whole[:u, :u], whole[u:, u:] = np.diag(precision), inverse / np.outer(scale, scale)
    part = Stretches(stretches.H[:, simple][:, :, simple], stretches.g[:, simple], stretches.square)
    gain = stretches.left_out(whole).sum() - part.left_out(whole[np.ix_(simple, simple)]).sum()
    return bool(gain > 2.0 * _STRONG)


def _deviations(level: Array, spiked: NDArray[np.bool_]) -> Array:
    """Standard deviations of every sample, shape (K, 6)."""
    return level * np.where(spiked, _SPIKED, 1.0)[:, None]


def eliminate_nuisances(information: Array, precision: Array) -> tuple[Array, Array, Array]:
    """Eliminate the nuisance parameters. Return the factor (R, r) of the remaining least-squares
    problem, `min |R step - r|`, and the map from its solution to the nuisance parameters.

    The nuisance parameters that belong to a step are `back[:, -1] - back[:, :-1] @ step`.
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


def left_evidence(information: Array, precision: Array, r: Array) -> float:
    """Return the log-likelihood for the payload that solves `R step = r`, without the term `0.5 log
    det` of the prior.

    Args:
        information: Information matrix, as in `eliminate_nuisances`.
        precision: Prior precision of the nuisance parameters, shape (u,).
        r: Right-hand side from `eliminate_nuisances`.
    """
    u = len(precision)
    N, right = information[:u, :u] + np.diag(precision), information[:u, -1]
    left = information[-1, -1] - right @ np.linalg.solve(N, right) - r @ r
    return -0.5 * float(left + np.linalg.slogdet(N)[1])
