# SPDX-License-Identifier: Apache-2.0
"""Whether a data set excites all that a robot can show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import IdentifiabilityError
from sysid_core.identifiability.base_parameters import BaseParameters
from sysid_core.identifiability.rpna import Identifiability, combination_text, reduced_nullspace
from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class ExcitationCertificate:
    """The numerical rank of a data set's base regressor against the structural rank.

    Attributes:
        structural_rank: Exact, from the robot's structure.
        numerical_rank: Numerical rank of the base regressor with columns of unit length.
        tolerance: Tolerance of the numerical rank, relative to the largest singular value.
        gap: Ratio of the smallest singular value that counts to the largest that doesn't.
        condition_number: Condition number of the base regressor in SI units; infinite when rank is missing.
        scaled_condition_number: Condition number of the base regressor with columns of unit length.
        missing: Combinations of base parameters that the data don't show, coefficients by name.
    """

    structural_rank: int
    numerical_rank: int
    tolerance: float
    gap: float
    condition_number: float
    scaled_condition_number: float
    missing: tuple[dict[str, float], ...]

    @property
    def is_maximally_exciting(self) -> bool:
        """Whether the data show everything that perfect data could."""
        return self.numerical_rank == self.structural_rank

    def __str__(self) -> str:
        if self.is_maximally_exciting:
            return (
                f"maximally exciting: rank {self.numerical_rank} of {self.structural_rank},"
                f" condition number {self.condition_number:.3g}"
                f" ({self.scaled_condition_number:.3g} scaled)"
            )
        missing = "; ".join(combination_text(direction) for direction in self.missing)
        return (
            f"rank {self.numerical_rank} of {self.structural_rank}:"
            f" the data don't show {missing} (gap {self.gap:.1e})"
        )


def certify_excitation(
    structure: Identifiability | BaseParameters, Y: ArrayLike, tolerance: float = 1e-9
) -> ExcitationCertificate:
    """Compare a data set with the structural answer.

    Args:
        structure: The answer for the robot (its `practical` one counts: rounding in the URDF is
            nothing that data could show), or its exact base parameters.
        Y: Regressor of all parameters of the data, shape (rows, p) or (K, n, p); with rotors,
            their columns last.
        tolerance: Tolerance of the numerical rank, relative to the largest singular value.

    Returns:
        The certificate; it can say whether the data are maximally exciting.

    Raises:
        IdentifiabilityError: Y has another number of columns, is empty or not finite.
    """
    base = structure.practical.base if isinstance(structure, Identifiability) else structure
    Y = np.asarray(Y, dtype=float)
    p = len(base.names)
    if Y.ndim < 2 or Y.shape[-1] != p or Y.size == 0 or not np.all(np.isfinite(Y)):
        raise IdentifiabilityError(
            f"The regressor has the shape {Y.shape} (finite: {bool(np.all(np.isfinite(Y)))}),"
            f" the robot has {p} parameters.",
            remedy="Give the regressor of all parameters, one finite row per torque sample.",
        )
    Y_b = base.base_regressor(Y.reshape(-1, p))
    R = np.asarray(np.linalg.qr(np.vstack([Y_b, np.zeros((base.rank, base.rank))]), mode="r"))
    scale = np.linalg.norm(R, axis=0)
    shown = scale > tolerance * scale.max(initial=0.0)
    unit = np.where(shown, scale, 1.0)
    _, s, Vt = np.linalg.svd(np.where(shown, R / unit, 0.0))
    rank = int(np.count_nonzero(s > tolerance * s[0])) if s[0] > 0 else 0
    full = rank == base.rank
    raw = np.linalg.svd(R, compute_uv=False)
    dropped = 0.0 if full else float(s[rank])
    return ExcitationCertificate(
        structural_rank=base.rank,
        numerical_rank=rank,
        tolerance=tolerance,
        gap=float(s[rank - 1] / dropped) if rank and dropped > 0 else float("inf"),
        condition_number=float(raw[0] / raw[-1]) if full else float("inf"),
        scaled_condition_number=float(s[0] / s[-1]) if full else float("inf"),
        missing=_named(Vt[rank:].T, unit, base.base_names),
    )


def _named(null: Array, unit: Array, names: tuple[str, ...]) -> tuple[dict[str, float], ...]:
    """Unseen directions, one per parameter that could be held fixed instead."""
    if null.shape[1] == 0:
        return ()
    dependent, E = reduced_nullspace(null, np.arange(len(names)))
    directions = []
    for column, d in sorted(enumerate(dependent), key=lambda pair: int(pair[1])):
        scaled = E[:, column]
        vector = np.where(np.abs(scaled) < 1e-6, 0.0, scaled / unit * unit[d])
        others = [int(i) for i in np.flatnonzero(vector) if i != d]
        directions.append({names[i]: float(vector[i]) for i in (int(d), *others)})
    return tuple(directions)
