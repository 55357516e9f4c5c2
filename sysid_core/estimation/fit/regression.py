"""The linear measurement equations of a whole robot, and their compression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.identifiability import BaseParameters, sampled_base_parameters
from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class Regression:
    r"""`tau_k = Y_k @ pi + noise` for K samples of n torques, open or closed chains alike.

    The first `10 * len(bodies)` parameters are the bodies' inertial ones; the rest belong to
    friction and drives.

    Attributes:
        Y: Regressor, shape (K, n, p).
        tau: Measured torques, shape (K, n).
        names: Of the p parameters.
        units: Of the p parameters.
        rows: Names of the n measured joints.
        bodies: Names of the bodies.
        prior: What is known of the parameters beforehand (the URDF's values; 0 for friction),
            shape (p,).
        prior_sd: How far the truth may well be from it, shape (p,); see `prior_scale`.
        non_negative: Which parameters physics forbids to be negative, shape (p,).
        structure: Rows that span what ideal motion shows, shape (s, p): a regressor at random
            states, or its triangular factor.
        starts: First sample of every gapless span; noise is correlated only within one.
        massless: Bodies without mass (rods of a closed chain): fixed to zero.
    """

    Y: Array
    tau: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[str, ...]
    bodies: tuple[str, ...]
    prior: Array
    prior_sd: Array
    non_negative: NDArray[np.bool_]
    structure: Array
    starts: tuple[int, ...] = (0,)
    massless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        K, n, p = self.Y.shape
        expected = {
            "tau": (self.tau.shape, (K, n)),
            "names": ((len(self.names),), (p,)),
            "units": ((len(self.units),), (p,)),
            "rows": ((len(self.rows),), (n,)),
            "prior": (self.prior.shape, (p,)),
            "prior_sd": (self.prior_sd.shape, (p,)),
            "non_negative": (self.non_negative.shape, (p,)),
            "structure": (self.structure.shape[1:], (p,)),
        }
        for key, (found, wanted) in expected.items():
            if found != wanted:
                raise EstimationError(f"'{key}' has shape {found}, expected {wanted}.")
        if K * n == 0:
            raise EstimationError("There are no samples to fit.", remedy="Give a recording.")
        bad = ~np.isfinite(self.tau).all(axis=0)
        if np.any(bad) or not np.all(np.isfinite(self.Y)):
            names = [self.rows[j] for j in np.flatnonzero(bad)]
            raise EstimationError(
                f"Torques or motion hold NaN or infinite values{f' ({names})' if names else ''}.",
                remedy="Remove these samples.",
            )

    @property
    def n_samples(self) -> int:
        """K."""
        return len(self.tau)

    @property
    def n_inertial(self) -> int:
        """Number of inertial parameters."""
        return 10 * len(self.bodies)

    def base_of(self, free: NDArray[np.bool_]) -> BaseParameters:
        """Base parameters among the free columns, from the structure (not from the data)."""
        names = tuple(name for name, f in zip(self.names, free, strict=True) if f)
        return sampled_base_parameters(self.structure[:, free], names)

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters of all columns."""
        return self.base_of(np.ones(len(self.names), dtype=bool))

    def free_columns(self, fixed: Sequence[str]) -> NDArray[np.bool_]:
        """Columns that are estimated when some parameters keep their prior values.

        Args:
            fixed: Parameter names, symbols (`I_a`), joints or links, or the groups `inertials`
                and `friction`.

        Raises:
            EstimationError: A name fits nothing, or nothing is left.
        """
        inertial = np.arange(len(self.names)) < self.n_inertial
        free = np.ones(len(self.names), dtype=bool)
        for entry in (*fixed, *self.massless):
            if entry in ("inertials", "friction"):
                hit = inertial if entry == "inertials" else ~inertial
            else:
                hit = np.array(
                    [n == entry or entry in n.rsplit(".", 1) for n in self.names], dtype=bool
                )
            if not np.any(hit):
                raise EstimationError(
                    f"'{entry}' can't be fixed: no parameter is called so.",
                    remedy="Give 'inertials', 'friction', a link, a joint, or names such as"
                    f" {self.names[0]} or {self.names[-1]}.",
                )
            free &= ~hit
        if not np.any(free):
            raise EstimationError("Everything is fixed: there is nothing to estimate.")
        return free

    def predict(self, pi: ArrayLike) -> Array:
        """`Y @ pi`, shape (K, n)."""
        return self.Y @ np.asarray(pi, dtype=float)


@dataclass(frozen=True, eq=False)
class Compressed:
    r"""Everything that least squares needs of a recording, however long it was.

    One triangular factor per joint: `||R_j pi - r_j||^2 + rest_j` is joint j's sum of squares.

    Attributes:
        R: Factors, each of shape (m_j, p).
        r: Right-hand sides, each of shape (m_j,).
        rest: What no parameter explains, shape (n,).
        n_samples: K, for variances.
    """

    R: tuple[Array, ...]
    r: tuple[Array, ...]
    rest: Array
    n_samples: int

    def weighted(self, weights: ArrayLike) -> tuple[Array, Array]:
        """One factor for all joints, each weighted: R (m, p) and r (m,) with m <= p.

        Args:
            weights: Of the squared residuals, shape (n,).
        """
        root = np.sqrt(np.asarray(weights, dtype=float))
        stacked = np.vstack(
            [w * np.column_stack(pair) for w, pair in zip(root, self._pairs, strict=True)]
        )
        R = scipy.linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0]
        m = min(R.shape[1] - 1, len(R))
        return np.triu(R[:m, :-1]), R[:m, -1]

    def variances(self, pi: ArrayLike) -> Array:
        """Mean squared residual of every joint, shape (n,)."""
        pi = np.asarray(pi, dtype=float)
        squares = [float(np.sum((R @ pi - r) ** 2)) for R, r in self._pairs]
        return (np.array(squares) + self.rest) / self.n_samples

    @property
    def _pairs(self) -> zip[tuple[Array, Array]]:
        return zip(self.R, self.r, strict=True)


