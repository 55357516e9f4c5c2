# SPDX-License-Identifier: Apache-2.0
r"""Joint motion as smoothing splines, whose noise levels are estimated from the data.

The posterior mean of a joint driven by white jerk and seen through encoder noise is a quintic
spline (Wahba 1978). Here, the distance between knots is somewhat larger than that between samples.
All matrices are then banded, the motion can be evaluated at any later stamp, and further
measurements, such as wrenches, can be added to the same normal equations (`motion_belief`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import EstimationError
from sysid_core.robot import Array

DEGREE = 5
_WIDTH = DEGREE + 1
_RATIOS = np.geomspace(1e-22, 1e2, 61)  # encoder variance / jerk density [s^5]
_NOISE_FLOOR = 1e-9  # [rad]; exact encoders have none, but equations need some
_DENSITY_FLOOR = 1e-9  # [rad^2/s^5]


@dataclass(frozen=True, eq=False)
class SplineBasis:
    """Quintic B-splines on equally spaced knots.

    Attributes:
        start: Time of the first knot [s].
        spacing: Distance between knots [s].
        spans: Number of intervals between knots; there are five more basis functions than
            intervals.
    """

    start: float
    spacing: float
    spans: int

    @classmethod
    def covering(cls, time: Array, spacing: float) -> SplineBasis:
        """Return the spline basis from the first to the last stamp, with knots about `spacing`
        apart.
        """
        length = float(time[-1] - time[0])
        spans = max(1, int(np.ceil(length / spacing)))
        return cls(float(time[0]), max(length, 1e-6) / spans, spans)

    @property
    def size(self) -> int:
        """Number of basis functions."""
        return self.spans + DEGREE

    @cached_property
    def knots(self) -> Array:
        """Knots: ends of the intervals and five more on either side, shape (spans + 11,) [s]."""
        return self.start + self.spacing * np.arange(-DEGREE, self.spans + _WIDTH)

    def span_of(self, time: Array) -> NDArray[np.intp]:
        """Return the index of the interval of each stamp, shape (N,)."""
        inner = self.knots[_WIDTH:-_WIDTH]
        return np.searchsorted(inner, time, side="right")

    def values(self, time: ArrayLike, derivative: int) -> Array:
        """Return the values of the six non-zero basis functions at each stamp, shape (N, 6).

        The derivatives follow from `B_{i,k}' = (B_{i,k-1} - B_{i+1,k-1}) / h` for equally spaced
        knots (de Boor 1978, ch. X).
        """
        lower, t = DEGREE - derivative, self.knots
        inside = t[derivative : len(t) - derivative]
        matrix = scipy.interpolate.BSpline.design_matrix(
            np.asarray(time, dtype=float), inside, lower, True
        )
        out = matrix.data.reshape(-1, lower + 1)
        for _ in range(derivative):
            out = -np.diff(np.pad(out, ((0, 0), (1, 1))), axis=1)
        return out / self.spacing**derivative

    @cached_property
    def jerk_rows(self) -> tuple[NDArray[np.intp], Array]:
        """Interval indices (N,) and rows (N, 6) whose squares sum to the integral of the squared
        jerk.
        """
        nodes, weights = np.polynomial.legendre.leggauss(3)  # exact for quartic integrands
        u = 0.5 * (nodes + 1.0)
        span = np.repeat(np.arange(self.spans), 3)
        time = self.start + self.spacing * (span + np.tile(u, self.spans))
        scale = np.sqrt(np.tile(weights, self.spans) * 0.5 * self.spacing)
        return span, self.values(time, 3) * scale[:, None]


def banded_gram(span: NDArray[np.intp], rows: Array, size: int) -> Array:
    """Return the matrix `rows^T rows` in lower banded form, shape (6, size); each row has six
    entries.
    """
    blocks = np.zeros((size - DEGREE, _WIDTH, _WIDTH))
    np.add.at(blocks, span, rows[:, :, None] * rows[:, None, :])
    band = np.zeros((_WIDTH, size))
    for i in range(_WIDTH):
        for j in range(i + 1):
            band[i - j, j : j + len(blocks)] += blocks[:, i, j]
    return band


@dataclass(frozen=True, eq=False)
class JointSplines:
    """Smoothed motion of n joints.

    Attributes:
        basis: Spline basis, common to all joints.
        coefficients: Spline coefficients, shape (basis.size, n) [rad].
        time: Stamps of the encoder readings, shape (K,) [s].
        q: Encoder readings, shape (K, n) [rad].
        encoder_sd: Noise standard deviation of each encoder, shape (n,) [rad].
        jerk_density: Spectral density of the jerk of each joint, shape (n,) [rad^2/s^5].
    """

    basis: SplineBasis
    coefficients: Array
    time: Array
    q: Array
    encoder_sd: Array
    jerk_density: Array

    @classmethod
    def fit(
        cls,
        time: ArrayLike,
        q: ArrayLike,
    ) -> JointSplines:
        """Fit smoothing splines to encoder readings; the noise level of each joint is estimated by
        maximum likelihood.

        Args:
            time: Stamps of the readings, shape (K,), increasing [s].
            q: Encoder readings, shape (K, n) [rad].

        Raises:
            EstimationError: There are fewer than eight samples, or unusable values.
        """
        time, q = np.asarray(time, dtype=float), np.asarray(q, dtype=float)
        if len(time) < 8 or q.shape[:1] != time.shape or not np.all(np.isfinite(q)):
            raise EstimationError(
                f"Joint positions of shape {q.shape} at {len(time)} stamps can't be smoothed.",
                remedy="Give at least eight finite samples.",
            )
        if np.any(np.diff(time) <= 0):
            raise EstimationError("Joint stamps must increase.", remedy="Sort them.")
        basis = SplineBasis.covering(time, max(3.0 * float(np.median(np.diff(time))), 0.03))
        gram = banded_gram(basis.span_of(time), basis.values(time, 0), basis.size)
        jerk = banded_gram(*basis.jerk_rows, basis.size)
        left = q - q[0]
        moments = np.zeros((basis.size, q.shape[1]))
        index = basis.span_of(time)[:, None] + np.arange(_WIDTH)
        np.add.at(moments, index, basis.values(time, 0)[:, :, None] * left[:, None, :])
        sd, density, c = _most_likely(gram, jerk, moments, np.sum(left**2, axis=0), len(time))
        return cls(basis, c + q[0], time, q, sd, density)

    def at(self, time: ArrayLike) -> tuple[Array, Array, Array]:
        """Return the positions, velocities and accelerations at given stamps, each of shape (N, n)."""
        time = np.asarray(time, dtype=float)
        index = self.basis.span_of(time)[:, None] + np.arange(_WIDTH)
        local = self.coefficients[index]  # (N, 6, n)
        q, v, a = (np.einsum("ki,kij->kj", self.basis.values(time, d), local) for d in range(3))
        return q, v, a


def _most_likely(
    gram: Array, jerk: Array, moments: Array, squares: Array, count: int
) -> tuple[Array, Array, Array]:
    """Encoder sd (n,), jerk density (n,) and coefficients (size, n) of all joints, each by
    restricted maximum likelihood.

    With ratio r = sd^2 / density the coefficients minimise `|q - B c|^2 + r int jerk^2`; the most
    likely sd for each r has a closed form.
    """
    size = gram.shape[1]
    best = np.full(len(squares), np.inf)
    variances, densities = np.ones((2, len(squares)))
    found = np.zeros_like(moments)
    for ratio in _RATIOS:
        H = gram + ratio * jerk
        H[0] += 1e-14 * gram[0].max()
        factor = scipy.linalg.cholesky_banded(H, lower=True)
        c = scipy.linalg.cho_solve_banded((factor, True), moments)
        quad = np.maximum(squares - np.sum(moments * c, axis=0), count * _NOISE_FLOOR**2)
        variance = quad / (count - 3)
        logdet = 2.0 * float(np.sum(np.log(factor[0]))) - (size - 3) * np.log(ratio)
        cost = (count - 3) * np.log(variance) + quad / variance + logdet
        better = cost < best
        best = np.where(better, cost, best)
        variances = np.where(better, variance, variances)
        densities = np.where(better, variance / ratio, densities)
        found = np.where(better, c, found)
    if not np.isfinite(best).all():
        raise EstimationError(
            "No noise level fits the joint positions.",
            remedy="Check the joint positions for jumps and NaN.",
        )
    return (
        np.maximum(np.sqrt(variances), _NOISE_FLOOR),
        np.maximum(densities, _DENSITY_FLOOR),
        found,
    )
