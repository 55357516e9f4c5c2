# SPDX-License-Identifier: Apache-2.0
r"""Sequential identification from the last joint to the first (Lin 1992)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.fit import Regression, combinations_of
from sysid_core.estimation.sequential.equations import (
    SolvableEquations,
    at_once_sd,
    compress_joint,
    solvable_equations,
    starts_of,
)
from sysid_core.identifiability import BaseParameters
from sysid_core.identifiability.composite_bodies import (
    BackwardSolution,
    MinimalConstants,
    StepRows,
    solve_backward,
)
from sysid_core.kinds import Kind
from sysid_core.robot import Array

MOVING = 0.01  # [rad/s or m/s]: a joint moves above this speed


class LockedTorque(Kind):
    """Interpretation of the measured torque of a locked joint."""

    MEASURED = "measured"  # read behind the gear: it is what the links exert
    HIDDEN = "hidden"  # read at the motor: friction at standstill takes up what it likes


class Unexcited(Kind):
    """Treatment of minimal constants that no step excites."""

    REFUSE = "refuse"
    PRIOR = "prior"  # they keep the URDF's values and say so


@dataclass(frozen=True, eq=False)
class SequentialFit:
    """Sequential estimate with its steps.

    Attributes:
        estimate: In base parameters, comparable with every other estimator's.
        constants: Names of the q minimal constants and friction parameters that were solved for.
        units: Units of each.
        joints: The joint that each belongs to.
        values: Shape (q,).
        solution: The recursion: covariance, its shares, steps.
        prior_covariance: Natural scale of the constants, shape (q, q).
        at_once_sd: Standard deviations if the same rows were solved all together, shape (q,).
        rows_used: Torque samples per joint.
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
        """Standard deviations of the minimal constants, shape (q,)."""
        return np.sqrt(np.diag(self.solution.covariance))

    def inherited_shares(self) -> Array:
        """Share of the variance of each constant that is due to the noise of each step, (n_steps,
        q).
        """
        variance = np.diagonal(self.solution.shares, axis1=1, axis2=2)
        total = np.maximum(np.diag(self.solution.covariance), 1e-300)
        return np.asarray(variance / total)


class SequentialLeastSquares:
    r"""Sequential least squares (Lin 1992), joint by joint from the last to the first, for the
    minimal constants of composite bodies.

    Joint j's torque rows settle what they show and is unknown; constants settled before are taken
    as known, and their errors are carried along. Friction of the moving joint is estimated with
    its body. What a step shows too weakly is left to the joints before it.

    Args:
        minimal: The robot's constants.
        locked: What torques of joints at standstill are worth.
        unexcited: What happens to constants that no step shows.
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
            EstimationError: Steps aren't exciting, or the regression is another robot's.
        """
        return self.fit_steps(regression).estimate

    def fit_steps(self, regression: Regression) -> SequentialFit:
        """Estimate the base parameters; also returns the steps, the constants and the growth of the
        error.
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
        solution = solve_backward(blocks, system.prior, system.prior_covariance)
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
                    f"Without the viscous friction of '{joint}' the start of its motion cannot be detected.",
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
            " Torques of joints at standstill were excluded, because friction is undetermined there."
            if hidden
            else ""
        )
        remedy = "Add postures or joints to the motion (`sysid plan sequential` chooses them)"
        remedy += ", move two joints together" if hidden else ""
        return EstimationError(
            f"The motion doesn't excite {len(open_names)} direction(s) of the constants:"
            f" {_listed(open_names)}.{why}",
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
                f"Not excited, the URDF's value is kept, in {len(open_names)} direction(s):"
                f" {_listed(open_names)}."
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


def _listed(names: tuple[str, ...], limit: int = 8) -> str:
    more = f"; and {len(names) - limit} more" if len(names) > limit else ""
    return "; ".join(names[:limit]) + more


def _verdicts(base: BaseParameters, weak: NDArray[np.bool_]) -> tuple[ParameterVerdict, ...]:
    return tuple(
        ParameterVerdict.PRIOR_DOMINATED
        if weak[i]
        else (ParameterVerdict.IDENTIFIABLE if base.is_alone(i) else ParameterVerdict.COMBINATION)
        for i in range(base.rank)
    )
