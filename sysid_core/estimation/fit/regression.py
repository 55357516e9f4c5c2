# SPDX-License-Identifier: Apache-2.0
"""The linear measurement equations of a whole robot: scales of their parameters, and triangular
factors of long recordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.identifiability import BaseParameters
from sysid_core.robot import Array

BLOCK = 8192  # samples of a regressor that are held at once


def friction_scale_from_squares(squares: Array, tau: Array, names: Sequence[str] = ()) -> Array:
    r"""Return the natural scale of friction parameters: the value with which the parameter alone
    would explain the joint's torque.

    Args:
        squares: Mean square of every column of the friction regressor, shape (n, p).
        tau: Measured torques, shape (K, n) [N m or N].
        names: Names of the p parameters. The RMS of a column is at least 0.01 of the largest with
            the same symbol, because sensor noise is not motion; empty: no minimum.

    Returns:
        RMS torque over RMS column, largest over the joints where the column acts, shape (p,).
    """
    column = np.sqrt(squares)  # (n, p)
    torque = np.sqrt(np.mean(tau**2, axis=0))[:, None]
    symbols = np.array([name.rsplit(".", 1)[-1] for name in names])
    largest = column.max(axis=0, initial=0.0)
    for symbol in set(symbols.tolist()):
        alike = symbols == symbol
        least = 0.01 * float(largest[alike].max())
        column[:, alike] = np.where(
            column[:, alike] > 0.0, np.maximum(column[:, alike], least), 0.0
        )
    acts = column > 1e-9 * max(float(column.max(initial=0.0)), 1e-300)
    ratio = np.divide(torque, column, out=np.zeros_like(column), where=acts)
    scale = ratio.max(axis=0, initial=0.0)
    return np.where(scale > 0.0, scale, 1.0)


class BlocksOfRows(Protocol):
    """Interface of a regressor that is too large for memory: its rows are computed in blocks for
    every pass.
    """

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of samples K, joints n and parameters p."""
        ...

    def __iter__(self) -> Iterator[Array]:
        """Iterate over the rows in order, in blocks of shape (k, n, p)."""
        ...

    def predict(self, parameters: Array) -> Array:
        """Return the torques `Y @ parameters`, shape (K, n)."""
        ...


