# SPDX-License-Identifier: Apache-2.0
"""Results of payload estimators: verdicts, standard deviations, and mass, centre of mass and
inertia.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sysid_core.errors import EstimationError
from sysid_core.estimation.estimate import Estimate, ParameterVerdict
from sysid_core.estimation.payload.data import RANK_TOLERANCE, CompressedWrenches
from sysid_core.reasons import Reason
from sysid_core.robot import Array, RobotModel, is_physically_consistent, mass_com_inertia_from_pi

_NAMES = ("mass", "com x", "com y", "com z", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
_UNITS = ("kg",) + ("m",) * 3 + ("kg m²",) * 6
_ROWS, _COLS = [0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]
PAYLOAD_NAMES = tuple(f"payload.{name}" for name in RobotModel.INERTIAL_NAMES)


def linear_error_covariance(response: Array, noise: Array, pi: Array, spread: Array) -> Array:
    """Return the expected squared error of an estimator that is biased towards a prior.

    Args:
        response: Derivative of the estimate with respect to the true parameters, `d pi_hat / d pi`,
            shape (10, 10).
        noise: Covariance of the estimate due to sensor noise, shape (10, 10).
        pi: Estimated parameters, shape (10,).
        spread: Covariance of the true parameters about the estimate, shape (10, 10).

    Returns:
        Expected squared error as a matrix, shape (10, 10).
    """
    pull = response - np.eye(10)
    covariance = pull @ (spread + np.outer(pi, pi)) @ pull.T + noise
    return 0.5 * (covariance + covariance.T)


def payload_estimate(
    method: str,
    pi: Array,
    covariance: Array,
    verdicts: tuple[ParameterVerdict, ...],
    information: CompressedWrenches,
    *,
    source: str = "",
    warnings: tuple[Reason, ...] = (),
) -> Estimate:
    """Return the `Estimate` of a payload in the form that is common to all payload estimators."""
    return Estimate(
        method=method,
        names=PAYLOAD_NAMES,
        values=pi,
        units=RobotModel.INERTIAL_UNITS,
        covariance=covariance,
        verdicts=verdicts,
        consistent={"payload": bool(is_physically_consistent(pi))},
        residual_rms=information.residual_rms(pi),
        condition_number=information.condition_number,
        rank=information.rank,
        structural_rank=10,
        rank_tolerance=RANK_TOLERANCE,
        n_samples=information.n_samples,
        source=source,
        warnings=warnings,
    )


def shrunk_estimate(
    method: str,
    pi: Array,
    covariance: Array,
    prior: Array,
    wrenches: CompressedWrenches,
    source: str,
) -> Estimate:
    """Return the result of an estimator that is biased towards a prior with covariance `prior`,
    (10, 10).
    """
    verdicts = verdicts_from_prior(covariance, prior)
    return payload_estimate(method, pi, covariance, verdicts, wrenches, source=source)


def verdicts_from_prior(
    covariance: Array, prior_covariance: Array, mass_sd: float | None = None
) -> tuple[ParameterVerdict, ...]:
    """Return a verdict of each parameter: prior-dominated unless the variance given the data is
    less than half the prior variance.

    Moments of inertia are judged for given mass and centre of mass, because these two, known from
    gravity alone, determine the parallel-axis part of the inertia about the sensor's origin. Without
    this condition, that inertia would count as determined even if the inertia about the centre of
    mass is unknown.

    Args:
        covariance: Covariance of the estimate, shape (10, 10).
        prior_covariance: Covariance of the prior, shape (10, 10).
        mass_sd: Prior deviation of the mass [kg], if `prior_covariance` is for a known mass.
    """
    after, before = np.diag(covariance).copy(), np.diag(prior_covariance).copy()
    if mass_sd is not None:
        before[0] = mass_sd**2
    floor = np.maximum(1e-12 * before, np.finfo(float).tiny)
    after[4:] = np.diag(_given_first_moments(covariance))
    before[4:] = np.diag(_given_first_moments(prior_covariance))
    # Where the shape alone settles a moment, the data have nothing to add.
    ratio = np.where(before > floor, after / np.maximum(before, floor), 1.0)
    return tuple(
        ParameterVerdict.PRIOR_DOMINATED if r > 0.5 else ParameterVerdict.IDENTIFIABLE
        for r in ratio
    )


def _given_first_moments(covariance: Array) -> Array:
    """Covariance of the six moments of inertia for given mass and first moments."""
    known, cross = covariance[:4, :4], covariance[:4, 4:]
    scale = np.sqrt(np.clip(np.diag(known), np.finfo(float).tiny, None))
    inverse = np.linalg.pinv(known / np.outer(scale, scale), rcond=1e-12, hermitian=True)
    return covariance[4:, 4:] - cross.T @ (inverse / np.outer(scale, scale)) @ cross


def verdicts_from_rank(information: CompressedWrenches) -> tuple[ParameterVerdict, ...]:
    """Return the verdicts from the data alone: identifiable alone, in combination, or not at
    all.
    """
    R = np.vstack([information.force[:, :10], information.torque[:, :10]])
    length = np.linalg.norm(R, axis=0)
    _, s, Vt = np.linalg.svd(R / np.where(length > 0, length, 1.0))
    kernel = Vt[s <= RANK_TOLERANCE * max(s[0], np.finfo(float).tiny)]
    leak = np.linalg.norm(kernel, axis=0)
    return tuple(
        ParameterVerdict.UNIDENTIFIABLE
        if size == 0
        else (ParameterVerdict.COMBINATION if x > 1e-6 else ParameterVerdict.IDENTIFIABLE)
        for size, x in zip(length, leak, strict=True)
    )


@dataclass(frozen=True)
class PayloadSummary:
    """Payload with standard deviations, in the quantities that robot controllers use.

    Attributes:
        mass: Mass [kg].
        com: Centre of mass in the sensor frame, shape (3,) [m].
        inertia: Inertia about the centre of mass, axes of the sensor, shape (3, 3) [kg m^2].
        mass_sd: Standard deviation of the mass [kg].
        com_sd: Standard deviation of the centre of mass, shape (3,) [m].
        inertia_sd: Standard deviation of the inertia, shape (3, 3) [kg m^2].
        covariance: Covariance of mass, com and (Ixx, Ixy, Iyy, Ixz, Iyz, Izz) about the com, shape
            (10, 10).
    """

    mass: float
    com: Array
    inertia: Array
    mass_sd: float
    com_sd: Array
    inertia_sd: Array
    covariance: Array

    @classmethod
    def of(cls, estimate: Estimate) -> PayloadSummary:
        """Return the mass, centre of mass and inertia about the centre of mass, with first-order
        standard deviations.

        Raises:
            EstimationError: The estimate is not one of a payload, or the mass is not positive.
        """
        if estimate.names != PAYLOAD_NAMES:
            raise EstimationError(
                f"An estimate of {len(estimate.names)} parameters is not that of a payload.",
                remedy="Give an estimate with the ten parameters of a payload, as the payload estimators return it.",
            )
        pi = estimate.values
        if not pi[0] > 0:
            raise EstimationError(
                f"The estimated mass is {pi[0]:.4g} kg: there is no centre of mass.",
                remedy="Check that an object is held, and that the wrench is the one exerted by the sensor on the object.",
            )
        mass, com, inertia = mass_com_inertia_from_pi(pi)
        J = _summary_jacobian(pi)
        covariance = J @ estimate.covariance @ J.T
        sd = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
        inertia_sd = sd[4:][np.array([[0, 1, 3], [1, 2, 4], [3, 4, 5]])]
        return cls(float(mass), com, inertia, float(sd[0]), sd[1:4], inertia_sd, covariance)

    @property
    def box_lengths(self) -> Array:
        """Return the lengths of the solid box with the estimated inertia, shape (3,) [m]."""
        moments = np.diag(self.inertia)
        squares = 6.0 * (moments.sum() - 2.0 * moments) / self.mass
        return np.sqrt(np.maximum(squares, 0.02**2))

    @staticmethod
    def compared(estimate: Estimate, truth: ArrayLike | None) -> list[list[object]]:
        """Return table rows with quantity, estimate, standard deviation, truth, error; SI units.

        Args:
            estimate: Estimate of a payload.
            truth: True parameters pi, shape (10,); None: unknown.
        """
        payload = PayloadSummary.of(estimate)
        values = np.concatenate([[payload.mass], payload.com, payload.inertia[_ROWS, _COLS]])
        sds = np.concatenate([[payload.mass_sd], payload.com_sd, payload.inertia_sd[_ROWS, _COLS]])
        true: list[float | None] = [None] * 10
        if truth is not None:
            m, c, inertia = mass_com_inertia_from_pi(np.asarray(truth, dtype=float))
            true = [float(m), *c.tolist(), *inertia[_ROWS, _COLS].tolist()]
        rows: list[list[object]] = []
        for name, unit, x, sd, t, verdict in zip(
            _NAMES, _UNITS, values, sds, true, estimate.verdicts, strict=True
        ):
            x = float(x) if abs(x) > 1e-9 * sd else 0.0  # a symmetric shape leaves rounding
            error = None if t is None else x - t
            rows.append([name, unit, x, float(sd), t, error, verdict.value])
        return rows

    @staticmethod
    def errors_percent(pi: ArrayLike, truth: ArrayLike, size: ArrayLike) -> dict[str, float]:
        r"""Return the errors of mass, centre of mass and inertia tensor in percent.

        Nadeau, Giamou and Kelly (2022), eqs. (10), (11), (12).

        The error of the mass is relative to the mass. That of the centre of mass is relative to the
        edge lengths a of the bounding box (mean of three axes). That of the inertia is relative to
        `m/12 (delta_ij (a_i^2 + a_j^2 + a_k^2) - a_i a_j)` (mean of six entries).

        Args:
            pi: Estimated inertial parameters, shape (10,).
            truth: True inertial parameters, shape (10,).
            size: Dimensions of the bounding box, shape (3,) [m].

        Returns:
            Errors [%] by name: `mass`, `com` (mean over the axes), `com_worst` (largest) and
                `inertia`.
        """
        size = np.asarray(size, dtype=float)
        mass, com, inertia = mass_com_inertia_from_pi(np.asarray(pi, dtype=float)[:10])
        mass_0, com_0, inertia_0 = mass_com_inertia_from_pi(np.asarray(truth, dtype=float))
        coms = 100.0 * np.abs(com - com_0) / size
        scale = np.abs(mass_0 / 12.0 * (np.eye(3) * (size @ size) - np.outer(size, size)))
        upper = np.triu_indices(3)
        return {
            "mass": 100.0 * float(abs(mass - mass_0) / mass_0),
            "com": float(np.mean(coms)),
            "com_worst": float(coms.max()),
            "inertia": 100.0 * float(np.mean((np.abs(inertia - inertia_0) / scale)[upper])),
        }


def _summary_jacobian(pi: Array) -> Array:
    """Derivative of (m, c, I_C in pi's order) with respect to pi, shape (10, 10)."""
    m, h = pi[0], pi[1:4]
    J = np.eye(10)
    J[1:4, 0] = -h / m**2
    J[1:4, 1:4] = np.eye(3) / m
    rows, columns = (0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)
    steiner = h @ h * np.eye(3) - np.outer(h, h)
    J[4:, 0] = steiner[rows, columns] / m**2
    for axis in range(3):
        e = np.eye(3)[axis]
        d = 2.0 * h[axis] * np.eye(3) - np.outer(e, h) - np.outer(h, e)
        J[4:, 1 + axis] = -d[rows, columns] / m
    return J
