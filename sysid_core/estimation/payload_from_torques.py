r"""The payload from joint torques alone: what the loaded arm needs more than the unloaded one.

Both recordings are fitted at once. With the arm's parameters pi, its friction phi, the change d of
friction between the runs, and the payload pi_L in frame F of a link,

    unloaded:  tau = Y pi + Phi phi
    loaded:    tau = Y pi + Phi (phi + d) + Y_L pi_L,     Y_L = Y_link B(X_BF)

(loaded and unloaded motions in one regression: Khalil, Gautier, Lemoine 2007). Fitting together carries the arm's own uncertainty into the payload's covariance. The arm may also
be known from an earlier `Estimate`, or only nominally from its URDF: both are priors on pi.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.carried_load import (
    RANK_TOLERANCE,
    carried_by,
    require_torques,
    structural_verdicts,
)
from sysid_core.estimation.covariance import (
    autocovariance,
    correlated_information,
    correlation_lag,
)
from sysid_core.estimation.density_prior import DensityPrior
from sysid_core.estimation.estimate import Estimate, Verdict
from sysid_core.estimation.lmi import pseudo_inertia_expression, solve_convex
from sysid_core.estimation.natural_scale import friction_scale, inertial_scale
from sysid_core.estimation.payload import PAYLOAD_NAMES, verdicts_from_prior
from sysid_core.estimation.payload_prior import MIN_MASS, ball_prior
from sysid_core.robot import (
    GEARED_ARM_TERMS,
    INERTIAL_UNITS,
    Array,
    Drives,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    inertial_parameter_names,
    is_physically_consistent,
    joint_torque_regressor,
)
from sysid_core.signals import JointStream

_PASSES = 3  # of noise levels, load-dependent friction and the prior's scale
_NO_DRIFT = (FrictionTerm.INERTIA, FrictionTerm.RIPPLE)


@dataclass(frozen=True, eq=False)
class ExtraTorque:
    """What the payload adds to the joint torques along one loaded recording.

    Attributes:
        time: Shape (K,) [s].
        measured: Torque minus what the unloaded arm needs, shape (K, n) [N m].
        predicted: By the estimated payload, shape (K, n) [N m].
    """

    time: Array
    measured: Array
    predicted: Array


@dataclass(frozen=True, eq=False)
class LoadedArm:
    """A payload estimate and the torques that it explains.

    Attributes:
        estimate: Of the payload.
        joint_names: Columns of the torques.
        extra: One entry for each loaded recording.
    """

    estimate: Estimate
    joint_names: tuple[str, ...]
    extra: tuple[ExtraTorque, ...]


@dataclass(frozen=True, eq=False)
class _Run:
    """One gapless recording as equations `tau = A @ x`."""

    A: Array  # (K, n, p)
    tau: Array  # (K, n)
    max_lag: int  # longest correlation of the residual [samples]


@dataclass(frozen=True, eq=False)
class _Fit:
    """The joint solution of all runs."""

    x: Array  # arm, friction, its change, payload
    gain: Array  # inverse of the normal matrix
    prior_precision: Array
    mean: Array  # of the payload's prior, (10,)
    prior: Array  # covariance of the payload's prior, (10, 10)
    weights: Array  # of the squared residuals, (n,)
    per_joint: Array  # each joint's part of the right-hand side, (n, p)
    runs: list[_Run]
    residuals: list[Array]


class PayloadFromTorques:
    """Payload of an arm without force-torque sensor.

    Args:
        model: The unloaded robot. Its inertial parameters are the prior of the arm's.
        frame: Frame that carries the payload, and in which it is told.
        friction: Friction terms per joint; default: those of geared arms, load-dependent friction
            included (on a UR10e they halve the residual of the usual four).
        gain_sd: Relative standard deviation of the torque scale (drive gains), a number or one
            per joint: independent errors, carried into the covariance.
        link_sd: Standard deviation of the model's inertial parameters relative to the links' own
            size; default: 1 with unloaded recordings, 0.2 for a nominal model alone.
        friction_drift: Relative standard deviation by which friction differs between the runs.
        reach: How far from the frame the payload's centre of mass may well be [m].
        size: Radius of a ball as large as the payload [m]: the prior of its inertia, which slow
            arms hardly show.
        density: Prior on the payload's density where its shape in the frame is known: replaces
            `reach` and `size`.
        correlation_s: Longest correlation looked for in the residuals [s].
    """

    method = "payload from joint torques"

    def __init__(
        self,
        model: RobotModel,
        frame: str,
        *,
        friction: FrictionModel | None = None,
        gain_sd: ArrayLike = 0.05,
        link_sd: float | None = None,
        friction_drift: float = 0.3,
        reach: float = 0.3,
        size: float = 0.15,
        density: DensityPrior | None = None,
        correlation_s: float = 2.0,
    ) -> None:
        self.model = model
        self.frame = frame
        self.friction = friction or FrictionModel(
            Drives.direct(model.joint_names), GEARED_ARM_TERMS
        )
        self.gain_sd = np.broadcast_to(np.asarray(gain_sd, dtype=float), (model.nv,))
        self.link_sd = link_sd
        self.friction_drift = friction_drift
        self.reach = reach
        self.size = size
        self.density = density
        self.correlation_s = correlation_s
        self._carry = carried_by(model, frame)
        positive = {"reach": reach, "size": size, "friction_drift": friction_drift}
        if not all(value > 0 for value in positive.values()) or np.any(self.gain_sd < 0):
            raise EstimationError(
                f"{', '.join(positive)} must be positive and `gain_sd` not negative."
            )

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arm's own parameters: inertial, then friction."""
        return inertial_parameter_names(self.model) + self.friction.names

    def fit(
        self,
        loaded: Sequence[JointStream],
        unloaded: Sequence[JointStream] = (),
        *,
        identified: Estimate | None = None,
        source: str = "",
    ) -> Estimate:
        """Estimate the payload; see `compare` for the arguments and errors."""
        return self.compare(loaded, unloaded, identified=identified, source=source).estimate

    def compare(
        self,
        loaded: Sequence[JointStream],
        unloaded: Sequence[JointStream] = (),
        *,
        identified: Estimate | None = None,
        source: str = "",
    ) -> LoadedArm:
        """Estimate the payload, and show what it rests on.

        Args:
            loaded: Stretches at equal steps with q, v, a and torques [N m] (`smooth_motion`).
            unloaded: The same without payload; may be empty.
            identified: Full parameters of the unloaded arm with covariance, as a prior instead of
                the model's.
            source: Where the data came from.

        Raises:
            EstimationError: Efforts that aren't torques, missing signals, foreign parameters.
            SolverError: The consistent payload could not be found.
        """
        if not loaded:
            raise EstimationError("There is no loaded recording.", remedy="Give at least one.")
        fit = self._solve(loaded, unloaded, *self._arm_prior(loaded, bool(unloaded), identified))
        scores = fit.prior_precision + sum(
            correlated_information(run.A, residual, fit.weights, (0,), run.max_lag)
            for run, residual in zip(fit.runs, fit.residuals, strict=True)
        )
        rows = fit.gain[-10:]
        by_gain = (rows @ fit.per_joint.T) * self.gain_sd  # d pi_L / d ln(gain_j), each column
        covariance = _symmetric(rows @ scores @ rows.T + by_gain @ by_gain.T)
        # What the data add to the prior.
        information = _inverse(fit.gain[-10:, -10:]) - np.linalg.inv(fit.prior)
        if self.density is None:
            pi, notes = self._consistent(fit.x[-10:], covariance)
        else:
            score = information @ fit.x[-10:] + np.linalg.solve(fit.prior, fit.x[-10:] - fit.mean)
            R = _root(information)
            masses = self.density.most_likely_masses(R, np.linalg.lstsq(R.T, score, rcond=1e-9)[0])
            pi, notes = self.density.cells.parameters_per_mass @ masses, ()
        if pi[0] < 3.0 * np.sqrt(covariance[0, 0]):
            notes += ("The mass is less than three standard deviations: it may well be nothing.",)
        structural_rank, shown = structural_verdicts(self.model, self.frame)
        verdicts = tuple(
            seen if can is Verdict.IDENTIFIABLE else can
            for seen, can in zip(verdicts_from_prior(covariance, fit.prior), shown, strict=True)
        )
        loaded_residual = np.concatenate(fit.residuals[len(unloaded) :])
        factor = np.linalg.cholesky(fit.prior)
        added = np.linalg.eigvalsh(factor.T @ information @ factor)
        gained = added[added > RANK_TOLERANCE]
        estimate = Estimate(
            method=self.method,
            names=PAYLOAD_NAMES,
            values=pi,
            units=INERTIAL_UNITS,
            covariance=covariance,
            verdicts=verdicts,
            consistent={"payload": bool(is_physically_consistent(pi))},
            residual_rms=dict(
                zip(
                    self.model.joint_names,
                    np.sqrt(np.mean(loaded_residual**2, axis=0)).tolist(),
                    strict=True,
                )
            ),
            condition_number=float(np.sqrt(added[-1] / gained[0])) if len(gained) else float("inf"),
            rank=len(gained),
            structural_rank=structural_rank,
            rank_tolerance=RANK_TOLERANCE,
            n_samples=sum(len(run.tau) for run in fit.runs),
            robot=self.model.name,
            urdf_hash=self.model.urdf_hash,
            source=source,
            notes=(f"In the axes of '{self.frame}', about its origin.", *notes),
        )
        extra = tuple(
            ExtraTorque(
                stream.time,
                run.tau - run.A[:, :, :-10] @ fit.x[:-10],
                run.A[:, :, -10:] @ pi,
            )
            for stream, run in zip(loaded, fit.runs[len(unloaded) :], strict=True)
        )
        return LoadedArm(estimate, self.model.joint_names, extra)

    # ---- the equations

    def _solve(
        self, loaded: Sequence[JointStream], unloaded: Sequence[JointStream], x0: Array, P0: Array
    ) -> _Fit:
        """Noise levels, load-dependent friction and the prior's scale follow from pass to pass."""
        n_arm, n_drift = len(x0), len(self.friction.names)
        x = np.concatenate([x0, np.zeros(n_drift), np.eye(10)[0]])  # a kilogram to start from
        weights: Array = np.zeros(0)
        for _ in range(_PASSES):
            runs = [self._run(s, x, with_load=False) for s in unloaded]
            runs += [self._run(s, x, with_load=True) for s in loaded]
            signal = _mean_square([run.tau for run in runs])
            noise = signal
            if len(weights):
                residuals = [run.tau - run.A @ x for run in runs]
                noise = _mean_square(residuals) * _correlation(runs, residuals)
            # No torque is measured to better than 1e-4; beyond, only rounding would be weighted.
            weights = 1.0 / np.maximum(noise, 1e-8 * np.maximum(signal, 1e-6 * signal.max()))
            prior_mean, prior = self._payload_prior(x[-10:])
            precision = scipy.linalg.block_diag(
                np.linalg.inv(P0), self._drift_prior(x[:n_arm], P0), np.linalg.inv(prior)
            )
            H = precision + sum(
                np.einsum("kji,j,kjl->il", run.A, weights, run.A, optimize=True) for run in runs
            )
            per_joint = weights[:, None] * sum(
                np.einsum("kji,kj->ji", run.A, run.tau) for run in runs
            )
            gain = _inverse(H)
            mean = np.concatenate([x0, np.zeros(n_drift), prior_mean])
            right = precision @ mean + per_joint.sum(axis=0)
            x = gain @ right
            x = x + gain @ (right - H @ x)
        residuals = [run.tau - run.A @ x for run in runs]
        return _Fit(x, gain, precision, prior_mean, prior, weights, per_joint, runs, residuals)

    def _run(self, stream: JointStream, x: Array, with_load: bool) -> _Run:
        stream = stream.ordered(self.model.joint_names)
        require_torques(stream)
        q, v, a = stream.q, np.asarray(stream.v), np.asarray(stream.a)
        Y = joint_torque_regressor(self.model, q, v, a)
        Y_L = Y @ self._carry
        n_pi = Y.shape[2]
        rigid = Y @ x[:n_pi] + (Y_L @ x[-10:] if with_load else 0.0)
        Phi = self.friction.regressor(q, v, a, rigid)
        if not with_load:
            Y_L = np.zeros_like(Y_L)
        drift = Phi if with_load else np.zeros_like(Phi)
        period = float(np.median(np.diff(stream.time)))
        return _Run(
            A=np.concatenate([Y, Phi, drift, Y_L], axis=2),
            tau=np.asarray(stream.effort),
            max_lag=max(1, round(self.correlation_s / period)),
        )

    # ---- what is known beforehand

    def _arm_prior(
        self, loaded: Sequence[JointStream], has_unloaded: bool, identified: Estimate | None
    ) -> tuple[Array, Array]:
        """Mean and covariance of the arm's parameters."""
        stream = loaded[0].ordered(self.model.joint_names)
        require_torques(stream)
        q, v, a = stream.q, np.asarray(stream.v), np.asarray(stream.a)
        tau = np.asarray(stream.effort)
        relative = self.link_sd if self.link_sd is not None else (1.0 if has_unloaded else 0.2)
        Phi = self.friction.regressor(q, v, a, tau)
        mean = np.concatenate([self.model.pi.ravel(), np.zeros(Phi.shape[2])])
        sd = np.concatenate([relative * inertial_scale(self.model), friction_scale(Phi, tau)])
        covariance = np.diag(sd**2)
        if identified is None:
            return mean, covariance
        foreign = [name for name in identified.names if name not in self.arm_names]
        inertial = set(inertial_parameter_names(self.model))
        if foreign or not inertial <= set(identified.names) or not identified.consistent:
            raise EstimationError(
                f"The estimate '{identified.method}' doesn't hold the arm's full parameters"
                f"{f' (unknown here: {foreign[:3]} …)' if foreign else ''}.",
                remedy="Identify the unloaded arm with a physically consistent method of full"
                " parameters and the same friction terms.",
                foreign=foreign,
            )
        k = [self.arm_names.index(name) for name in identified.names]
        mean[k] = identified.values
        # Directions that no data showed keep at most the natural spread.
        root = _root(identified.covariance)
        known = _inverse(root.T @ root + 1e-12 * covariance[np.ix_(k, k)])
        precision = np.diag(1.0 / sd**2)
        precision[np.ix_(k, k)] = known + np.diag(1.0 / sd[k] ** 2)
        return mean, _inverse(precision)

    def _drift_prior(self, x: Array, P0: Array) -> Array:
        """Precision of the change of friction between the runs, from the size of friction."""
        n = len(self.friction.names)
        size = np.maximum(np.abs(x[-n:]), 0.02 * np.sqrt(np.diag(P0)[-n:]))
        fixed = {symbol for term in _NO_DRIFT for symbol in term.symbols}
        sd = np.where(
            [name.rsplit(".", 1)[1] in fixed for name in self.friction.names],
            1e-6 * size,
            self.friction_drift * size,
        )
        return np.diag(1.0 / sd**2)

    def _payload_prior(self, pi: Array) -> tuple[Array, Array]:
        """Mean and covariance of the payload, given roughly what it is."""
        if self.density is not None:
            mass = max(float(pi[0]), MIN_MASS)
            shape = self.density.cells
            even = mass * shape.parameters_per_mass @ (shape.volumes / shape.volume)
            spread = self.density.covariance(mass)
            # The mass itself is left to the data.
            return even, spread + 25.0 * np.outer(even, even) + 1e-9 * np.diag(np.diag(spread))
        return ball_prior(pi, self.reach, self.size)

    # ---- the result

    def _consistent(self, pi: Array, covariance: Array) -> tuple[Array, tuple[str, ...]]:
        """The consistent payload nearest to the estimate, in the metric of its covariance."""
        if bool(is_physically_consistent(pi)):
            return pi, ()
        sd = np.sqrt(np.diag(covariance))
        x = cp.Variable(10)  # in standard deviations
        root = np.linalg.cholesky(_inverse(covariance / np.outer(sd, sd)))
        mass_scale = max(abs(float(pi[0])), float(sd[0]), 1e-6)
        P = pseudo_inertia_expression(cp.multiply(sd / mass_scale, x), length=self.size)
        problem = cp.Problem(
            cp.Minimize(cp.sum_squares(root.T @ (x - pi / sd))), [P >> 1e-7 * np.eye(4)]
        )
        solve_convex(problem, "the consistent payload")
        return sd * np.asarray(x.value), (
            "The plain estimate was not physically consistent: this is the nearest consistent one.",
        )


