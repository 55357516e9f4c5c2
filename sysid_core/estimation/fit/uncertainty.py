"""What data say of base parameters, measured against what is natural for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sysid_core.robot import Array


@dataclass(frozen=True, eq=False)
class ParameterUncertainty:
    r"""Covariance of b estimates, and how many directions the data really show.

    A direction is shown when its standard deviation is below the natural scale of the parameters
    in it: then the data know more than anyone who has read the data sheet.

    Attributes:
        covariance: Of the estimates, with the residuals' correlation in time, shape (b, b).
        prior: Natural covariance of the parameters, shape (b, b).
        ratios: Variance over natural variance, direction by direction, ascending, shape (b,).
        directions: The directions, columns, in units of the parameters' natural scale, (b, b).
    """

    covariance: Array
    prior: Array
    ratios: Array
    directions: Array
    tolerance: float = 1.0

    @classmethod
    def from_data(cls, H: Array, M: Array, prior: Array) -> ParameterUncertainty:
        r"""Sandwich `H^-1 M H^-1` of the normal matrix H and the score covariance M.

        Args:
            H: Weighted normal matrix, shape (b, b); may be singular.
            M: See `score_covariance`, shape (b, b).
            prior: Natural covariance, shape (b, b).
        """
        sd = np.sqrt(np.diag(prior))
        Hs, Ms = H * np.outer(sd, sd), M * np.outer(sd, sd)
        # Directions that the data don't touch get a variance of 1e12 natural ones, not infinity.
        lam, U = np.linalg.eigh(Hs)
        inverse = (U / np.maximum(lam, 1e-12 * max(float(lam[-1]), 1e-300))) @ U.T
        covariance = inverse @ Ms @ inverse
        untouched = U[:, lam <= 1e-12 * max(float(lam[-1]), 1e-300)]
        covariance += 1e12 * untouched @ untouched.T
        natural = prior / np.outer(sd, sd)
        ratios, V = scipy.linalg.eigh(covariance, natural)
        return cls(covariance * np.outer(sd, sd), prior, np.maximum(ratios, 0.0), natural @ V)

    @property
    def rank(self) -> int:
        """How many directions the data show."""
        return int(np.sum(self.ratios < self.tolerance))

    @property
    def prior_dominated(self) -> NDArray[np.bool_]:
        """Parameters that the data know less well than their natural scale, shape (b,)."""
        return np.asarray(np.diag(self.covariance) >= self.tolerance * np.diag(self.prior))

    def sentences(self, names: Sequence[str], limit: int = 8) -> tuple[str, ...]:
        """The directions that the data hardly show, worst first, with the parameters in them."""
        out = []
        order = np.argsort(self.ratios)[::-1]
        unseen = [i for i in order if self.ratios[i] >= self.tolerance]
        for i in unseen[:limit]:
            u = self.directions[:, i]
            top = np.argsort(np.abs(u))[::-1][:4]
            parts = [names[k] for k in top if abs(u[k]) > 0.3 * abs(u[top[0]])]
            out.append(
                f"Hardly seen by these data: {' with '.join(parts)} (standard deviation"
                f" {_times(float(np.sqrt(self.ratios[i])))} what is natural)."
            )
        if len(unseen) > limit:
            out.append(f"{len(unseen) - limit} further directions are hardly seen.")
        return tuple(out)


def _times(ratio: float) -> str:
    if ratio > 1e3:
        return "more than 1000 times"
    return f"{ratio:.0f} times" if ratio >= 10.0 else f"{ratio:.2g} times"
