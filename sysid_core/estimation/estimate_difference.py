# SPDX-License-Identifier: Apache-2.0
"""Significance of the differences between two estimates of the same parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate
from sysid_core.robot import Array

_SURE = 0.01  # chance that any parameter of a list is called different though none is


@dataclass(frozen=True, eq=False)
class EstimateDifference:
    r"""Difference of two estimates with independent errors, second minus first, by parameter.

    The test of a single parameter is z = (b - a) / sqrt(var a + var b); that of all together is d^T
    (C_a + C_b)^-1 d, which is chi-squared distributed if nothing has changed.

    Attributes:
        names: Names of the m parameters with the same meaning in both estimates.
        change: Second minus first value, b - a, shape (m,).
        sd: Standard deviation of the change, shape (m,).
        other_meaning: Names that occur in both estimates, but stand for a different combination of
            parameters in each.
        chi2: Squared Mahalanobis norm of all changes together [-].
        dof: Degrees of freedom of `chi2`.
    """

    names: tuple[str, ...]
    change: Array
    sd: Array
    other_meaning: tuple[str, ...]
    chi2: float
    dof: int

    @property
    def z(self) -> Array:
        """Difference of each parameter divided by its standard deviation, shape (m,); NaN if that
        is unknown.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.change / np.where(self.sd > 0, self.sd, np.nan))

    @property
    def limit(self) -> float:
        """Limit of |z| for a significant difference. If no parameter has changed, at least one |z|
        exceeds the limit in 1 % of the comparisons (Bonferroni).
        """
        from scipy.stats import norm

        known = max(1, int(np.isfinite(self.z).sum()))
        return float(norm.isf(0.5 * _SURE / known))

    @property
    def differing(self) -> tuple[str, ...]:
        """Names of the parameters whose |z| exceeds `limit`, the largest first."""
        size = np.nan_to_num(np.abs(self.z))
        order = np.argsort(-size, kind="stable")
        return tuple(self.names[k] for k in order if size[k] > self.limit)

    @classmethod
    def of(cls, a: Estimate, b: Estimate) -> EstimateDifference:
        """Return the differences between two estimates of one robot.

        Estimates without prior (`Estimate.measured`) are compared where they exist.

        Args:
            a: First estimate, the reference.
            b: Second estimate.

        Raises:
            EstimationError: The estimates have no parameter in common.
        """
        a, b = a.measured_part, b.measured_part
        both = [name for name in a.names if name in b.names]
        other = tuple(name for name in both if not _same_meaning(a, b, name))
        names = tuple(name for name in both if name not in other)
        if not names:
            raise EstimationError(
                f"'{a.source}' and '{b.source}' have no parameter in common.",
                remedy="Compare results of the same robot and the same friction terms.",
            )
        rows_a, rows_b = ([e.names.index(name) for name in names] for e in (a, b))
        change = b.values[rows_b] - a.values[rows_a]
        covariance = a.covariance[np.ix_(rows_a, rows_a)] + b.covariance[np.ix_(rows_b, rows_b)]
        sd = np.hypot(a.standard_deviations[rows_a], b.standard_deviations[rows_b])
        known = np.flatnonzero(np.isfinite(sd) & (sd > 0))
        scaled = change[known] / sd[known]
        correlation = covariance[np.ix_(known, known)] / np.outer(sd[known], sd[known])
        inverse = np.linalg.pinv(correlation, rcond=1e-9, hermitian=True)
        rank = int(
            np.linalg.matrix_rank(correlation, tol=1e-9 * max(1, len(known)), hermitian=True)
        )
        return cls(names, change, sd, other, float(scaled @ inverse @ scaled), rank)


def _same_meaning(a: Estimate, b: Estimate, name: str) -> bool:
    first, second = (e.combinations.get(name) or {name: 1.0} for e in (a, b))
    terms = {*first, *second}
    return all(abs(first.get(t, 0.0) - second.get(t, 0.0)) < 1e-6 for t in terms)