def compress(Y: Array, tau: Array, weights: Array | None = None) -> Compressed:
    """Triangular factors of every joint's equations.

    Args:
        Y: Shape (K, n, p).
        tau: Shape (K, n).
        weights: Of every squared residual, shape (K, n); None: all 1.
    """
    K, n, p = Y.shape
    factors, sides, rest = [], [], np.zeros(n)
    for j in range(n):
        # Distal joints' rows have few columns that aren't zero.
        used = np.flatnonzero(np.any(Y[:, j] != 0.0, axis=0))
        stacked = np.column_stack([Y[:, j][:, used], tau[:, j]])
        if weights is not None:
            stacked *= np.sqrt(weights[:, j, None])
        R = scipy.linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0]
        m = min(len(used), len(R))
        wide = np.zeros((m, p))
        wide[:, used] = np.triu(R[:m, :-1])
        factors.append(wide)
        sides.append(R[:m, -1].copy())
        rest[j] = float(np.sum(R[m : m + 1, -1] ** 2))
    return Compressed(tuple(factors), tuple(sides), rest, K)


def solve_compressed(R: Array, r: Array) -> Array:
    """Least squares after scaling the columns; the shortest solution where they are dependent.

    Args:
        R: Shape (m, p).
        r: Shape (m,).

    Returns:
        Shape (p,).
    """
    scale = np.linalg.norm(R, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    return scipy.linalg.lstsq(R / scale, r, cond=1e-11, check_finite=False)[0] / scale


RANK_TOLERANCE = 1e-3


def excited_rank(R: Array, structure: Array, tolerance: float = RANK_TOLERANCE) -> int:
    r"""Rank of the data: directions shown to more than a share of what vigorous motion would.

    Directions are compared with ideal motion, `R R_S^-1`, not with each other: parameters differ
    by decades in what they do, and sensor noise in a column that nothing excites must not look
    like excitation.

    Args:
        R: Base regressor of the data or its unweighted triangular factor, shape (m, b).
        structure: Base regressor at random states, shape (s, b), full rank.
        tolerance: Relative to the largest singular value.
    """
    R_S = np.linalg.qr(structure, mode="r")
    s = np.linalg.svd(scipy.linalg.solve_triangular(R_S, R.T, trans="T"), compute_uv=False)
    return int(np.sum(s > tolerance * s[0])) if s.size and s[0] > 0.0 else 0


def condition_number(R: Array) -> float:
    """Of a column-scaled matrix of shape (m, p); infinite where a column is zero."""
    scale = np.linalg.norm(R, axis=0)
    if np.any(scale == 0.0):
        return float("inf")
    s = np.linalg.svd(R / scale, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf")