def _mean_square(values: Sequence[Array]) -> Array:
    return np.asarray(np.mean(np.concatenate(values) ** 2, axis=0))


def _correlation(runs: Sequence[_Run], residuals: Sequence[Array]) -> Array:
    """Samples that count as one, for each joint."""
    factors = []
    for run, residual in zip(runs, residuals, strict=True):
        for column in residual.T:
            gamma = autocovariance(column, (0,), min(run.max_lag, len(column) // 4))
            tail = gamma[1 : correlation_lag(gamma) + 1].sum() / max(gamma[0], 1e-300)
            factors.append(max(1.0, 1.0 + 2.0 * float(tail)))
    weights = [len(run.tau) for run in runs]
    return np.asarray(np.average(np.reshape(factors, (len(runs), -1)), axis=0, weights=weights))


def _symmetric(M: Array) -> Array:
    return 0.5 * (M + M.T)


def _root(M: Array) -> Array:
    """R with `R^T R` the nearest positive semi-definite matrix, scaled to its own diagonal."""
    scale = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(_symmetric(M / np.outer(scale, scale)))
    values = np.where(values > RANK_TOLERANCE * max(float(values[-1]), 0.0), values, 0.0)
    return (vectors * np.sqrt(values)).T * scale


def _inverse(M: Array) -> Array:
    """Inverse of a positive definite matrix after scaling its diagonal to one."""
    scale = 1.0 / np.sqrt(np.diag(M))
    factor = scipy.linalg.cho_factor(_symmetric(M * np.outer(scale, scale)))
    return scipy.linalg.cho_solve(factor, np.diag(scale)) * scale[:, None]
