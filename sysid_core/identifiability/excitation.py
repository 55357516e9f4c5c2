# SPDX-License-Identifier: Apache-2.0
r"""Excitation of the identifiable parameters by given data.

The singular values of the data's base regressor `W` depend on the units of its columns. They are
therefore taken of `W T`:

- With a reference, `T = R_S^{-1}`, where `S = Q R_S` is the regressor at random states, which spans
  everything that torques can determine. The singular values are then the excitation by the data
  relative to that by vigorous motion, direction by direction, for any choice of base parameters and
  units. Some directions are weakly excited by any motion. For a leg, the singular values of S span
  five decades, so that no data reach its rank at a fixed tolerance. - Without a reference, T scales
  the columns to unit length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability.base_parameters import BaseParameters, in_words, listed
from sysid_core.identifiability.rpna import Identifiability, combination_text
from sysid_core.identifiability.rpna.algorithm import reduced_nullspace
from sysid_core.robot import Array

EXCITED = 1e-3  # of what vigorous motion shows, both relative to the best direction
_ROUNDED = 1e-9  # relative singular value of columns of unit length that is rounding
_SAME = 0.3  # of the largest share: a parameter below it isn't named in a direction
_COUNTS, _MOST = 1e-2, 4  # of the largest share: named in a combination; terms of it


@dataclass(frozen=True, eq=False)
class Excitation:
    """Excitation of b base parameters by data, for each direction in parameter space, the strongest
    first.

    Attributes:
        names: Names of the b base parameters.
        ratios: Singular values relative to the largest one, descending, shape (b,).
        shares: Torque that a change along each direction (column) causes through each base
            parameter (row) under the reference motion, shape (b, b).
        alone: Excitation of each base parameter if all others were known, on the scale of `ratios`,
            shape (b,).
        sizes: Norms of the reference columns, by which parameters are scaled, shape (b,).
        factor: Triangular factor of the data's base regressor, SI units, shape (b, b).
        tolerance: Smallest ratio of an excited direction [-].
    """

    names: tuple[str, ...]
    ratios: Array
    shares: Array
    alone: Array
    sizes: Array
    factor: Array
    tolerance: float

    @property
    def rank(self) -> int:
        """Number of excited directions."""
        return int(np.sum(self.ratios > self.tolerance))

    @property
    def structural_rank(self) -> int:
        """Number of directions that ideal data would excite."""
        return len(self.names)

    @property
    def maximally_exciting(self) -> bool:
        """True if the data excite every direction that ideal data would excite."""
        return self.rank == self.structural_rank

    @property
    def gap(self) -> float:
        """Ratio of the smallest nonzero singular value to the largest one counted as zero."""
        rank = self.rank
        if self.maximally_exciting or not rank or self.ratios[rank] == 0.0:
            return float("inf")
        return float(self.ratios[rank - 1] / self.ratios[rank])

    @property
    def condition_number(self) -> float:
        """Ratio of the strongest to the weakest excitation; infinite if a direction is not
        excited.
        """
        shown = self.ratios[-1] > len(self.names) * np.finfo(float).eps
        return float(1.0 / self.ratios[-1]) if shown else float("inf")

    @property
    def missing(self) -> tuple[dict[str, float], ...]:
        """Parameter combinations that the data do not excite, as coefficients by parameter name.

        There is one combination for each parameter that could be held fixed instead.
        """
        null = self.shares[:, self.rank :]
        if null.shape[1] == 0:
            return ()
        dependent, E = reduced_nullspace(null, np.arange(len(self.names)))
        directions = []
        for column, d in sorted(enumerate(dependent), key=lambda pair: int(pair[1])):
            scaled = E[:, column]
            unit = scaled / self.sizes * self.sizes[d]
            vector = np.where(np.abs(scaled) < 1e-6, 0.0, unit)
            others = [int(i) for i in np.flatnonzero(vector) if i != d]
            directions.append({self.names[i]: float(vector[i]) for i in (int(d), *others)})
        return tuple(directions)

    def unexcited(self, limit: int = 6) -> tuple[str, ...]:
        """Return the sentences on parameters without effect on any torque, then on unexcited
        combinations, the weakest first.
        """
        unexcited = self.alone <= self.tolerance
        out = (
            [f"Not excited at all: {listed(np.array(self.names)[unexcited])}."]
            if np.any(unexcited)
            else []
        )
        weak = np.flatnonzero(self.ratios <= self.tolerance)[::-1]
        share = np.abs(self.shares[:, weak])
        mixed = np.max(np.where(unexcited[:, None], 0.0, share), axis=0) > np.max(
            np.where(unexcited[:, None], share, 0.0), axis=0
        )
        for i in weak[mixed][:limit]:
            out.append(self._sentence(int(i), unexcited))
        if np.sum(mixed) > limit:
            out.append(f"{np.sum(mixed) - limit} further combinations are poorly excited.")
        return tuple(out)

    def _sentence(self, direction: int, left_out: NDArray[np.bool_]) -> str:
        size = np.where(left_out, 0.0, np.abs(self.shares[:, direction]))
        top = [k for k in np.argsort(size)[::-1][:3] if size[k] > _SAME * size.max()]
        return (
            f"Poorly excited: {', against '.join(in_words(self.names[k]) for k in top)}"
            f" ({self.ratios[direction]:.1g} of the excitation by vigorous motion)."
        )

    def _shortened(self, direction: dict[str, float]) -> str:
        """Parameter combination without its negligible terms, with at most a few terms."""
        weight = {
            name: abs(direction[name]) * float(self.sizes[self.names.index(name)])
            for name in direction
        }
        least = max(weight.values()) * _COUNTS
        top = [n for n in sorted(weight, key=lambda n: -weight[n]) if weight[n] > least][:_MOST]
        kept = {name: value for name, value in direction.items() if name in top}
        more = sum(w > least for w in weight.values()) - len(kept)
        return combination_text(kept) + (f" and {more} more" if more else "")

    def __str__(self) -> str:
        if self.maximally_exciting:
            return (
                f"maximally exciting: rank {self.rank} of {self.structural_rank},"
                f" condition number {self.condition_number:.3g}"
            )
        missing = "; ".join(self._shortened(direction) for direction in self.missing)
        return (
            f"rank {self.rank} of {self.structural_rank}: the data do not excite"
            f" {missing} (gap {self.gap:.1e})"
        )

    @classmethod
    def measured(
        cls,
        structure: Identifiability | BaseParameters,
        Y: ArrayLike,
        reference: Array | None = None,
        *,
        tolerance: float | None = None,
    ) -> Excitation:
        """Return the excitation of a robot's base parameters by data.

        Args:
            structure: Structural identifiability of the robot (its `practical` result, without
                effects of rounded angles, is used), or its b base parameters among p.
            Y: Regressor of all parameters for the data, or its triangular factor, shape (rows, p)
                or (K, n, p); columns of rotors last.
            reference: Regressor of a vigorous motion, or its triangular factor, shape (s, p); None:
                the columns of Y are scaled to unit length instead.
            tolerance: Smallest ratio of an excited direction; None: `EXCITED` with a reference,
                1e-9 without.

        Raises:
            IdentifiabilityError: Y has a wrong number of columns, is empty or not finite.
        """
        base = structure.practical.base if isinstance(structure, Identifiability) else structure
        if tolerance is None:
            tolerance = _ROUNDED if reference is None else EXCITED
        R = _triangular(base, np.asarray(Y, dtype=float))
        if reference is None:
            lengths = np.linalg.norm(R, axis=0)
            shown = lengths > tolerance * lengths.max(initial=0.0)
            T = np.diag(1.0 / np.where(shown, lengths, 1.0))
            X = np.where(shown, R, 0.0) @ T
            sizes = np.where(shown, lengths, 1.0)
        else:
            R_S = _triangular(base, reference)
            X = scipy.linalg.solve_triangular(R_S, R.T, trans="T").T
            sizes = np.linalg.norm(R_S, axis=0)
        _, s, V_T = np.linalg.svd(X)
        largest = max(float(s[0]), 1e-300)
        if reference is None:
            shares, alone = V_T.T, np.linalg.norm(X, axis=0) / largest
        else:
            shares = scipy.linalg.solve_triangular(R_S, V_T.T) * sizes[:, None]
            alone = np.linalg.norm(R, axis=0) / sizes / largest
        return cls(base.base_names, s / largest, shares, alone, sizes, R, tolerance)

    @staticmethod
    def scaled_condition(R: Array) -> float:
        """Return the condition number of a column-scaled matrix (m, p); infinite if a column is
        zero.
        """
        scale = np.linalg.norm(R, axis=0)
        if np.any(scale == 0.0):
            return float("inf")
        s = np.linalg.svd(R / scale, compute_uv=False)
        return float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf")


def _triangular(base: BaseParameters, Y: Array) -> Array:
    """Triangular factor of a regressor's base columns, shape (b, b)."""
    p = len(base.names)
    if Y.ndim < 2 or Y.shape[-1] != p or Y.size == 0 or not np.all(np.isfinite(Y)):
        raise IdentifiabilityError(
            f"The regressor has the shape {Y.shape} (finite: {bool(np.all(np.isfinite(Y)))}),"
            f" the robot has {p} parameters.",
            remedy="Give the regressor of all parameters, one finite row per torque sample.",
        )
    Y_b = base.base_regressor(Y.reshape(-1, p))
    short = max(0, base.rank - len(Y_b))
    return np.asarray(np.linalg.qr(np.vstack([Y_b, np.zeros((short, base.rank))]), mode="r"))
