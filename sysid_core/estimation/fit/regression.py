# SPDX-License-Identifier: Apache-2.0
"""Linear measurement equations of a whole robot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.identifiability import BaseParameters, sampled_base_parameters
from sysid_core.robot import Array

BLOCK = 8192  # samples of a regressor that are held at once


class RegressorBlocks(Protocol):
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
        """Torques `Y @ parameters`, shape (K, n)."""
        ...


@dataclass(frozen=True, eq=False)
class Regression:
    r"""Linear equations `tau_k = Y_k @ pi + noise` for K samples of n torques, of open or closed
    chains.

    The first `10 * len(bodies)` parameters are the bodies' inertial ones; the rest belong to
    friction and drives.

    Attributes:
        Y: Regressor, shape (K, n, p); or blocks of its rows.
        tau: Measured torques, shape (K, n).
        names: Names of the p parameters.
        units: Units of the p parameters.
        joints: Names of the n measured joints.
        bodies: Names of the bodies.
        prior: What is known of the parameters beforehand (the URDF's values; 0 for friction),
            shape (p,).
        prior_sd: Natural scale of the parameters' distance from it (see `inertial_scale` and
            `friction_scale`), shape (p,).
        non_negative: Which parameters physics forbids to be negative, shape (p,).
        structure: Rows that span what ideal motion shows, shape (s, p): a regressor at random
            states, or its triangular factor.
        starts: First sample of every gapless span; noise is correlated only within one.
        massless: Bodies without mass (rods of a closed chain): fixed to zero.
        used: Equations that count, shape (K, n); None: all. Those left out are zero in Y and tau.
        time: Time of every sample since the beginning of the first recording, the recordings one
            after the other, shape (K,) [s]; None: unknown.
        motion_time: The same, but samples whose motion has occurred before have the time at which
            it first did (see `first_times`), shape (K,) [s]; None: motion that doesn't come back.
        recordings: First sample of every recording; empty: unknown.
    """

    Y: Array | RegressorBlocks
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
        """Block number of each sample, (K,), for cross-validation: blocks of equal size, and no
        motion in two blocks.
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
        """Base parameters of the free columns, computed from the structure and not from the data."""
        names = tuple(name for name, f in zip(self.names, free, strict=True) if f)
        return sampled_base_parameters(self.structure[:, free], names)

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters of all columns."""
        return self.base_of(np.ones(len(self.names), dtype=bool))

    def free_columns(self, fixed: Sequence[str]) -> NDArray[np.bool_]:
        """Indices of the columns that are estimated; the other parameters keep their prior values.

        Args:
            fixed: Parameter names, symbols (`I_a`), joints or links, or the groups `inertials`
                and `friction`.

        Raises:
            EstimationError: A name fits nothing, or nothing is left.
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
        """Mask of the columns that belong to a parameter, symbol (`I_a`), joint, link or group,
        shape (p,).

        Raises:
            EstimationError: The name fits nothing.
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
        """Predicted torques `Y @ pi`, shape (K, n)."""
        pi, out = np.asarray(pi, dtype=float), np.empty_like(self.tau)
        if not isinstance(self.Y, np.ndarray):
            return self.Y.predict(pi)
        for rows, Y in self.blocks():
            out[rows] = Y @ pi
        return out

    def residual_rms(self, residual: Array) -> dict[str, float]:
        """RMS of the residuals of every joint that has equations in use [N m]; from (K, n)."""
        squares = np.sum(residual**2, axis=0)
        return {
            joint: float(np.sqrt(total / count))
            for joint, total, count in zip(self.joints, squares, self.counts, strict=True)
            if count
        }
