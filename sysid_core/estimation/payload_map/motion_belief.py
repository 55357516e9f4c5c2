# SPDX-License-Identifier: Apache-2.0
r"""Motion with uncertainty, for the payload estimator.

The motion x = (a, omega, alpha) of the sensor is never known exactly. With the wrench's sensitivity
`T = d(A(x) pi)/dx`, an estimator marginalises the motion's error: rows `X` (regressor, nuisances,
residual) enter as `X^T Sigma^-1 X` with `Sigma = R + T Lambda T^T`, and afterwards the residual is
used to correct the motion.

The point of linearisation depends on the kind of error. Smoothed joint motion is a mean given the
encoder readings, and the true motion scatters about this mean (Berkson's errors). The regressor is
therefore evaluated at the smoothed motion; if it were corrected by the wrench, it would contain the
noise of the wrench, which would look like excitation. The readings of an accelerometer, in
contrast, scatter about the true motion (classical errors). A regressor evaluated at these readings
would attenuate the inertia, so that this regressor is corrected by the wrench (Gauss-Newton on
motion and payload together). Berkson, Are there two regressions?, J. Am. Stat. Assoc. 45, 1950.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.payload_map.joint_spline import DEGREE, JointSplines, banded_gram
from sysid_core.robot import Array, FrameMotion, RobotModel

Rows = Callable[[slice], tuple[Array, Array]]
_CHUNK = 2000  # samples at a time: what is needed of each is large
_KEPT = 20_000  # samples whose sensitivities are kept between passes (1.5 kB each for seven joints)


def chunks(count: int) -> list[slice]:
    """Return consecutive slices of about `size` samples."""
    return [slice(first, min(first + _CHUNK, count)) for first in range(0, count, _CHUNK)]


class MotionBelief(Protocol):
    """Interface of an uncertain motion at K wrench samples."""

    def motion(self) -> Array:
        """Return the motion (a, omega, alpha) about which the equations are linearised, shape (K,
        9).
        """

    def information(self, rows: Rows, noise_sd: Array) -> Array:
        """Return the normal matrix `X^T Sigma^-1 X`; the last column of X is the residual.

        Args:
            rows: Function of a slice of the samples that returns the sensitivity T of the wrench to
                the motion, (K, 6, 9), and the rows X of the linear model, (K, 6, p).
            noise_sd: Noise standard deviation of each sample, shape (K, 6).

        Returns:
            Normal matrix, shape (p, p).
        """

    def accept(self) -> None:
        """Make the last `information` the starting point of corrections."""

    def correct(self, y: Array) -> None:
        """Correct the motion by the wrenches, with the solution `X[..., :-1] @ y` of the accepted
        `information`; y of shape (p,).
        """

    def corrected(self) -> Array:
        """Return the motion (a, omega, alpha) after the corrections by the wrenches, shape (K, 9)."""


class ExactMotion:
    """Motion known without error.

    Args:
        a: Proper acceleration, shape (K, 3) [m/s^2].
        omega: Angular velocity, shape (K, 3) [rad/s].
        alpha: Angular acceleration, shape (K, 3) [rad/s^2].
    """

    def __init__(self, a: ArrayLike, omega: ArrayLike, alpha: ArrayLike) -> None:
        self._x = np.hstack([np.asarray(u, dtype=float) for u in (a, omega, alpha)])

    def motion(self) -> Array:
        """Return the given motion (a, omega, alpha), shape (K, 9)."""
        return self._x

    def information(self, rows: Rows, noise_sd: Array) -> Array:
        """Return the normal matrix `X^T R^-1 X`."""
        total = None
        for part in chunks(len(noise_sd)):
            X = rows(part)[1]
            W = (X / noise_sd[part, :, None]).reshape(-1, X.shape[2])
            total = W.T @ W if total is None else total + W.T @ W
        return np.asarray(total)

    def accept(self) -> None:
        """Do nothing, because an exact motion is never corrected."""

    def correct(self, y: Array) -> None:
        """Do nothing, because an exact motion is never corrected."""

    def corrected(self) -> Array:
        """Return the given motion (a, omega, alpha), shape (K, 9)."""
        return self._x


class WhiteMotion:
    """Motion with independent errors at every sample, such as those of an accelerometer.

    Args:
        a: Proper acceleration, shape (K, 3) [m/s^2].
        omega: Angular velocity, shape (K, 3) [rad/s].
        alpha: Angular acceleration, shape (K, 3) [rad/s^2].
        sd: Standard deviations of (a, omega, alpha), shape (9,).
    """

    def __init__(self, a: ArrayLike, omega: ArrayLike, alpha: ArrayLike, sd: ArrayLike) -> None:
        self._measured = np.hstack([np.asarray(u, dtype=float) for u in (a, omega, alpha)])
        self._x = self._measured
        self._variance = np.asarray(sd, dtype=float) ** 2
        self._tried: tuple[Array, Array, Array] | None = None
        self._last: tuple[Array, Array, Array] | None = None

    def motion(self) -> Array:
        """Return the measured motion after the corrections by the wrenches, shape (K, 9)."""
        return self._x

    def information(self, rows: Rows, noise_sd: Array) -> Array:
        """Return the normal matrix, summed over the samples, shape (p + 1, p + 1); the residual is
        that at the measured motion, to first order.
        """
        T, X = rows(slice(0, len(noise_sd)))
        X[:, :, -1] += np.einsum("kij,kj->ki", T, self._x - self._measured)
        Sigma = (T * self._variance) @ T.transpose(0, 2, 1) + np.eye(6) * noise_sd[:, :, None] ** 2
        weighted = np.linalg.solve(Sigma, X)
        self._tried = (T, X, weighted)
        return np.einsum("kip,kiq->pq", X, weighted)

    def accept(self) -> None:
        """Make the last `information` the starting point of corrections."""
        self._last = self._tried

    def correct(self, y: Array) -> None:
        """Correct the motion by the residual of the wrench with the parameters y of shape (p,):
        `x = x_measured + Lambda T^T Sigma^-1 residual(y)`.

        Raises:
            EstimationError: `information` was not called before.
        """
        if self._last is None:
            raise EstimationError(
                "The method `correct` was called before `information`.",
                remedy="Call `information` first, because `correct` uses its result.",
            )
        T, _, weighted = self._last
        left = weighted[:, :, -1] - weighted[:, :, :-1] @ y
        self._x = self._measured + self._variance * np.einsum("kij,ki->kj", T, left)

    def corrected(self) -> Array:
        """Return the motion (a, omega, alpha) after the corrections by the wrenches, shape (K, 9)."""
        return self._x


class SplineMotion:
    """Motion of a robot's frame from smoothed joint positions, with correlated errors.

    Args:
        model: Robot model.
        frame: Name of the sensor's frame.
        splines: Splines of all joints, in the model's order.
        time: Stamps of the wrenches, shape (K,) [s].
    """

    def __init__(
        self, model: RobotModel, frame: str, splines: JointSplines, time: ArrayLike
    ) -> None:
        self._model, self._frame, self._splines = model, frame, splines
        self._time = np.asarray(time, dtype=float)
        self._c = self._corrected = splines.coefficients
        basis = splines.basis
        self._span = basis.span_of(self._time)
        self._values = np.stack([basis.values(self._time, d) for d in range(3)], axis=1)
        self._n = model.nv
        self._tried: Array | None = None
        self._solved: Array | None = None
        self._sensitivities: dict[tuple[int, int], Array] = {}  # by first and last sample

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of the columns of `joints`."""
        return self._model.joint_names

    def joints(self) -> tuple[Array, Array, Array]:
        """Return the smoothed positions, velocities and accelerations, shape (K, n) each."""
        return self._joints(self._c)

    def frame_motion(self) -> FrameMotion:
        """Return the motion of the frame from the joint splines and the kinematics."""
        return self._uncorrected

    @cached_property
    def _uncorrected(self) -> FrameMotion:
        return self._model.frame_motion(self._frame, *self._joints(self._c))

    def motion(self) -> Array:
        """Return the motion of the frame from the joint splines, without corrections by the
        wrenches, shape (K, 9).
        """
        return _stack(self._uncorrected)

    def information(self, rows: Rows, noise_sd: Array) -> Array:
        """Return the normal matrix of encoders and wrenches, from which the spline coefficients are
        eliminated, shape (p + 1, p + 1).
        """
        n, width = self._n, (DEGREE + 1) * self._n
        band, gradient = self._encoder_and_jerk()
        rhs: Array = np.zeros((0, 0))
        total: Array = np.zeros((0, 0))
        for part in chunks(len(noise_sd)):
            T, X = rows(part)
            S = self._sensitivity(part)
            G = (T / noise_sd[part, :, None]) @ S.reshape(len(T), 9, -1)
            G = G.reshape(len(T), 6, 1, n, 3)
            basis = self._values[part][:, None, :, :, None]  # (K, 1, 3, 6, 1)
            J = sum(G[..., d] * basis[:, :, d] for d in range(3)).reshape(-1, 6, width)
            W = X / noise_sd[part, :, None]
            if not len(rhs):
                rhs, total = np.zeros((len(gradient), X.shape[2])), np.zeros((X.shape[2],) * 2)
                rhs[:, -1] = gradient
            spans = self._span[part]
            first = int(spans[0])
            blocks = np.zeros((int(spans[-1]) - first + 1, width, width))
            edges = np.flatnonzero(np.diff(spans)) + 1
            for near in np.split(np.arange(len(spans)), edges):
                s = int(spans[near[0]])
                Js, Ws = J[near].reshape(-1, width), W[near].reshape(-1, X.shape[2])
                blocks[s - first] += Js.T @ Js
                rhs[s * n : s * n + width] += Js.T @ Ws
            _add_to_band(band[:, first * n :], blocks, n)
            flat = W.reshape(-1, X.shape[2])
            total += flat.T @ flat
        factor = (scipy.linalg.cholesky_banded(band, lower=True, overwrite_ab=True), True)
        solved = scipy.linalg.cho_solve_banded(factor, rhs)
        self._tried = solved
        return np.asarray(total - rhs.T @ solved)

    def accept(self) -> None:
        """Make the last `information` the starting point of corrections."""
        self._solved = self._tried

    def _sensitivity(self, part: slice) -> Array:
        """Result of `frame_motion_sensitivity` at some samples; stored if memory permits."""
        known = self._sensitivities.get((part.start, part.stop))
        if known is None:
            joints = self._joints(self._c, part)
            known = self._model.frame_motion_sensitivity(self._frame, *joints)
            if part.start < _KEPT:
                self._sensitivities[part.start, part.stop] = known
        return known

    def correct(self, y: Array) -> None:
        """Correct the spline coefficients by the wrenches; y of shape (p,).

        Raises:
            EstimationError: `information` was not called before.
        """
        if self._solved is None:
            raise EstimationError(
                "The method `correct` was called before `information`.",
                remedy="Call `information` first, because `correct` uses its result.",
            )
        step = self._solved[:, -1] - self._solved[:, :-1] @ y
        self._corrected = self._c + step.reshape(-1, self._n)

    def corrected(self) -> Array:
        """Return the motion of the frame from the corrected joint splines, shape (K, 9)."""
        joints = self._joints(self._corrected)
        return _stack(self._model.frame_motion(self._frame, *joints))

    def _joints(self, coefficients: Array, part: slice = slice(None)) -> tuple[Array, Array, Array]:
        index = self._span[part, None] + np.arange(DEGREE + 1)
        q, v, a = np.einsum("kdb,kbj->dkj", self._values[part], coefficients[index])
        return q, v, a

    def _encoder_and_jerk(self) -> tuple[Array, Array]:
        """Information of encoders and smoothness about the coefficients: band, and gradient."""
        splines, basis, n = self._splines, self._splines.basis, self._n
        gradient = np.zeros((basis.size, n))
        band = np.zeros(((DEGREE + 1) * n, basis.size, n))
        span_q, rows_q = basis.span_of(splines.time), basis.values(splines.time, 0)
        span_j, rows_j = basis.jerk_rows
        for span, rows, target, precision in (
            (span_q, rows_q, splines.q, splines.encoder_sd**-2),
            (span_j, rows_j, np.zeros((len(span_j), n)), 1.0 / splines.jerk_density),
        ):
            index = span[:, None] + np.arange(DEGREE + 1)
            error = target - np.einsum("kb,kbj->kj", rows, self._c[index])
            np.add.at(gradient, index, rows[:, :, None] * error[:, None, :] * precision)
            # Joints don't mix: only every n-th diagonal is filled.
            band[::n] += banded_gram(span, rows, basis.size)[:, :, None] * precision
        return band.reshape(len(band), -1), gradient.ravel()


def _stack(motion: FrameMotion) -> Array:
    """Array of (a, omega, alpha), shape (K, 9)."""
    return np.hstack([motion.a, motion.omega, motion.alpha])


def _add_to_band(band: Array, blocks: Array, n: int) -> None:
    """Add overlapping blocks, each n rows further down, to a matrix in lower banded form."""
    spans, width, _ = blocks.shape
    for j in range(width):
        for i in range(j, width):
            band[i - j, j : j + spans * n : n] += blocks[:, i, j]