@dataclass(frozen=True, eq=False)
class Regression:
    r"""Linear equations `tau_k = Y_k @ pi + noise` for K samples of n torques, of open or closed
    chains.

    The first `10 * len(bodies)` parameters are the inertial parameters of the bodies; the others
    belong to friction and drives.

    Attributes:
        Y: Regressor, shape (K, n, p), or an iterable of blocks of its rows.
        tau: Measured torques, shape (K, n) [N m].
        names: Names of the p parameters.
        units: Units of the p parameters.
        joints: Names of the n measured joints.
        bodies: Names of the bodies.
        prior: Prior values of the parameters (those of the URDF; 0 for friction), shape (p,).
        prior_sd: Natural scale of the deviations from the prior (see `inertial_scale` and
            `friction_scale`), shape (p,).
        non_negative: Mask of the parameters that physics requires to be non-negative, shape (p,).
        structure: Rows that span the row space of the regressor of an ideal motion, shape (s, p):
            the regressor at random states, or its triangular factor.
        starts: First sample (index) of each gapless span; noise is correlated only within a span.
        massless: Names of bodies without mass (rods of a closed chain), with all parameters 0.
        used: Mask of the equations in use, shape (K, n); None: all. Others are 0 in Y and tau.
        time: Time of each sample since the start of the first recording, with the recordings placed
            one after another, shape (K,) [s]; None: unknown.
        motion_time: As `time`, but a repeated motion has the times of its first occurrence (see
            `first_times`), shape (K,) [s]; None: no repeated motion.
        recordings: Index of the first sample of each recording; empty: unknown.
    """

    Y: Array | BlocksOfRows
    tau: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    joints: tuple[str, ...]
    bodies: tuple[str, ...]
    prior: Array
    prior_sd: Array
    non_negative: NDArray[np.bool_]
    structure: Array
    starts: tuple[int, ...] = (0,)
    massless: tuple[str, ...] = ()
    used: NDArray[np.bool_] | None = None
    time: Array | None = None
    motion_time: Array | None = None
    recordings: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        K, n, p = self.Y.shape
        expected = {
            "tau": (self.tau.shape, (K, n)),
            "names": ((len(self.names),), (p,)),
            "units": ((len(self.units),), (p,)),
            "joints": ((len(self.joints),), (n,)),
            "prior": (self.prior.shape, (p,)),
            "prior_sd": (self.prior_sd.shape, (p,)),
            "non_negative": (self.non_negative.shape, (p,)),
            "structure": (self.structure.shape[1:], (p,)),
            "used": ((K, n) if self.used is None else self.used.shape, (K, n)),
        }
        for key, (found, wanted) in expected.items():
            if found != wanted:
                raise EstimationError(
                    f"'{key}' has shape {found}, expected {wanted}.",
                    remedy="Give arrays that belong to the same regression.",
                )
        if K * n == 0:
            raise EstimationError("There are no samples to fit.", remedy="Give a recording.")
        bad = ~np.isfinite(self.tau).all(axis=0)
        if np.any(bad) or (isinstance(self.Y, np.ndarray) and not np.all(np.isfinite(self.Y))):
            names = [self.joints[j] for j in np.flatnonzero(bad)]
            raise EstimationError(
                f"Torques or motion hold NaN or infinite values{f' ({names})' if names else ''}.",
                remedy="Remove these samples.",
            )

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Iterator over blocks of samples with their rows of Y, (k, n, p)."""
        if isinstance(self.Y, np.ndarray):
            for first in range(0, len(self.tau), BLOCK):
                rows = slice(first, min(first + BLOCK, len(self.tau)))
                yield rows, self.Y[rows]
            return
        first = 0
        for Y in self.Y:
            k = len(Y)
            yield slice(first, first + k), Y
            del Y  # the next block is made without this one in memory
            first += k

    @cached_property
    def matrix(self) -> Array:
        """Regressor Y as one array, shape (K, n, p), for recordings that fit into memory."""
        return self.Y if isinstance(self.Y, np.ndarray) else np.concatenate(list(self.Y))

    @property
    def counts(self) -> Array:
        """Number of equations in use of every joint, shape (n,)."""
        K, n = self.tau.shape
        return np.full(n, float(K)) if self.used is None else self.used.sum(axis=0).astype(float)

    def motion_blocks(self, count: int) -> NDArray[np.intp]:
        """Return the block number of each sample, (K,), for cross-validation: blocks have equal
        numbers of samples, and no motion occurs in two blocks.
        """
        time = np.arange(len(self.tau)) if self.motion_time is None else self.motion_time
        edges = np.quantile(time, np.arange(1, count) / count)
        return np.searchsorted(edges, time, side="left")

    @property
    def n_samples(self) -> int:
        """Number K of samples."""
        return len(self.tau)

    @property
    def n_inertial(self) -> int:
        """Number of inertial parameters."""
        return 10 * len(self.bodies)

    def base_of(self, free: NDArray[np.bool_]) -> BaseParameters:
        """Return the base parameters of the free columns (mask of shape (p,)), computed from the
        structure and not from the data.
        """
        names = tuple(name for name, f in zip(self.names, free, strict=True) if f)
        return BaseParameters.sampled(self.structure[:, free], names)

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters of all columns."""
        return self.base_of(np.ones(len(self.names), dtype=bool))

    def free_columns(self, fixed: Sequence[str]) -> NDArray[np.bool_]:
        """Return a mask of the columns that are estimated, shape (p,); the other parameters keep
        their prior values.

        Args:
            fixed: Names of parameters, symbols (`I_a`), joints or links, or the groups `inertials`
                and `friction`.

        Raises:
            EstimationError: A name matches no column, or no column is left.
        """
        free = np.ones(len(self.names), dtype=bool)
        for entry in (*fixed, *self.massless):
            free &= ~self.columns_of(entry)
        if not np.any(free):
            raise EstimationError(
                "All parameters are fixed: there is nothing to estimate.",
                remedy="Remove the parameters to be estimated from `fixed`.",
            )
        return free

    def columns_of(self, entry: str) -> NDArray[np.bool_]:
        """Return a mask of the columns that belong to a parameter, symbol (`I_a`), joint, link or
        group, shape (p,).

        Raises:
            EstimationError: The name matches no column.
        """
        inertial = np.arange(len(self.names)) < self.n_inertial
        if entry in ("inertials", "friction"):
            hit = inertial if entry == "inertials" else ~inertial
        else:
            hit = np.array(
                [n == entry or entry in n.rsplit(".", 1) for n in self.names], dtype=bool
            )
        if not np.any(hit):
            raise EstimationError(
                f"'{entry}' can't be fixed: no parameter has this name.",
                remedy="Give 'inertials', 'friction', a link, a joint, or names such as"
                f" {self.names[0]} or {self.names[-1]}.",
            )
        return hit

    def predict(self, pi: ArrayLike) -> Array:
        """Return the predicted torques `Y @ pi`, shape (K, n)."""
        pi, out = np.asarray(pi, dtype=float), np.empty_like(self.tau)
        if not isinstance(self.Y, np.ndarray):
            return self.Y.predict(pi)
        for rows, Y in self.blocks():
            out[rows] = Y @ pi
        return out

    def residual_rms(self, residual: Array) -> dict[str, float]:
        """Return the RMS of residuals (K, n) for every joint that has equations in use [N m]."""
        squares = np.sum(residual**2, axis=0)
        return {
            joint: float(np.sqrt(total / count))
            for joint, total, count in zip(self.joints, squares, self.counts, strict=True)
            if count
        }

    def full_parameters(self, estimate: Estimate, fixed: Sequence[str]) -> Array:
        """Return all parameters, (p,), from an estimate of base or full parameters; undetermined
        directions are as close as possible to the prior.
        """
        if estimate.names == self.names:
            return estimate.values
        free = self.free_columns(fixed)
        base = self.base_of(free)
        # Closest in natural units: a gram is no kilogram.
        s = self.prior_sd[free]
        step = np.linalg.pinv(base.regrouping * s) @ (
            estimate.values - base.base_values(self.prior[free])
        )
        out = self.prior.copy()
        out[free] += s * step
        return out

    @staticmethod
    def friction_scale(Phi: Array, tau: Array, names: Sequence[str] = ()) -> Array:
        """Return the natural scale of friction parameters from the friction regressor, shape (K, n, p);
        see `friction_scale_from_squares`.
        """
        return friction_scale_from_squares(np.mean(Phi**2, axis=0), tau, names)


