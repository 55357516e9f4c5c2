# SPDX-License-Identifier: Apache-2.0
"""Expected standard deviations of parameters after a planned motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.planning.design.unknowns import Unknowns
from sysid_core.robot import Array

GOOD, ROUGH = 0.1, 0.5  # of the natural size: known well, known roughly


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected standard deviations of the base parameters after a motion.

    Attributes:
        names: Base parameters, inertial ones first, b of them.
        n_rigid: How many are inertial.
        deviation: After the motion and what was known before, shape (b,).
        prior: Before the motion, shape (b,).
        size: Natural size, shape (b,).
        data: From the motion alone, shape (b,); infinite where it shows nothing.
        duration: Duration of the motion [s].
    """

    names: tuple[str, ...]
    n_rigid: int
    deviation: Array
    prior: Array
    size: Array
    data: Array
    duration: float

    @classmethod
    def of(cls, unknowns: Unknowns, information: Array, duration: float) -> Expectation:
        """Expected standard deviations from the information matrix (b, b) of a motion."""
        size = unknowns.size
        scaled = information * np.outer(size, size)
        prior = unknowns.prior_information * np.outer(size, size)
        after = np.sqrt(np.diag(np.linalg.inv(scaled + prior)))
        before = np.sqrt(np.diag(np.linalg.inv(prior)))
        values, U = np.linalg.eigh(scaled)
        seen = values > 1e-13 * values[-1]
        alone = np.sqrt(np.sum((U[:, seen] ** 2) / values[seen], axis=1))
        hidden = np.any(np.abs(U[:, ~seen]) > 1e-6, axis=1)
        return cls(
            unknowns.names,
            unknowns.n_rigid,
            after * size,
            before * size,
            size,
            np.where(hidden, np.inf, alone) * size,
            duration,
        )

    @property
    def relative(self) -> Array:
        """Expected standard deviations divided by the natural scales, shape (b,)."""
        return self.deviation / self.size

    @property
    def mean_deviation(self) -> float:
        """Geometric mean of the relative standard deviations of the inertial base parameters."""
        return float(np.exp(np.mean(np.log(self.relative[: self.n_rigid]))))

    @property
    def mean_friction_deviation(self) -> float:
        """Geometric mean of the relative standard deviations of friction and drive parameters; NaN
        if none is estimated.
        """
        own = self.relative[self.n_rigid :]
        return float(np.exp(np.mean(np.log(own)))) if len(own) else float("nan")

    def __str__(self) -> str:
        r = self.relative
        good, rough = int(np.sum(r <= GOOD)), int(np.sum((r > GOOD) & (r <= ROUGH)))
        unknown = [n for n, x in zip(self.names, r, strict=True) if x > ROUGH]
        text = f"{good} of {len(r)} base parameters will be known better than 10 %, {rough} roughly"
        if unknown:
            more = f" and {len(unknown) - 6} more" if len(unknown) > 6 else ""
            text += f"; not: {', '.join(unknown[:6])}{more}"
        return text

    def rows(self) -> list[tuple[str, float, float, str]]:
        """Table rows: name, standard deviation before and after the motion [SI], and a verdict in
        words.
        """
        words = ["well" if x <= GOOD else "roughly" if x <= ROUGH else "not" for x in self.relative]
        return [
            (name, float(before), float(after), word)
            for name, before, after, word in zip(
                self.names, self.prior, self.deviation, words, strict=True
            )
        ]
