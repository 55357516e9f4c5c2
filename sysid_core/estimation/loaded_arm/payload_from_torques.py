# SPDX-License-Identifier: Apache-2.0
"""Payload from joint torques: the difference between the loaded and the unloaded arm.

Both recordings are fitted at once. With the arm's parameters pi, its friction phi, the change d of
friction between the runs, and the payload pi_L in frame F of a link,

    unloaded:  tau = Y pi + Phi phi
    loaded:    tau = Y pi + Phi (phi + d) + Y_L pi_L,     Y_L = Y_link B(X_BF)

(loaded and unloaded motions in one regression: Khalil, Gautier, Lemoine 2007). Because both are
fitted together, the covariance of the payload contains the uncertainty of the arm. The arm may also
be known from an earlier `Estimate`, or only nominally from its URDF: both are priors on pi.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.fit import Regression
from sysid_core.estimation.fit.consistent_problem import inverse, symmetric
from sysid_core.estimation.fit.uncertainty import span_slices
from sysid_core.estimation.loaded_arm.arm_prior import (
    PriorFit,
    arm_prior,
    drift_precision,
    noise_weights,
    solve_with_prior,
)
from sysid_core.estimation.loaded_arm.carried_body import carried_by
from sysid_core.estimation.loaded_arm.known_load import (
    RANK_TOLERANCE,
    SupposedLoad,
    require_filtered,
    structural_verdicts,
)
from sysid_core.estimation.loaded_arm.load_watch import change_note
from sysid_core.estimation.payload import DensityPrior
from sysid_core.estimation.payload.result import PAYLOAD_NAMES, verdicts_from_prior
from sysid_core.robot import (
    Array,
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    is_physically_consistent,
)
from sysid_core.signals import JointStream, Recording

_PASSES = 3  # of noise levels, load-dependent friction and the prior's scale
_SETTLED = 0.3  # of its standard deviation that the last pass may change the mass by
# Standard deviation of the model's inertial parameters, relative to the links' own size: with runs
# without load, and of a nominal model alone.
_LINK_SD, _NOMINAL_LINK_SD = 1.0, 0.2
_FRICTION_DRIFT = 0.3  # relative standard deviation by which friction differs between the runs
_CORRELATION_S = 2.0  # longest correlation looked for in the residuals


@dataclass(frozen=True, eq=False)
class ExtraTorque:
    """Contribution of the payload to the joint torques along one loaded recording.

    Attributes:
        time: Times, shape (K,) [s].
        measured: Measured torques minus those of the unloaded arm, shape (K, n) [N m].
        predicted: Torques of the estimated payload, shape (K, n) [N m].
    """

    time: Array
    measured: Array
    predicted: Array


@dataclass(frozen=True, eq=False)
class LoadedArm:
    """Estimated payload with the joint torques that it explains.

    Attributes:
        estimate: Estimate of the payload.
        joint_names: Names of the joints, the columns of the torques.
        extra: Torques of the payload in each loaded recording.
        added: Mass difference between loaded and unloaded recordings by least squares alone, and
            its standard deviation [kg]; negative if the arm carries less in the loaded recordings.
    """

    estimate: Estimate
    joint_names: tuple[str, ...]
    extra: tuple[ExtraTorque, ...]
    added: tuple[float, float]


@dataclass(frozen=True, eq=False)
class LoadedEquations:
    """Linear equations for the arm, the change of its friction, and the payload.

    Attributes:
        model: The unloaded robot.
        friction: Friction terms of the arm.
        frame: Frame that carries the payload.
    """

    model: RobotModel
    friction: FrictionModel
    frame: str

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arm parameters: inertial parameters, then friction."""
        return self.model.parameter_names + self.friction.names

    def regression(self, streams: Sequence[tuple[JointStream, bool]], x: Array) -> Regression:
        """Return the equations of all recordings for the arm, the drift of its friction and the
        payload.
        """
        parts = [self._rows(stream, x, with_load) for stream, with_load in streams]
        starts = tuple(np.cumsum([0, *(len(stream) for stream, _ in streams[:-1])]).tolist())
        friction = self.friction
        names = (*self.arm_names, *(f"change of {name}" for name in friction.names), *PAYLOAD_NAMES)
        arm_units = RobotModel.INERTIAL_UNITS * self.model.n_bodies + friction.units
        return Regression(
            Y=np.concatenate(parts),
            tau=np.concatenate(
                [np.asarray(s.ordered(self.model.joint_names).effort) for s, _ in streams]
            ),
            names=names,
            units=(*arm_units, *friction.units, *RobotModel.INERTIAL_UNITS),
            joints=self.model.joint_names,
            bodies=self.model.body_names,
            prior=x,
            prior_sd=np.ones(len(x)),
            non_negative=np.zeros(len(x), dtype=bool),
            structure=np.empty((0, len(x))),
            starts=starts,
            recordings=starts,
        )

    def _rows(self, stream: JointStream, x: Array, with_load: bool) -> Array:
        """Regressor `[Y, Phi, Phi, Y_L]` of arm, friction, change of friction and payload, shape
        (K, n, p); without load, the last two blocks are zero.
        """
        stream = stream.ordered(self.model.joint_names)
        require_filtered(stream, "the recording")
        q, v, a = stream.kinematics
        Y = self.model.torque_regressor(q, v, a)
        Y_L = Y @ carried_by(self.model, self.frame)
        n_pi = Y.shape[2]
        rigid = Y @ x[:n_pi] + (Y_L @ x[-10:] if with_load else 0.0)
        Phi = self.friction.regressor(q, v, a, rigid)
        return np.concatenate([Y, Phi, with_load * Phi, with_load * Y_L], axis=2)


