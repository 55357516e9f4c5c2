# SPDX-License-Identifier: Apache-2.0
"""Bases of motions: Fourier series and B-splines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import ExcitationError
from sysid_core.robot import Array

DEGREE = 5  # jerk is smooth
SHARE = 0.97  # of the joints' limits that samples may use; what exceeds between them is watched


def share_between_samples(degree: int, n_samples: int) -> float:
    """Return the fraction of a limit that samples may use, so that the series respects the limit
    between them.

    A trigonometric polynomial of degree N that stays below m on K > 2 N evenly spaced samples of
    its period stays below `m / cos(pi N / K)` everywhere (Ehlich and Zeller 1964).
    """
    return float(np.cos(np.pi * degree / n_samples)) if n_samples > 2 * degree else 0.0


@dataclass(frozen=True, eq=False)
class MotionBasis(ABC):
    """Basis of displacements that are linear in free coefficients and at rest at both ends.

    Attributes:
        period: Duration of the motion, which is then repeated [s].
        size: Number of harmonics or knot intervals; `size_name` states which.
    """

    period: float
    size: int

    size_name: ClassVar[str]  # in files
    label: ClassVar[str]  # of the segment in a trajectory
    orthogonal: ClassVar[bool] = False  # whether velocities of different coefficients are
    samples_per_unit: ClassVar[int]  # of the coarse grid on which limits are kept, per `size`
    fine_per_unit: ClassVar[int]  # for the final check

    @property
    @abstractmethod
    def n_free(self) -> int:
        """Number of free coefficients per joint."""

    @property
    @abstractmethod
    def share(self) -> float:
        """Fraction of the joint limits that samples of the coarse grid may use."""

    @abstractmethod
    def matrices(self, time: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Return the matrices of displacement, velocity, acceleration and jerk per free
        coefficient.

        Args:
            time: Times, shape (K,) [s].

        Returns:
            Four matrices of shape (K, n_free).
        """

    @property
    def n_samples(self) -> int:
        """Number of samples of the coarse grid, on which the limits are imposed."""
        return self.samples_per_unit * self.size

    @property
    def n_fine(self) -> int:
        """Number of samples of the final check."""
        return self.fine_per_unit * self.size

    def motion(
        self, time: ArrayLike, centre: ArrayLike, coefficients: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Return the joint motion for given centre and coefficients.

        Args:
            time: Times, shape (K,) [s].
            centre: Start and end posture of the motion, shape (n,) [rad or m].
            coefficients: Free coefficients, shape (n_free, n), in the unit that `matrices`
                requires.

        Returns:
            q, v and a, each of shape (K, n).
        """
        Q, V, A, _ = self.matrices(time)
        coefficients = np.asarray(coefficients, dtype=float)
        return np.asarray(centre) + Q @ coefficients, V @ coefficients, A @ coefficients

    def as_dict(self, centre: Array, coefficients: Array) -> dict[str, object]:
        """Return the motion of this basis as plain numbers, stored with its samples."""
        return {
            "kind": self.label,
            "period": self.period,
            self.size_name: self.size,
            "centre": centre.tolist(),
            "coefficients": coefficients.tolist(),
        }

    def sampled(self, centre: Array, coefficients: Array) -> tuple[Array, Array, Array]:
        """Return the finely sampled q, v and a of one period, (K, n) each."""
        time = np.arange(self.n_fine) * self.period / self.n_fine
        return self.motion(time, centre, coefficients)


@dataclass(frozen=True, eq=False)
class FourierBasis(MotionBasis):
    r"""Finite Fourier series with zero displacement, velocity and acceleration at both ends.

    `q(t) = q_0 + sum_l a_l/(omega l) sin(omega l t) - b_l/(omega l) cos(omega l t)`
    (Swevers et al. 1997, eq. 14), with the coefficients restricted to
    `sum a_l = 0` (velocity), `sum b_l/l = 0` (displacement) and `sum l b_l = 0` (acceleration),
    so that `2 N - 3` free coefficients per joint remain.

    Attributes:
        period: Period 2 pi / omega of the series [s].
        size: Number of harmonics N, at least 3.
    """

    size_name = "n_harmonics"
    label = "fourier"
    orthogonal = True
    samples_per_unit = 12
    fine_per_unit = 40

    def __post_init__(self) -> None:
        if self.size < 3:
            raise ExcitationError(
                f"A series that starts at rest needs 3 or more harmonics, not {self.size}.",
                remedy="Give 3 harmonics or more.",
            )
        if not self.period > 0:
            raise ExcitationError(
                f"The period must be positive, got {self.period} s.",
                remedy="Give a duration in seconds, such as 10.",
            )

    @property
    def n_free(self) -> int:
        """Number of free coefficients per joint."""
        return 2 * self.size - 3

    @property
    def share(self) -> float:
        """Fraction of the joint limits that samples of the coarse grid may use."""
        return share_between_samples(self.size, self.n_samples)

    def __str__(self) -> str:
        return f"Fourier series, {self.size} harmonics, period {self.period:g} s"

    def matrices(self, time: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Return the matrices of displacement, velocity, acceleration and jerk per free
        coefficient.

        Args:
            time: Times, shape (K,) [s].

        Returns:
            Four matrices of shape (K, n_free), in s, 1, 1/s and 1/s^2: coefficients are speeds.
        """
        harmonics = np.arange(1, self.size + 1)
        omega = 2.0 * np.pi * harmonics / self.period  # (N,)
        angle = np.outer(np.asarray(time, dtype=float), omega)
        sine, cosine = np.sin(angle), np.cos(angle)
        A = scipy.linalg.null_space(np.ones((1, self.size)))
        B = scipy.linalg.null_space(np.vstack([1.0 / harmonics, harmonics]))
        return (
            np.hstack([(sine / omega) @ A, -(cosine / omega) @ B]),
            np.hstack([cosine @ A, sine @ B]),
            np.hstack([-(sine * omega) @ A, (cosine * omega) @ B]),
            np.hstack([-(cosine * omega**2) @ A, -(sine * omega**2) @ B]),
        )


@dataclass(frozen=True, eq=False)
class BSplineBasis(MotionBasis):
    """Uniform B-splines with zero displacement, velocity and acceleration at both ends.

    The first and the last three of the `n_spans + 5` splines on a clamped knot vector (de Boor
    1978, ch. IX) are left out: these alone have displacement, velocity or acceleration at an end.
    With a free end, the sum of the last three splines is one more basis function, with which the
    motion can come to rest at another position.

    Attributes:
        period: Duration of the motion [s].
        size: Number of knot intervals, at least 3.
        free_end: True if the motion may end in another posture than it starts in.
    """

    free_end: bool = False

    size_name = "n_spans"
    label = "bspline"
    samples_per_unit = 5
    fine_per_unit = 20

    def __post_init__(self) -> None:
        if self.size < 3 or not self.period > 0:
            raise ExcitationError(
                f"A B-spline of {self.size} spans in {self.period} s can't start at rest.",
                remedy="Give the B-spline 3 spans (polynomial pieces) or more, and a positive duration, such as 10 s.",
            )

    @property
    def n_free(self) -> int:
        """Number of free coefficients per joint."""
        return self.size - 1 + self.free_end

    @property
    def share(self) -> float:
        """Fraction of the joint limits that samples of the coarse grid may use."""
        return SHARE

    def __str__(self) -> str:
        return f"B-spline of degree {DEGREE}, {self.size} spans, {self.period:g} s"

    def matrices(self, time: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Return the matrices of displacement, velocity, acceleration and jerk per free
        coefficient.

        Args:
            time: Times, shape (K,) [s]; the motion repeats after the period.

        Returns:
            Four matrices of shape (K, n_free), in 1, 1/s, 1/s^2 and 1/s^3: coefficients are
            displacements.
        """
        ends = np.linspace(0.0, self.period, self.size + 1)
        knots = np.concatenate([np.zeros(DEGREE), ends, np.full(DEGREE, self.period)])
        free = np.eye(self.size + DEGREE)[:, 3:-3]
        if self.free_end:
            free = np.column_stack([free, np.arange(len(free)) >= len(free) - 3])
        curve = scipy.interpolate.BSpline(knots, free, DEGREE)
        t = np.asarray(time, dtype=float)
        t = np.where(t > self.period, np.mod(t, self.period), t)
        Q, V, A, B = (np.asarray(curve(t, nu=k)) for k in range(4))
        return Q, V, A, B