@dataclass(frozen=True, eq=False)
class Compressed:
    r"""Triangular factors of the least-squares problem, one per joint: `||R_j pi - r_j||^2 +
    rest_j` is the sum of squares.

    Attributes:
        R: Factors, each of shape (m_j, p).
        r: Right-hand sides, each of shape (m_j,).
        rest: Smallest sum of squared residuals of each joint over all parameter values, shape (n,).
        counts: Number of equations of each joint, for its residual variance, shape (n,).
    """

    R: tuple[Array, ...]
    r: tuple[Array, ...]
    rest: Array
    counts: Array

    def of(self, columns: Sequence[int], known: Array) -> Compressed:
        """Return the equations of some columns, with the contribution `R @ known` of the others
        moved to the right-hand side.

        Args:
            columns: Indices of the columns to keep.
            known: Values of the other parameters, 0 for the columns kept, shape (p,).
        """
        index = list(columns)
        r = tuple(r - R @ known for R, r in zip(self.R, self.r, strict=True))
        return Compressed(tuple(R[:, index] for R in self.R), r, self.rest, self.counts)

    def weighted(self, weights: ArrayLike) -> tuple[Array, Array]:
        """Return the triangular factor of all joints, each with its weight: R (m, p) and r (m,)
        with m <= p.

        Args:
            weights: Weights of the squared residuals, shape (n,).
        """
        root = np.sqrt(np.asarray(weights, dtype=float))
        pairs = zip(root, self.R, self.r, strict=True)
        stacked = np.vstack([w * np.column_stack([R, r]) for w, R, r in pairs])
        R = scipy.linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0]
        m = min(R.shape[1] - 1, len(R))
        return np.triu(R[:m, :-1]), R[:m, -1]

    def variances(self, pi: ArrayLike) -> Array:
        """Return the mean squared residual of every joint, shape (n,)."""
        pi = np.asarray(pi, dtype=float)
        squares = [np.sum((R @ pi - r) ** 2) for R, r in zip(self.R, self.r, strict=True)]
        return (np.array(squares) + self.rest) / np.maximum(self.counts, 1.0)


def compress(regression: Regression, weights: Array | None = None) -> Compressed:
    """Return the triangular factors of the equations of every joint, computed block by block.

    Args:
        regression: Equations for K samples of n torques in p parameters.
        weights: Weight of each squared residual, shape (K, n); None: all 1.
    """
    n, p = len(regression.joints), len(regression.names)
    factors: list[Array] = [np.zeros((0, p + 1)) for _ in range(n)]
    for rows, Y in regression.blocks():
        for j in range(n):
            stacked = np.column_stack([Y[:, j], regression.tau[rows, j]])
            if weights is not None:
                stacked *= np.sqrt(weights[rows, j, None])
            factors[j] = _factor(np.vstack([factors[j], stacked]) if len(factors[j]) else stacked)
        del Y
    return Compressed(
        tuple(F[:-1, :-1] for F in factors),
        tuple(F[:-1, -1] for F in factors),
        np.array([F[-1, -1] ** 2 for F in factors]),
        regression.counts,
    )


def _factor(rows: Array) -> Array:
    """Triangular factor of `[Y tau]` from rows (k, p + 1); the last row contains the residual of
    tau alone.
    """
    # Distal joints' rows have few columns that aren't zero.
    used = np.append(np.flatnonzero(np.any(rows[:, :-1] != 0.0, axis=0)), rows.shape[1] - 1)
    R = scipy.linalg.qr(rows[:, used], mode="r", overwrite_a=True, check_finite=False)[0]
    R = np.triu(R[: len(used)])
    out = np.zeros((len(used), rows.shape[1]))
    out[: len(R), used] = R
    return out


def solve_compressed(R: Array, r: Array) -> Array:
    """Return the least-squares solution after scaling the columns; the minimum-norm solution if
    they are dependent.

    Args:
        R: Triangular factor, shape (m, p).
        r: Right-hand side, shape (m,).

    Returns:
        Parameters, shape (p,).
    """
    scale = np.linalg.norm(R, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    return scipy.linalg.lstsq(R / scale, r, cond=1e-11, check_finite=False)[0] / scale
