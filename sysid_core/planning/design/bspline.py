# SPDX-License-Identifier: Apache-2.0
"""Motions of quintic B-splines from rest to rest, whose coefficients act locally (unlike Fourier
series).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError
from sysid_core.planning.fourier import MotionBasis
from sysid_core.robot import Array

DEGREE = 5  # jerk is smooth
SHARE = 0.97  # of the joints' limits that samples may use; what exceeds between them is watched


@dataclass(frozen=True, eq=False)
class BSplineBasis(MotionBasis):
    """Uniform B-splines with zero displacement, velocity and acceleration at both ends.

    The first and the last three of the `n_spans + 5` splines on a clamped knot vector (de Boor
    1978, ch. IX) are left out: these alone have displacement, velocity or acceleration at an end.
    With a free end the sum of the last three is one more: the motion comes to rest elsewhere.

    Attributes:
        period: Duration [s].
        n_spans: Knot intervals, at least 3.
        free_end: Whether the motion may end elsewhere than it starts.
    """

    n_spans: int = 20
    free_end: bool = False

    size_name = "n_spans"
    label = "bspline"
    samples_per_unit = 5
    fine_per_unit = 20

    def __post_init__(self) -> None:
        if self.n_spans < 3 or not self.period > 0:
            raise ExcitationError(
                f"A B-spline of {self.n_spans} spans in {self.period} s can't start at rest.",
                remedy="Give 3 spans or more, and seconds such as 10.",
            )

    @property
    def n_free(self) -> int:
        """Number of free coefficients per joint."""
        return self.n_spans - 1 + self.free_end

    @property
    def size(self) -> int:
        """Number of knot intervals."""
        return self.n_spans

    @property
    def share(self) -> float:
        """Fraction of the joint limits that samples of the coarse grid may use."""
        return SHARE

    def __str__(self) -> str:
        return f"B-spline of degree {DEGREE}, {self.n_spans} spans, {self.period:g} s"

    def matrices(self, time: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Matrices of displacement, velocity, acceleration and jerk per free coefficient.

        Args:
            time: Shape (K,) [s]; repeated after the period.

        Returns:
            Four matrices of shape (K, n_free), in 1, 1/s, 1/s^2 and 1/s^3: coefficients are
            displacements.
        """
        ends = np.linspace(0.0, self.period, self.n_spans + 1)
        knots = np.concatenate([np.zeros(DEGREE), ends, np.full(DEGREE, self.period)])
        free = np.eye(self.n_spans + DEGREE)[:, 3:-3]
        if self.free_end:
            free = np.column_stack([free, np.arange(len(free)) >= len(free) - 3])
        curve = scipy.interpolate.BSpline(knots, free, DEGREE)
        t = np.asarray(time, dtype=float)
        t = np.where(t > self.period, np.mod(t, self.period), t)
        Q, V, A, B = (np.asarray(curve(t, nu=k)) for k in range(4))
        return Q, V, A, B
