# SPDX-License-Identifier: Apache-2.0
"""Optimality criteria of motions, as functions of their expected information matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import ExcitationError
from sysid_core.identifiability import Excitation
from sysid_core.planning.design.unknowns import Unknowns
from sysid_core.robot import Array
from sysid_core.settings import Kind

SHARPNESS = 8.0  # of the smooth largest one
TINY = 1e-12  # of scaled information that no motion gave
# Below this singular value (columns of unit length) a direction drowns in ordinary noise.
USEFUL = 1e-6


class Criterion(Kind):
    """Optimality criterion to be minimised; its value is the name on the command line."""

    D = "d"  # log-determinant of the expected covariance: the volume of its ellipsoid
    MEAN = "mean"  # geometric mean of the deviations: the number that plans are compared by
    A = "a"  # mean relative variance
    WORST = "worst"  # largest relative variance (smoothly)
    CONDITION = "condition"  # cond(W), inertial base regressor with columns of unit length
    CONDITION_SI = "condition-si"  # cond(W) in SI units, orthonormal base; squared: eig(W^T W)
    TARGET = "target"  # variance of what is asked for: parameters, or torques of a task


@dataclass(frozen=True, eq=False)
class Score:
    r"""Optimality criterion as a function of a motion's information matrix and of the prior.

    Attributes:
        criterion: Optimality criterion.
        weights: Inverse standard deviations of the rows, shape (n,).
        count: Number of independent samples of the motion, by which the mean information is
            multiplied.
        transform: Transformation matrix T, shape (b, m).
        prior: Prior information matrix, shape (m, m).
        wanted: Matrix C of the target's variance `trace(C P)`, shape (m, m); for `A` the unit
            matrix.
    """

    criterion: Criterion
    weights: Array
    count: float
    transform: Array
    prior: Array
    wanted: Array

    def value_and_slope(self, information: Array) -> tuple[float, Array]:
        """Return the criterion and its gradient with respect to the mean information of a sample,
        (b, b).
        """
        M = self.transform.T @ information @ self.transform * self.count + self.prior
        if self.criterion in (Criterion.CONDITION, Criterion.CONDITION_SI):
            value, slope = _log_condition(M, self.criterion is Criterion.CONDITION)
        else:
            value, slope = self._uncertainty(M)
        return value, self.transform @ slope @ self.transform.T * self.count

    def _uncertainty(self, M: Array) -> tuple[float, Array]:
        P = np.linalg.inv(M)
        P = (P + P.T) / 2.0
        if self.criterion is Criterion.D:
            return float(-np.linalg.slogdet(M)[1]), -P
        variance = np.diag(P)
        if self.criterion is Criterion.MEAN:
            return float(np.sum(np.log(variance))), -(P / variance) @ P
        if self.criterion is Criterion.WORST:
            share = (variance / variance.max()) ** SHARPNESS
            value = np.log(variance.max()) + np.log(share.sum()) / SHARPNESS
            return _scaled(float(value), -P @ np.diag(share / variance / share.sum()) @ P, len(P))
        total = float(np.sum(self.wanted * P))
        return _scaled(float(np.log(total)), -P @ self.wanted @ P / total, len(P))


def _scaled(value: float, slope: Array, m: int) -> tuple[float, Array]:
    """Condition number scaled to the size of a log-determinant of m variances, so that penalties
    have the same relative weight.
    """
    return m * value, m * slope


def _log_condition(M: Array, unit: bool) -> tuple[float, Array]:
    """`log cond(W)` of `M = W^T W`, made smooth by p-norms, with the columns of W scaled to unit
    length.
    """
    scale = 1.0 / np.sqrt(np.diag(M)) if unit else np.full(len(M), 1.0 / np.sqrt(np.trace(M)))
    N = M * np.outer(scale, scale)
    values, U = np.linalg.eigh(N + TINY * np.eye(len(N)))
    up, down = (values / values[-1]) ** SHARPNESS, (values / values[0]) ** -SHARPNESS
    value = np.log(values[-1] / values[0]) + np.log(up.sum() * down.sum()) / SHARPNESS
    by_value = (up / up.sum() + down / down.sum() * -1.0) / values
    slope = (U * by_value) @ U.T
    # Of the scale: by the diagonal where columns are made unit length; else it has no influence.
    own = np.sum(slope * N, axis=1) if unit else np.zeros(len(M))
    out = slope * np.outer(scale, scale) - np.diag(own / np.diag(M))
    m = float(len(M))
    return m * float(value) / 2.0, m * out / 2.0


def build_score(
    unknowns: Unknowns,
    criterion: Criterion | str,
    duration: float,
    *,
    targets: tuple[str, ...] = (),
    task: tuple[Array, Array, Array] | None = None,
) -> Score:
    """Return the optimality criterion for given unknowns and motions of a given duration.

    Args:
        unknowns: Parameters to be estimated.
        criterion: Optimality criterion.
        duration: Duration of the motions [s].
        targets: Names of base parameters, for `Criterion.TARGET`.
        task: Motion (q, v, a), (K, n) each, whose torques are to be predicted, instead of
            `targets`.

    Raises:
        ExcitationError: The target is missing, unknown, or given for another criterion.
    """
    criterion, b = Criterion(criterion), len(unknowns.names)
    scale = np.diag(unknowns.size)
    prior = scale @ unknowns.prior_information @ scale
    weights, wanted = 1.0 / unknowns.effort_sd, np.eye(b)
    count = duration / unknowns.correlation
    if (criterion is Criterion.TARGET) != bool(targets or task):
        raise ExcitationError(
            "The criterion 'target' needs targets, and other criteria have none.",
            remedy="Name base parameters or give the motion whose torques matter.",
        )
    if criterion is Criterion.TARGET:
        wanted = _wanted(unknowns, targets, task)
    elif criterion in (Criterion.CONDITION, Criterion.CONDITION_SI):
        rigid, weights, count = unknowns.n_rigid, np.ones(len(weights)), 1.0
        scale = scale[:, :rigid]
        if criterion is Criterion.CONDITION_SI:
            scale = np.zeros((b, rigid))
            scale[:rigid] = orthonormal_map(unknowns)
        prior = np.zeros((rigid, rigid))
    return Score(criterion, weights, count, scale, prior, wanted)


def orthonormal_map(unknowns: Unknowns) -> Array:
    """Return the matrix `R V` from the base columns of the inertial parameters to those of an
    orthonormal base, (b, b).
    """
    p = 10 * unknowns.model.n_bodies
    R = unknowns.base.regrouping[: unknowns.n_rigid, :p]
    _, _, Vt = np.linalg.svd(R, full_matrices=False)
    return np.asarray(R @ Vt.T)


def _wanted(
    unknowns: Unknowns, targets: tuple[str, ...], task: tuple[Array, Array, Array] | None
) -> Array:
    if task is not None:
        Phi = unknowns.regressor(*task) * unknowns.size / unknowns.effort_sd[:, None]
        flat = Phi.reshape(-1, Phi.shape[-1])
        return np.asarray(flat.T @ flat / len(flat))
    strangers = [name for name in targets if name not in unknowns.names]
    if strangers:
        raise ExcitationError(
            f"No base parameters {strangers}.",
            remedy=f"The base parameters are: {', '.join(unknowns.names)}.",
        )
    wanted = np.zeros(len(unknowns.names))
    wanted[[unknowns.names.index(name) for name in targets]] = 1.0
    return np.diag(wanted)


@dataclass(frozen=True, eq=False)
class Conditioning:
    """Condition numbers of the inertial base parameters for a motion, as several papers define
    them.

    Attributes:
        excitation: Numerical rank of the regressor with columns scaled to unit length, and the
            exact structural rank.
        orthonormal: cond(W) for an orthonormal basis in SI units; `eigenvalue_ratio` is its square.
    """

    excitation: Excitation
    orthonormal: float

    @property
    def unit(self) -> float:
        """Condition number of the regressor W after scaling its columns to unit length."""
        return self.excitation.condition_number

    @property
    def eigenvalue_ratio(self) -> float:
        """Ratio of the largest to the smallest eigenvalue of `W^T W`, for an orthonormal base in SI
        units.
        """
        return self.orthonormal**2

    def __str__(self) -> str:
        c = self.excitation
        if not c.maximally_exciting:
            return str(c)
        return (
            f"maximally exciting: {c.rank} of {c.structural_rank}, condition number"
            f" {self.unit:.3g} (columns of unit length; eigenvalues of WᵀW in SI units:"
            f" {self.eigenvalue_ratio:.3g})"
        )

    @classmethod
    def of(cls, unknowns: Unknowns, q: Array, v: Array, a: Array) -> Conditioning:
        """Return the rank and condition numbers of the inertial base regressor of a motion; q, v, a
        (K, n).
        """
        Y = unknowns.model.torque_regressor(q, v, a)
        rigid = unknowns.base.independent[: unknowns.n_rigid]
        base = np.asarray(Y[..., list(rigid)]).reshape(-1, len(rigid))
        R = np.linalg.qr(base, mode="r")
        s = np.linalg.svd(R @ orthonormal_map(unknowns), compute_uv=False)
        excitation = Excitation.measured(unknowns.structure, Y, tolerance=USEFUL)
        return cls(excitation, float(s[0] / s[-1]) if s[-1] > 0 else float("inf"))
