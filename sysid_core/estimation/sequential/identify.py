# SPDX-License-Identifier: Apache-2.0
"""Sequential identification from the last joint to the first (Lin 1992)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from sysid_core.errors import EstimationError, listed
from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.fit import Regression
from sysid_core.estimation.fit.least_squares import combinations_of
from sysid_core.estimation.fit.model_error import BLOCKS, scatter_factors
from sysid_core.estimation.fit.uncertainty import score_covariance, span_slices
from sysid_core.identifiability import BaseParameters
from sysid_core.identifiability.composite_bodies import BackwardSolution, MinimalConstants, StepRows
from sysid_core.robot import Array, RobotModel
from sysid_core.settings import Kind
from sysid_core.signals import EffortKind, Recording

ROUNDED = 1e-5  # relative: a dependence broken by no more than a URDF's 1.5708 is one
MOVING = 0.01  # [rad/s or m/s]: a joint moves above this speed


@dataclass(frozen=True, eq=False)
class SolvableEquations:
    """Equations for minimal constants (base parameters of Lin's method) and friction after regrouping of dependent columns.

    Attributes:
        Y: Regressor of the q unknowns, shape (K, n, q).
        names: Names of the q unknowns.
        units: Units of the q unknowns.
        joints: Joint (or coupled axis) of each unknown.
        prior: Prior values of the unknowns, shape (q,).
        prior_covariance: Prior covariance of the unknowns, from their natural scales, shape (q, q).
        to_base: Matrix from the unknowns to the base parameters of the regression, shape (b, q).
    """

    Y: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    joints: tuple[str, ...]
    prior: Array
    prior_covariance: Array
    to_base: Array


def solvable_equations(minimal: MinimalConstants, regression: Regression) -> SolvableEquations:
    """Return the equations with minimal constants (base parameters of Lin's method) instead of link
    parameters; friction columns are unchanged.
    """
    n_inertial = regression.n_inertial
    if minimal.parameter_names != regression.names[:n_inertial]:
        raise EstimationError(
            "The minimal constants (base parameters) belong to another robot than the regression.",
            remedy="Compute the constants with MinimalConstants.of(model) for the same model.",
        )
    n_friction = len(regression.names) - n_inertial
    lift = scipy.linalg.block_diag(minimal.right_inverse, np.eye(n_friction))
    names = minimal.names + regression.names[n_inertial:]
    units = minimal.units + regression.units[n_inertial:]
    bodies = tuple(regression.joints[body] for body in minimal.bodies)
    joints = bodies + tuple(name.rsplit(".", 1)[0] for name in regression.names[n_inertial:])
    # Drive inertia of a joint that nothing before it accelerates can't be told from the link's.
    groups = BaseParameters.sampled(regression.structure @ lift, names, ROUNDED)
    chosen = list(groups.independent)
    from_full = groups.regrouping @ scipy.linalg.block_diag(minimal.matrix, np.eye(n_friction))
    Y = np.concatenate(
        [
            regression.matrix[:, :, :n_inertial] @ minimal.right_inverse,
            regression.matrix[:, :, n_inertial:],
        ],
        axis=2,
    )[:, :, chosen]
    return SolvableEquations(
        Y=Y,
        names=tuple(names[i] for i in chosen),
        units=tuple(units[i] for i in chosen),
        joints=tuple(joints[i] for i in chosen),
        prior=from_full @ regression.prior,
        prior_covariance=(from_full * regression.prior_sd**2) @ from_full.T,
        to_base=regression.base.regrouping @ lift[:, chosen],
    )


def compress_joint(
    name: str, Y: Array, tau: Array, starts: tuple[int, ...], natural: Array
) -> StepRows:
    """Return the rows (K, p) and torques (K,) of one joint, compressed to a few equations with
    their noise.

    The covariance of the noise includes the correlation of the residuals in time, and the model
    error, estimated from fits that each omit one block of the motion. `natural` is the prior
    covariance of the unknowns, shape (p, p).
    """
    K, p = Y.shape
    scale = np.linalg.norm(Y, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    Q_tall, R = np.linalg.qr(Y / scale)
    Q_small, s, Vt = np.linalg.svd(R, full_matrices=False)
    m = int(np.sum(s > 1e-11 * s[0])) if s.size and s[0] > 0 else 0
    if m == 0:
        return StepRows(name, np.zeros((0, p)), np.zeros(0), np.zeros((0, 0)))
    if m >= K:
        raise EstimationError(
            f"Joint '{name}' has {K} torque samples for {m} unknowns.",
            remedy="Record longer, or lower the speed above which a joint counts as moving.",
        )
    Q, s, Vt = Q_tall @ Q_small[:, :m], s[:m], Vt[:m]
    values = Q.T @ tau
    residual = tau - Q @ values
    variance = max(float(residual @ residual) / (K - m), 1e-24, 1e-22 * float(np.mean(tau**2)))
    scores = residual[:, None] * np.sqrt(K / (K - m))
    noise = score_covariance([(slice(0, K), Q[:, None, :])], scores, starts)[0]
    # The fit itself makes residuals look anticorrelated: noise never counts less than white.
    lam, U = np.linalg.eigh(noise)
    noise = (U * np.maximum(lam, variance)) @ U.T
    rows = (s[:, None] * Vt) * scale
    parts = np.array_split(np.arange(K), BLOCKS)
    H = np.array([Q[part].T @ Q[part] for part in parts])
    right = np.array([Q[part].T @ residual[part] for part in parts])
    natural = rows @ natural @ rows.T
    # Influences: without one of its few postures a joint would show less, not something else.
    factors = scatter_factors(H, right, noise, natural, leave_out=False)
    return StepRows(name, rows, values, noise * np.outer(factors, factors))


def starts_of(rows: NDArray[np.bool_], starts: tuple[int, ...]) -> tuple[int, ...]:
    """Return the first sample of each gapless span among the chosen rows."""
    out, count = [], 0
    for part in span_slices(starts, len(rows)):
        chosen = np.flatnonzero(rows[part])
        breaks = np.flatnonzero(np.diff(chosen) > 1) + 1
        if len(chosen):
            out += [count, *(count + breaks).tolist()]
            count += len(chosen)
    return tuple(out) or (0,)


def at_once_sd(blocks: list[StepRows], prior_covariance: Array) -> Array:
    """Return the standard deviations of generalised least squares on all rows together, shape (q,),
    for comparison.
    """
    root = np.linalg.cholesky(prior_covariance)
    H = np.eye(len(root))
    for block in blocks:
        if len(block.rows):
            white = np.linalg.solve(np.linalg.cholesky(block.noise), block.rows @ root)
            H = H + white.T @ white
    return np.sqrt(np.diag(root @ np.linalg.inv(H) @ root.T))


class LockedTorque(Kind):
    """Interpretation of the measured torque of a locked joint."""

    MEASURED = "measured"  # read behind the gear: it is what the links exert
    HIDDEN = "hidden"  # read at the motor: friction at standstill takes up what it likes


class Unexcited(Kind):
    """Treatment of minimal constants (base parameters) that no step excites."""

    REFUSE = "refuse"
    PRIOR = "prior"  # they keep the URDF's values and say so


@dataclass(frozen=True, eq=False)
class SequentialFit:
    """Sequential estimate with its steps.

    Attributes:
        estimate: Estimate of the base parameters, which can be compared with those of other
            estimators.
        constants: Names of the estimated minimal constants (base inertial parameters of Lin's
            method) and friction parameters, q in number.
        units: Units of the q constants.
        joints: Joint of each constant.
        values: Estimated constants, shape (q,).
        solution: Solution of the recursion: covariance with the share of each step, and steps.
        prior_covariance: Prior covariance of the constants, from their natural sizes, shape (q, q).
        at_once_sd: Standard deviations of a simultaneous solution of the same equations, shape
            (q,).
        rows_used: Number of torque samples used, by joint.
    """

    estimate: Estimate
    constants: tuple[str, ...]
    units: tuple[str, ...]
    joints: tuple[str, ...]
    values: Array
    solution: BackwardSolution
    prior_covariance: Array
    at_once_sd: Array
    rows_used: dict[str, int]

    @property
    def standard_deviations(self) -> Array:
        """Standard deviations of the minimal constants and friction parameters, shape (q,)."""
        return np.sqrt(np.diag(self.solution.covariance))

    def inherited_shares(self) -> Array:
        """Return the share of the variance of each constant that is due to the noise of each step,
        (n_steps, q).
        """
        variance = np.diagonal(self.solution.shares, axis1=1, axis2=2)
        total = np.maximum(np.diag(self.solution.covariance), 1e-300)
        return np.asarray(variance / total)

    def step_rows(self) -> list[dict[str, object]]:
        """Return the summary of each step: samples, constants determined, share of the variance
        from other steps.
        """
        shares = self.inherited_shares()
        ratio = self.standard_deviations / np.maximum(self.at_once_sd, 1e-300)
        rows: list[dict[str, object]] = []
        for i, step in enumerate(self.solution.steps):
            own = [k for k, joint in enumerate(self.joints) if joint == step.name]
            rows.append(
                {
                    "joint": step.name,
                    "samples": self.rows_used[step.name],
                    "settled": step.n_settled,
                    "postponed": step.n_postponed,
                    "condition": step.condition,
                    "residual_rms": self.estimate.residual_rms.get(step.name),
                    "variance_from_other_steps": float(
                        np.median(shares.sum(axis=0)[own] - shares[i][own])
                    ),
                    "sd_against_all_at_once": float(np.median(ratio[own])),
                }
            )
        return rows


class SequentialLeastSquares:
    r"""Sequential least squares (Lin 1992), joint by joint from the last to the first, for the
    minimal constants of composite bodies (base parameters of the robot).

    The torques of joint j determine those constants that they excite and that are still unknown;
    constants from earlier steps are used as known, with propagation of their errors. Friction of
    the moving joint is estimated with its body. Constants that a step excites too weakly are
    postponed to the steps of the preceding joints in the chain.

    Args:
        minimal: Minimal constants of the robot.
        locked: Use of the torques of joints at standstill.
        unexcited: Treatment of constants that no step excites.
    """

    fixed: tuple[str, ...] = ()

    def __init__(
        self,
        minimal: MinimalConstants,
        *,
        locked: LockedTorque | str = LockedTorque.HIDDEN,
        unexcited: Unexcited | str = Unexcited.REFUSE,
    ) -> None:
        self.minimal = minimal
        self.locked = LockedTorque(locked)
        self.unexcited = Unexcited(unexcited)

    @classmethod
    def of_arm(
        cls, model: RobotModel, recordings: Sequence[Recording], unexcited: str
    ) -> SequentialLeastSquares:
        """Return the estimator for the dynamic parameters of an arm without a payload.

        Torques of joints at standstill are used only if all torques were measured on the link side
        of the gears.

        Args:
            model: Robot model.
            recordings: Recordings to be fitted.
            unexcited: Treatment of constants that no step excites, 'refuse' or 'prior' (see
                `Unexcited`).

        Raises:
            EstimationError: `unexcited` is neither of the two.
        """
        behind = all(run.joints.effort_kind is EffortKind.LINK_TORQUE for run in recordings)
        return cls(
            MinimalConstants.of(model.with_exact_angles()[0]),
            locked=LockedTorque.MEASURED if behind else LockedTorque.HIDDEN,
            unexcited=Unexcited.named(unexcited, "--unexcited", EstimationError),
        )

    @property
    def fast(self) -> float:
        """Minimum speed: equations of a joint near and below it are omitted [rad/s or m/s]."""
        return MOVING if self.locked is LockedTorque.HIDDEN else 0.0

    @property
    def name(self) -> str:
        """Name of the method in the result."""
        return "sequential"

    def fit(self, regression: Regression) -> Estimate:
        """Estimate the base parameters.

        Args:
            regression: Equations of spans in which one joint moves at a time.

        Raises:
            EstimationError: A step does not excite its constants, or the regression belongs to
                another robot.
        """
        return self.fit_steps(regression).estimate

    def fit_steps(self, regression: Regression) -> SequentialFit:
        """Estimate the base parameters, and return with them the steps of the recursion, the estimated
        minimal constants, and how the errors grow from step to step.
        """
        system = solvable_equations(self.minimal, regression)
        usable = self._usable_rows(regression)
        n = len(regression.joints)
        blocks: list[StepRows] = []
        for j in reversed(range(n)):
            rows = usable[:, j]
            block = compress_joint(
                regression.joints[j],
                system.Y[rows, j],
                regression.tau[rows, j],
                starts_of(rows, regression.starts),
                system.prior_covariance,
            )
            blocks.append(block)
        solution = BackwardSolution.of(blocks, system.prior, system.prior_covariance)
        open_names = _open_constants(solution, system)
        if open_names and self.unexcited is Unexcited.REFUSE:
            raise self._refusal(open_names, int(usable.sum()), regression)
        base = regression.base
        covariance = system.to_base @ solution.covariance @ system.to_base.T
        natural = base.regrouping**2 @ regression.prior_sd**2
        predicted = system.Y @ solution.x
        estimate = Estimate(
            method=self.name,
            names=base.base_names,
            values=system.to_base @ solution.x,
            units=tuple(regression.units[i] for i in base.independent),
            covariance=covariance,
            verdicts=_verdicts(base, np.diag(covariance) >= natural),
            residual_rms={
                name: float(np.sqrt(np.mean((regression.tau - predicted)[usable[:, j], j] ** 2)))
                for j, name in enumerate(regression.joints)
                if usable[:, j].any()
            },
            condition_number=max(step.condition for step in solution.steps),
            rank=len(system.names) - solution.open_directions.shape[1],
            structural_rank=len(system.names),
            rank_tolerance=1.0,
            combinations=combinations_of(base),
            n_samples=int(usable.any(axis=1).sum()),
            notes=self._notes(solution, open_names),
        )
        return SequentialFit(
            estimate=estimate,
            constants=system.names,
            units=system.units,
            joints=system.joints,
            values=solution.x,
            solution=solution,
            prior_covariance=system.prior_covariance,
            at_once_sd=at_once_sd(blocks, system.prior_covariance),
            rows_used={name: int(usable[:, j].sum()) for j, name in enumerate(regression.joints)},
        )

    def _usable_rows(self, regression: Regression) -> NDArray[np.bool_]:
        """Mask of usable torques, shape (K, n)."""
        K, n = regression.tau.shape
        if self.locked is LockedTorque.MEASURED:
            return np.ones((K, n), dtype=bool)
        usable = np.zeros((K, n), dtype=bool)
        for j, joint in enumerate(regression.joints):
            name = f"{joint}.F_v"
            if name not in regression.names:
                raise EstimationError(
                    f"Without the viscous friction of '{joint}' the start of its motion cannot be"
                    " detected.",
                    remedy="Use friction terms that include 'viscous', or declare that torques are"
                    " measured behind the gears (link_torque).",
                )
            speed = regression.matrix[:, j, regression.names.index(name)]
            usable[:, j] = np.abs(speed) > MOVING
        return usable if regression.used is None else usable & regression.used

    def _refusal(
        self, open_names: tuple[str, ...], n_rows: int, regression: Regression
    ) -> EstimationError:
        hidden = self.locked is LockedTorque.HIDDEN
        why = (
            " Torques of joints at standstill were excluded, because friction is undetermined"
            " there."
            if hidden
            else ""
        )
        remedy = "Add postures or joints to the motion (`sysid plan sequential` chooses them)"
        remedy += ", move two joints together" if hidden else ""
        return EstimationError(
            f"The motion doesn't excite {len(open_names)} direction(s) of the constants:"
            f" {listed(open_names, 8, '; ')}.{why}",
            remedy=f"{remedy}, or keep the URDF's values for them (--unexcited prior).",
            open=open_names,
            n_rows=n_rows,
        )

    def _notes(self, solution: BackwardSolution, open_names: tuple[str, ...]) -> tuple[str, ...]:
        notes = [
            f"Step '{s.name}': {s.n_settled} settled, condition {s.condition:.3g}"
            + (f", {s.n_postponed} postponed." if s.n_postponed else ".")
            for s in solution.steps
        ]
        if open_names:
            notes.append(
                f"{len(open_names)} direction(s) are not excited, and the URDF's value is kept:"
                f" {listed(open_names, 8, '; ')}."
            )
        return tuple(notes)


def _open_constants(solution: BackwardSolution, system: SolvableEquations) -> tuple[str, ...]:
    """Sentences on undetermined directions, by their largest components in natural units."""
    scale = np.sqrt(np.diag(system.prior_covariance))
    out = []
    for direction in solution.open_directions.T:
        u = np.abs(direction / scale)
        top = np.argsort(u)[::-1][:4]
        out.append(" with ".join(system.names[k] for k in top if u[k] > 0.3 * u[top[0]]))
    return tuple(out)


def _verdicts(base: BaseParameters, weak: NDArray[np.bool_]) -> tuple[ParameterVerdict, ...]:
    return tuple(
        ParameterVerdict.PRIOR_DOMINATED
        if weak[i]
        else (ParameterVerdict.IDENTIFIABLE if base.is_alone(i) else ParameterVerdict.COMBINATION)
        for i in range(base.rank)
    )
