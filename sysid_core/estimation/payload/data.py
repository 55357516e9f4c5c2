# SPDX-License-Identifier: Apache-2.0
r"""Payload data, in full and in compressed form, shared by all payload estimators.

Frames: everything in the axes of the force-torque sensor S, at its origin. The wrench is the one
that the sensor exerts on the object, `wrench = wrench_regressor(a, omega, alpha) @ pi`, with the
proper acceleration `a` (acceleration minus gravity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.robot import Array, FrameMotion, skew, wrench_regressor

_BLOCK = 8_000  # samples of a regressor that are held at once
RANK_TOLERANCE = 1e-9
# What a sample of `PayloadData` holds, and the shapes.
_SHAPES: dict[str, tuple[int, ...]] = {
    "time": (),
    "wrench": (6,),
    **dict.fromkeys(("a", "omega", "alpha", "gravity"), (3,)),
    "R_WS": (3, 3),
    "p_WS": (3,),
    "covariance": (9, 9),
}


@dataclass(frozen=True, eq=False)
class PayloadData:
    """Wrenches and motion of a held object, K samples in the axes of the sensor.

    Attributes:
        time: Times of the samples, shape (K,) [s], increasing.
        wrench: Wrench that the sensor exerts on the object, force then torque, shape (K, 6) [N, N
            m].
        a: Acceleration of the sensor's origin minus gravity, shape (K, 3) [m/s^2].
        omega: Angular velocity of the sensor, shape (K, 3) [rad/s].
        alpha: Angular acceleration of the sensor, shape (K, 3) [rad/s^2].
        gravity: Gravity vector in the axes of the sensor, shape (K, 3) [m/s^2].
        source: Name of the data source.
        R_WS: Orientation of the sensor in the world, shape (K, 3, 3), from which an error of the
            direction of gravity can be estimated; None: unknown.
        p_WS: Position of the sensor in the world, shape (K, 3) [m]; None: unknown.
        covariance: Covariance of (a, omega, alpha), shape (K, 9, 9), NaN for samples without one;
            None: unknown.
    """

    time: Array
    wrench: Array
    a: Array
    omega: Array
    alpha: Array
    gravity: Array
    source: str = ""
    R_WS: Array | None = None
    covariance: Array | None = None
    p_WS: Array | None = None

    def __post_init__(self) -> None:
        K = len(self.time)
        for key, of_one in _SHAPES.items():
            if getattr(self, key) is None:
                continue
            array = np.array(getattr(self, key), dtype=float)
            if array.shape != (K, *of_one):
                raise EstimationError(
                    f"'{key}' has shape {array.shape}, expected {(K, *of_one)}.",
                    remedy="Give arrays for the same parameters and the same samples.",
                )
            bad = np.flatnonzero(~np.isfinite(array.reshape(K, -1)).all(axis=1))
            if len(bad) and key != "covariance":
                raise EstimationError(
                    f"'{key}' holds NaN or infinite values at {len(bad)} of {K} samples,"
                    f" first at sample {bad[0]}.",
                    remedy="Remove these samples, and look for the cause in the driver.",
                    samples=bad,
                )
            array.setflags(write=False)
            object.__setattr__(self, key, array)
        if K == 0 or np.any(np.diff(self.time) <= 0):
            raise EstimationError(
                "Payload data must contain a sample, and their times must increase.",
                remedy="Give the samples in the order of their stamps.",
            )

    @classmethod
    def of(
        cls,
        time: ArrayLike,
        wrench: ArrayLike,
        motion: FrameMotion,
        *,
        source: str = "",
        covariance: Array | None = None,
    ) -> PayloadData:
        """Return the payload data from stamps (K,) [s], wrenches (K, 6) and the motion of the
        sensor frame; covariance of the motion (K, 9, 9).
        """
        vectors = (motion.a, motion.omega, motion.alpha, motion.gravity)
        t, b = np.asarray(time, dtype=float), np.asarray(wrench, dtype=float)
        return cls(t, b, *vectors, source, motion.R_WF, covariance, motion.p_WF)

    @classmethod
    def joined(cls, parts: Sequence[PayloadData]) -> PayloadData:
        """Return the concatenation of several parts; a value missing in one part is missing in the
        result.
        """
        columns = {key: [getattr(part, key) for part in parts] for key in _SHAPES}
        known = {k: x for k, x in columns.items() if not any(one is None for one in x)}
        return cls(**{k: np.concatenate(x) for k, x in known.items()}, source=parts[0].source)

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def regressor(self) -> Array:
        """Newton-Euler regressor of every sample, shape (K, 6, 10)."""
        return wrench_regressor(self.a, self.omega, self.alpha)

    def select(self, rows: slice | Array) -> PayloadData:
        """Return a copy with some of the samples, given by a slice, a mask (K,) or indices."""
        columns = {key: getattr(self, key) for key in _SHAPES}
        known = {key: x[rows] for key, x in columns.items() if x is not None}
        return replace(self, **known)


def dynamism(a: ArrayLike, omega: ArrayLike, alpha: ArrayLike, gravity: ArrayLike) -> Array:
    r"""Return the magnitude of the motion (Nadeau et al. 2022, eq. 4), n1 = n2 = 1, n3 = 0.5.

    It is `nu = |a + g|^2 + |alpha|^2 + |omega / 0.5|^2`, with gravity removed from the
    acceleration.

    Args:
        a: Proper acceleration, shape (..., 3) [m/s^2].
        omega: Angular velocity, shape (..., 3) [rad/s].
        alpha: Angular acceleration, shape (..., 3) [rad/s^2].
        gravity: Gravity vector, shape (..., 3) [m/s^2].

    Returns:
        Magnitude nu, shape (...).
    """
    linear = np.asarray(a) + np.asarray(gravity)
    squares = linear**2 + np.asarray(alpha) ** 2 + (np.asarray(omega) / 0.5) ** 2
    return np.sum(squares, axis=-1)


class CompressedWrenches:
    r"""Payload data compressed to small triangular factors, whose size does not depend on the
    number of samples.

    For rows `X` of a linear model, `|X y|` equals `|R y|` with the QR factor R, so that no
    information about `pi` is lost. Samples can be added one by one.

    Args:
        dynamism_scale: Constant `c_1` of the dynamism weight `w = tanh(3 nu / c_1)` (Nadeau et al.
            2022, eq. 9); None: no weighted factors.

    Attributes:
        n_samples: Number of compressed samples.
    """

    def __init__(self, dynamism_scale: float | None = None) -> None:
        if dynamism_scale is not None and not dynamism_scale > 0:
            raise EstimationError(
                "The dynamism scale c_1 must be greater than zero.",
                remedy="Omit the argument to use the value of the paper.",
            )
        self.dynamism_scale = dynamism_scale
        self._factors = [np.zeros((size, size)) for size in (11, 11, 11, 15)]
        self.n_samples = 0

    @property
    def force(self) -> Array:
        """Triangular factor of the force rows of `[A | b]`, shape (11, 11)."""
        return self._factors[0]

    @property
    def torque(self) -> Array:
        """Triangular factor of the torque rows of `[A | b]`, shape (11, 11)."""
        return self._factors[1]

    @property
    def full(self) -> Array:
        """Triangular factor of `w [A | b]`, shape (11, 11); zero without a dynamism scale."""
        return self._factors[2]

    @property
    def reduced(self) -> Array:
        """Triangular factor of `(1 - w) [Ã | A | b]`, where the 4 columns of Ã describe gravity
        only; shape (15, 15).
        """
        return self._factors[3]

    @classmethod
    def from_data(
        cls,
        data: PayloadData,
        dynamism_scale: float | None = None,
        *,
        residual_frame: ArrayLike | None = None,
    ) -> CompressedWrenches:
        """Compress all samples of a recording.

        Args:
            data: Wrenches and motions of the recording.
            dynamism_scale: Constant `c_1` of the dynamism weight; None: no weighted factors.
            residual_frame: Poses of the sensor in another frame, shape (K, 4, 4), about whose
                origin and in whose axes residual wrenches are weighted; None: those of the sensor.
        """
        wrenches = cls(dynamism_scale)
        wrenches.add(data, residual_frame=residual_frame)
        return wrenches

    def add(self, data: PayloadData, *, residual_frame: ArrayLike | None = None) -> None:
        """Add samples; `residual_frame`, shape (K, 4, 4), as in `from_data`."""
        self.n_samples += len(data)
        poses = None if residual_frame is None else np.asarray(residual_frame, dtype=float)
        for first in range(0, len(data), _BLOCK):  # memory stays bounded
            k = slice(first, first + _BLOCK)
            part = data.select(k) if len(data) > _BLOCK else data
            self._add(part, None if poses is None else poses[k])

    def _add(self, data: PayloadData, X: Array | None) -> None:
        b, A, g = data.wrench, data.regressor, data.gravity
        A_reduced = wrench_regressor(-g, np.zeros_like(g), np.zeros_like(g))[:, :, :4]
        if X is not None:
            R, p = X[:, :3, :3], X[:, :3, 3]
            M = np.zeros((len(b), 6, 6))
            M[:, :3, :3] = M[:, 3:, 3:] = R
            M[:, 3:, :3] = skew(p) @ R
            A, A_reduced, b = M @ A, M @ A_reduced, np.einsum("kij,kj->ki", M, b)
        rows = np.concatenate([A, b[:, :, None]], axis=2)
        factors = self._factors
        factors[0] = _updated(factors[0], rows[:, :3])
        factors[1] = _updated(factors[1], rows[:, 3:])
        if self.dynamism_scale is None:
            return
        nu = dynamism(data.a, data.omega, data.alpha, g)
        w = np.tanh(3.0 * nu / self.dynamism_scale)[:, None, None]
        factors[2] = _updated(factors[2], w * rows)
        factors[3] = _updated(factors[3], (1.0 - w) * np.concatenate([A_reduced, rows], axis=2))

    @property
    def scaled_singular_values(self) -> Array:
        """Singular values of the regressor after scaling its columns to unit length (zero columns
        stay zero), shape (10,).
        """
        R = np.vstack([self.force[:, :10], self.torque[:, :10]])
        length = np.linalg.norm(R, axis=0)
        return np.linalg.svd(R / np.where(length > 0, length, 1.0), compute_uv=False)

    @property
    def rank(self) -> int:
        """Numerical rank of the regressor, at a relative tolerance of 1e-9."""
        s = self.scaled_singular_values
        return int(np.count_nonzero(s > RANK_TOLERANCE * s[0])) if s[0] > 0 else 0

    @property
    def condition_number(self) -> float:
        """Condition number of the column-scaled regressor."""
        s = self.scaled_singular_values
        return float(s[0] / s[-1]) if s[-1] > 0 else float("inf")

    def residual_rms(self, pi: Array) -> dict[str, float]:
        """Return the RMS of the residual `A pi - b` of force and of torque [N, N m]; pi of shape
        (10,).
        """
        y = np.append(pi, -1.0)
        count = np.sqrt(max(1, 3 * self.n_samples))
        return {
            "force": float(np.linalg.norm(self.force @ y) / count),
            "torque": float(np.linalg.norm(self.torque @ y) / count),
        }

    def noise_sd(self) -> tuple[float, float]:
        """Return the standard deviation of force and torque noise [N, N m], from the residual of
        the unconstrained fit.
        """
        R = np.vstack([self.force, self.torque])
        length = np.linalg.norm(R[:, :10], axis=0)
        length = np.where(length > 0, length, 1.0)
        pi = np.linalg.lstsq(R[:, :10] / length, R[:, 10], rcond=RANK_TOLERANCE)[0] / length
        rms = self.residual_rms(pi)
        free = np.sqrt(6 * self.n_samples / max(1, 6 * self.n_samples - self.rank))
        return rms["force"] * free, rms["torque"] * free

    def noise_moment(self) -> Array:
        """Increase of the normal matrix due to independent noise of forces and torques, (10, 10)."""
        sd_force, sd_torque = self.noise_sd()
        F, T = self.force[:, :10], self.torque[:, :10]
        return sd_force**2 * F.T @ F + sd_torque**2 * T.T @ T


def positive_mass(moment: float, power: float) -> float:
    """Return the mass [kg] as the only unknown of a least-squares problem: the product of regressor
    and measurement (`moment`) divided by the squared norm of the regressor (`power`).

    Raises:
        EstimationError: The mass is not positive.
    """
    mass = moment / power if power > 0 else 0.0
    if not mass > 0:
        raise EstimationError(
            f"The forces correspond to a mass of {mass:.4g} kg, which is not positive.",
            remedy="Check that the wrench is the one exerted by the sensor on the object, and the direction of gravity."
            " Reversed signs, a sensor mounted upside down, or quaternions in another order have this effect.",
            mass=mass,
        )
    return mass


def _updated(R: Array, rows: Array) -> Array:
    """Triangular factor after adding rows of shape (K, r, p)."""
    p = R.shape[0]
    stack = np.vstack([R, rows.reshape(-1, p)])
    return np.asarray(np.linalg.qr(stack, mode="r"))