class PayloadFromTorques:
    """Estimator of the payload of an arm without force-torque sensor.

    Args:
        model: The unloaded robot; its inertial parameters are the prior for the arm.
        frame: Name of the frame that carries the payload, and to which the result refers.
        friction: Friction terms per joint; default: those of geared arms, load-dependent friction
            included (on a UR10e they halve the residual of the usual four).
        gain_sd: Relative standard deviation of the drive gains (torque scale), a number or shape
            (n,). As for force-torque sensors, half of the variance is common to all drives: the gains
            of one arm often have one source.
        reach: Prior standard deviation of each coordinate of the centre of mass, about the origin
            of the frame [m].
        size: Radius of a ball of about the size of the payload [m], for the prior of its inertia,
            which the motion of slow arms hardly excites.
        density: Prior on the density of a known shape in the frame, which replaces `reach` and
            `size`; None: ball.
    """

    method = "payload from joint torques"

    def __init__(
        self,
        model: RobotModel,
        frame: str,
        *,
        friction: FrictionModel | None = None,
        gain_sd: ArrayLike = 0.05,
        reach: float = 0.3,
        size: float = 0.15,
        density: DensityPrior | None = None,
    ) -> None:
        self.model = model
        self.frame = frame
        self.friction = friction or FrictionModel(
            DriveTrain.direct(model.joint_names), FrictionTerm.listed("geared")
        )
        self.gain_sd = np.broadcast_to(np.asarray(gain_sd, dtype=float), (model.nv,))
        self.reach = reach
        self.size = size
        self.density = density
        carried_by(model, frame)  # refuses a frame that doesn't move
        self._equations = LoadedEquations(model, self.friction, frame)
        self._load = SupposedLoad(frame, reach, size, density)
        positive = {"reach": reach, "size": size}
        if not all(value > 0 for value in positive.values()) or np.any(self.gain_sd < 0):
            raise EstimationError(
                f"{', '.join(positive)} must be positive and `gain_sd` not negative.",
                remedy="Give positive numbers for these settings.",
            )

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arm's parameters: inertial parameters, then friction."""
        return self._equations.arm_names

    def fit(
        self,
        loaded: Sequence[JointStream],
        unloaded: Sequence[JointStream] = (),
        *,
        identified: Estimate | None = None,
        source: str = "",
    ) -> Estimate:
        """Estimate the payload; arguments and errors as in `compare`."""
        return self.compare(loaded, unloaded, identified=identified, source=source).estimate

    def compare(
        self,
        loaded: Sequence[JointStream],
        unloaded: Sequence[JointStream] = (),
        *,
        identified: Estimate | None = None,
        source: str = "",
        runs: Sequence[Recording] = (),
    ) -> LoadedArm:
        """Estimate the payload, and return the torques that support the estimate.

        Args:
            loaded: Equally sampled spans with q, v, a and torques [N m] (from
                `ZeroPhaseFilter.smooth`).
            unloaded: Spans of the same kind without payload; may be empty.
            identified: Estimate of all parameters of the unloaded arm with covariance, as prior;
                None: the prior comes from the model.
            source: Name of the data source.
            runs: Recordings of the loaded spans, in the same order, named in notes; empty: unknown.

        Raises:
            EstimationError: The efforts are not torques, signals are missing, or the parameters
                belong to another robot.
            SolverError: The consistent payload could not be found.
        """
        if not loaded:
            raise EstimationError("There is no loaded recording.", remedy="Give at least one.")
        first = loaded[0].ordered(self.model.joint_names)
        require_filtered(first, "the loaded recording")
        link_sd = _LINK_SD if unloaded else _NOMINAL_LINK_SD
        known = arm_prior(self.model, self.friction, first, link_sd, identified)
        fit, mean, prior, step = self._solve(loaded, unloaded, *known)
        estimate, added = self._estimate(fit, mean, prior, source)
        notes = estimate.notes
        if step > _SETTLED * added[1]:
            notes += (
                "The iterations for noise and load-dependent friction have not converged: the last"
                " one changed the mass by"
                f" {step:.2g} kg.",
            )
        starts = fit.regression.recordings[len(unloaded) :]
        parts = span_slices(starts, fit.regression.n_samples)
        Y, tau = fit.regression.matrix, fit.regression.tau
        extra = tuple(
            ExtraTorque(
                stream.time,
                tau[rows] - Y[rows, :, :-10] @ fit.x[:-10],
                Y[rows, :, -10:] @ estimate.values,
            )
            for stream, rows in zip(loaded, parts, strict=True)
        )
        if unloaded:
            noise = np.sqrt(np.mean(fit.residual[: starts[0]] ** 2, axis=0))
            for k, (part, rows) in enumerate(zip(extra, parts, strict=True)):
                run = runs[k] if runs else None
                more = part.measured, Y[rows, :, -10:]
                notes += change_note(loaded[k], *more, noise, prior, run)
        rms = np.sqrt(np.mean(fit.residual[starts[0] :] ** 2, axis=0))
        joints = self.model.joint_names
        by_joint = dict(zip(joints, rms.tolist(), strict=True))
        return LoadedArm(
            replace(estimate, residual_rms=by_joint, notes=notes), joints, extra, added
        )

    def _estimate(
        self, fit: PriorFit, mean: Array, prior: Array, source: str
    ) -> tuple[Estimate, tuple[float, float]]:
        """Payload part of a solution, made physically consistent, with its torques
        (`LoadedArm.added`).
        """
        rows = fit.gain[-10:]
        by_gain = (rows @ fit.per_joint.T) * self.gain_sd  # d pi_L / d ln(gain_j), each column
        by_gain = np.column_stack([by_gain, by_gain.sum(axis=1)]) / np.sqrt(2.0)  # last: common
        covariance = symmetric(rows @ fit.scores @ rows.T + by_gain @ by_gain.T)
        information = inverse(fit.gain[-10:, -10:]) - np.linalg.inv(prior)
        pi, notes = self._load.consistent(fit.x[-10:], covariance, information, mean, prior)
        if pi[0] < 3.0 * np.sqrt(covariance[0, 0]):
            notes.append(
                "The mass is less than three times its standard deviation: there may be no load."
            )
        structural_rank, structural = structural_verdicts(self.model, self.frame)
        verdicts = tuple(
            found if can is ParameterVerdict.IDENTIFIABLE else can
            for found, can in zip(verdicts_from_prior(covariance, prior), structural, strict=True)
        )
        factor = np.linalg.cholesky(prior)
        added = np.linalg.eigvalsh(factor.T @ information @ factor)
        gained = added[added > RANK_TOLERANCE]
        estimate = Estimate(
            method=self.method,
            names=PAYLOAD_NAMES,
            values=pi,
            units=RobotModel.INERTIAL_UNITS,
            covariance=covariance,
            verdicts=verdicts,
            consistent={"payload": bool(is_physically_consistent(pi))},
            condition_number=float(np.sqrt(added[-1] / gained[0])) if len(gained) else float("inf"),
            rank=len(gained),
            structural_rank=structural_rank,
            rank_tolerance=RANK_TOLERANCE,
            n_samples=fit.regression.n_samples,
            robot=self.model.name,
            urdf_hash=self.model.urdf_hash,
            source=source,
            notes=tuple(notes),
        )
        return estimate, (float(fit.x[-10]), float(np.sqrt(covariance[0, 0])))

    def _solve(
        self, loaded: Sequence[JointStream], unloaded: Sequence[JointStream], x0: Array, P0: Array
    ) -> tuple[PriorFit, Array, Array, float]:
        """Solution after several iterations, each of which updates noise levels, load-dependent
        friction and the scale of the prior.

        Returns:
            Fit, mean and covariance of the payload's prior, change of the mass in the last pass.
        """
        n_arm, n_drift = len(x0), len(self.friction.names)
        x = np.concatenate([x0, np.zeros(n_drift), np.eye(10)[0]])  # a kilogram to start from
        streams = [(s, False) for s in unloaded] + [(s, True) for s in loaded]
        period = min(float(np.median(np.diff(s.time))) for s, _ in streams)
        max_lag = max(1, round(_CORRELATION_S / period))
        fit: PriorFit | None = None
        for _ in range(_PASSES):
            regression = self._equations.regression(streams, x)
            weights = noise_weights(regression, max_lag, None if fit is None else x)
            prior_mean, prior = self._load.prior(x[-10:])
            drift = drift_precision(
                self.friction,
                x[n_arm - n_drift : n_arm],
                np.sqrt(np.diag(P0)[-n_drift:]),
                _FRICTION_DRIFT,
            )
            precision = scipy.linalg.block_diag(np.linalg.inv(P0), drift, np.linalg.inv(prior))
            mean = np.concatenate([x0, np.zeros(n_drift), prior_mean])
            fit = solve_with_prior(regression, weights, mean, precision, max_lag)
            step, x = abs(float(fit.x[-10] - x[-10])), fit.x
        assert fit is not None  # _PASSES > 0
        return fit, prior_mean, prior, step
