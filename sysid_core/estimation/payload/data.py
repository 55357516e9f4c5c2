# SPDX-License-Identifier: Apache-2.0
r"""What all payload estimators share: the data, the compressed data, and how a result is shown.

Frames: everything in the axes of the force-torque sensor S, at its origin. The wrench is the one
that the sensor exerts on the object, `wrench = wrench_regressor(a, omega, alpha) @ pi`, with the
proper acceleration `a` (acceleration minus gravity).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.robot import Array, skew, wrench_regressor

_BLOCK = 8_000  # samples of a regressor that are held at once
_WAITING = 256  # single samples that are compressed together
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class PayloadData:
    """Wrenches and motions of a held object, K samples in the axes of the sensor.

    Attributes:
        time: Shape (K,) [s], increasing.
        wrench: That the sensor exerts on the object, force then torque, shape (K, 6) [N, N m].
        a: Proper acceleration of the sensor's origin, shape (K, 3) [m/s^2].
        omega: Angular velocity, shape (K, 3) [rad/s].
        alpha: Angular acceleration, shape (K, 3) [rad/s^2].
        gravity: Shape (K, 3) [m/s^2].
        source: Where it came from.
        R_WS: Orientation of the sensor, shape (K, 3, 3); lets an error of gravity's direction be
            estimated along. None where it isn't known.
    """

    time: Array
    wrench: Array
    a: Array
    omega: Array
    alpha: Array
    gravity: Array
    source: str = ""
    R_WS: Array | None = None

    def __post_init__(self) -> None:
        K = len(self.time)
        shapes: dict[str, tuple[int, ...]] = {"time": (K,), "wrench": (K, 6)}
        shapes |= dict.fromkeys(("a", "omega", "alpha", "gravity"), (K, 3))
        shapes |= {} if self.R_WS is None else {"R_WS": (K, 3, 3)}
        for key, shape in shapes.items():
            array = np.array(getattr(self, key), dtype=float)
            if array.shape != shape:
                raise EstimationError(
                    f"'{key}' has shape {array.shape}, expected {shape}.",
                    remedy="Give arrays that belong to the same parameters and samples.",
                )
            bad = np.flatnonzero(~np.isfinite(array.reshape(K, -1)).all(axis=1))
            if len(bad):
                raise EstimationError(
                    f"'{key}' holds NaN or infinite values at {len(bad)} of {K} samples,"
                    f" first at sample {bad[0]}.",
                    remedy="Leave those samples out, and look for the cause in the driver.",
                    samples=bad,
                )
            array.setflags(write=False)
            object.__setattr__(self, key, array)
        if K == 0 or np.any(np.diff(self.time) <= 0):
            raise EstimationError(
                "Payload data need at least one sample, at increasing times.",
                remedy="Give the samples in the order of their stamps.",
            )

    def __len__(self) -> int:
        return len(self.time)

    @property
    def regressor(self) -> Array:
        """Newton-Euler regressor of every sample, shape (K, 6, 10)."""
        return wrench_regressor(self.a, self.omega, self.alpha)

    def select(self, rows: slice | Array) -> PayloadData:
        """Some of the samples."""
        return PayloadData(
            self.time[rows],
            self.wrench[rows],
            self.a[rows],
            self.omega[rows],
            self.alpha[rows],
            self.gravity[rows],
            self.source,
            None if self.R_WS is None else self.R_WS[rows],
        )


def dynamism(a: ArrayLike, omega: ArrayLike, alpha: ArrayLike, gravity: ArrayLike) -> Array:
    r"""Magnitude of the motion (Nadeau et al. 2022, eq. 4), n1 = n2 = 1, n3 = 0.5.

    `nu = |a + g|^2 + |alpha|^2 + |omega / 0.5|^2`, gravity taken out of the acceleration.

    Args:
        a: Proper acceleration, shape (..., 3).
        omega: Shape (..., 3).
        alpha: Shape (..., 3).
        gravity: Shape (..., 3).

    Returns:
        Shape (...).
    """
    linear = np.asarray(a) + np.asarray(gravity)
    squares = linear**2 + np.asarray(alpha) ** 2 + (np.asarray(omega) / 0.5) ** 2
    return np.sum(squares, axis=-1)


class CompressedWrenches:
    r"""Payload data compressed to small triangular factors, whatever the number of samples.

    For rows `X` of a linear model, `|X y|` is `|R y|` with the QR factor R: nothing that an
    estimator of `pi` needs is lost. Samples can be added one by one.

    Args:
        dynamism_scale: `c_1` of the dynamism weight `w = tanh(3 nu / c_1)`
            (Nadeau et al. 2022, eq. 9); None: no weighted factors.

    Attributes:
        n_samples: How many samples are in it.
    """

    def __init__(self, dynamism_scale: float | None = None) -> None:
        if dynamism_scale is not None and not dynamism_scale > 0:
            raise EstimationError(
                "The dynamism scale c_1 must be greater than zero.",
                remedy="Leave it out for the paper's value.",
            )
        self.dynamism_scale = dynamism_scale
        self._factors = [np.zeros((size, size)) for size in (11, 11, 11, 15)]
        self._waiting: list[tuple[Array, ...]] = []  # single samples, compressed many at once
        self.n_samples = 0

    @property
    def force(self) -> Array:
        """Factor of the force rows of `[A | b]`, shape (11, 11)."""
        return self._compressed()[0]

    @property
    def torque(self) -> Array:
        """Factor of the torque rows, shape (11, 11)."""
        return self._compressed()[1]

    @property
    def full(self) -> Array:
        """Factor of `w [A | b]`, shape (11, 11); zero without a dynamism scale."""
        return self._compressed()[2]

    @property
    def reduced(self) -> Array:
        """Factor of `(1 - w) [Ã | A | b]`, where Ã, of 4 columns, knows gravity only; shape (15, 15)."""
        return self._compressed()[3]

    def _compressed(self) -> list[Array]:
        """The four factors, with all samples in them."""
        if self._waiting:
            b, a, omega, alpha, g = (
                np.array(column) for column in zip(*self._waiting, strict=True)
            )
            self._waiting = []
            self._add(b, a, omega, alpha, g)
        return self._factors

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
            data: The recording.
            dynamism_scale: `c_1`.
            residual_frame: Poses of the sensor in another frame, shape (K, 4, 4): residuals are
                then wrenches in that frame's axes about its origin, and weigh accordingly.
        """
        wrenches = cls(dynamism_scale)
        poses = None if residual_frame is None else np.asarray(residual_frame, dtype=float)
        for first in range(0, len(data.wrench), _BLOCK):  # memory stays bounded
            k = slice(first, first + _BLOCK)
            motion = (data.a[k], data.omega[k], data.alpha[k], data.gravity[k])
            frame = None if poses is None else poses[k]
            wrenches.add(data.wrench[k], *motion, residual_frame=frame)
        return wrenches

    def add(
        self,
        wrench: ArrayLike,
        a: ArrayLike,
        omega: ArrayLike,
        alpha: ArrayLike,
        gravity: ArrayLike,
        *,
        residual_frame: ArrayLike | None = None,
    ) -> None:
        """Add one sample, shapes (6,) and (3,), or many, shapes (K, 6) and (K, 3)."""
        sample = tuple(np.array(x, dtype=float) for x in (wrench, a, omega, alpha, gravity))
        many = sample[0].ndim > 1
        self.n_samples += len(sample[0]) if many else 1
        if many or residual_frame is not None:
            self._compressed()
            b, a, omega, alpha, g = (np.atleast_2d(x) for x in sample)
            self._add(b, a, omega, alpha, g, residual_frame)
            return
        self._waiting.append(sample)
        if len(self._waiting) >= _WAITING:
            self._compressed()

    def _add(
        self,
        b: Array,
        a: Array,
        omega: Array,
        alpha: Array,
        g: Array,
        residual_frame: ArrayLike | None = None,
    ) -> None:
        """Samples of shapes (K, 6) and (K, 3) into the factors."""
        A = wrench_regressor(a, omega, alpha)
        A_reduced = wrench_regressor(-g, np.zeros_like(g), np.zeros_like(g))[:, :, :4]
        if residual_frame is not None:
            X = np.asarray(residual_frame, dtype=float)
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
        w = np.tanh(3.0 * dynamism(a, omega, alpha, g) / self.dynamism_scale)[:, None, None]
        factors[2] = _updated(factors[2], w * rows)
        factors[3] = _updated(factors[3], (1.0 - w) * np.concatenate([A_reduced, rows], axis=2))

    @property
    def scaled_singular_values(self) -> Array:
        """Singular values of the regressor with columns of unit length (zero columns stay), shape (10,)."""
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
        """RMS of `A pi - b` over the force and over the torque axes [N, N m]."""
        y = np.append(pi, -1.0)
        count = np.sqrt(max(1, 3 * self.n_samples))
        return {
            "force": float(np.linalg.norm(self.force @ y) / count),
            "torque": float(np.linalg.norm(self.torque @ y) / count),
        }

    def noise_sd(self) -> tuple[float, float]:
        """Force and torque noise [N, N m], from what the best unconstrained fit leaves over."""
        R = np.vstack([self.force, self.torque])
        length = np.linalg.norm(R[:, :10], axis=0)
        length = np.where(length > 0, length, 1.0)
        pi = np.linalg.lstsq(R[:, :10] / length, R[:, 10], rcond=RANK_TOLERANCE)[0] / length
        rms = self.residual_rms(pi)
        free = np.sqrt(6 * self.n_samples / max(1, 6 * self.n_samples - self.rank))
        return rms["force"] * free, rms["torque"] * free

    def noise_moment(self) -> Array:
        """`A^T Sigma A` under independent noise of the forces and of the torques, (10, 10)."""
        sd_force, sd_torque = self.noise_sd()
        F, T = self.force[:, :10], self.torque[:, :10]
        return sd_force**2 * F.T @ F + sd_torque**2 * T.T @ T


def positive_mass(moment: float, power: float) -> float:
    """Mass `moment / power` of a least-squares problem in the mass alone [kg].

    Raises:
        EstimationError: It isn't positive.
    """
    mass = moment / power if power > 0 else 0.0
    if not mass > 0:
        raise EstimationError(
            f"The forces ask for a mass of {mass:.4g} kg.",
            remedy="Is the wrench that of the sensor on the object, and gravity's direction"
            " right? Turned signs or a sensor mounted upside down look like this.",
            mass=mass,
        )
    return mass


def _updated(R: Array, rows: Array) -> Array:
    """The triangular factor with more rows; rows of shape (K, r, p)."""
    p = R.shape[0]
    stack = np.vstack([R, rows.reshape(-1, p)])
    return np.asarray(np.linalg.qr(stack, mode="r"))
