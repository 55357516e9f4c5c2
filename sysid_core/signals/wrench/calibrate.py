# SPDX-License-Identifier: Apache-2.0
"""Calibration of a force-torque sensor in static postures: bias, gains, mounting, direction of
gravity and drift.

    f_k = -G m (1 + [delta]x) (g_k + R_k^T t) + b_f(s_k),     tau_k = g_k x (m c) + b_t(s_k)

with the force gains G = 1 + E, the mounting error delta, the tilt t of gravity in the base and a
bias `b(s) = b + d s + w(s)` that drifts along a line and wanders about it (`wandering`). Linear in
`B = G m (1 + [delta]x)`; Gaussian priors describe the errors of usual sensors, so that a fit to few
postures does not follow the noise. The result states which parameters cannot be separated: gains
and mass, unless the mass is known; mounting and skew crosstalk.

The bias drifts: `y_i(s) = Y_i(s) x + w_i(s) + e_i`, with w_i a Wiener process of variance q_i^2 s,
e_i white noise (sd_i), and s from 0 to 1 over the recording, for each axis separately. While a
sensor warms up, one axis may drift ten times as far as the others, and not linearly. If this drift
were treated as noise that is equal in all axes, it would degrade the estimates from the good axes.
`sd_i` and `q_i` maximise the evidence (Rasmussen and Williams 2006, Gaussian processes for machine
learning, section 2.7 with explicit basis functions, and section 5.4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.robot import Array, skew
from sysid_core.signals.wrench.sensor import SensorCalibration
from sysid_core.signals.wrench.tare import StaticPostures

_WIDTH = 2.0  # of the logarithms of noise and walk, about what sensors usually have
_RANGE = 16.0  # of the same, at most
GAIN_SD, CROSSTALK_SD = 0.05, 0.02  # relative: prior of an uncalibrated sensor
MOUNTING_SD, TILT_SD = 0.0175, 0.0175  # [rad]
DRIFT_SD = (3.0, 0.03)  # [N], [N m] over the whole recording
_USUAL_FORCE, _USUAL_TORQUE = (0.05, 0.3), (0.003, 0.01)  # noise of a posture, and walk, likewise
MIN_POSTURES = 8  # of six equations each
_FREE = 1e3  # deviation of what has no prior, in SI units


@dataclass(frozen=True, eq=False)
class WanderingFit:
    """Parameters x and the course of the drifting bias, with their residual.

    Attributes:
        values: Estimated parameters x, shape (n,).
        covariance: Covariance of the parameters, shape (n, n).
        noise, walk: Standard deviations sd_i and q_i of each axis, shape (3,).
        residual: Residual of the fit, shape (K, 3).
    """

    values: Array
    covariance: Array
    noise: Array
    walk: Array
    residual: Array
    _share: Array
    _weighed: Array  # V_i^-1 (y_i - Y_i x), shape (3, K)
    _whitened: Array  # V_i^-1/2 Y_i, shape (3, K, n)
    _root: Array  # V_i^-1/2, shape (3, K, K)

    def course(self, share: float, columns: Array) -> tuple[Array, Array]:
        """Return the mean and covariance of `columns @ x + w(share)`.

        Args:
            share: Time, scaled to 0 at the first posture and 1 at the last.
            columns: Matrix of the linear combinations of x, shape (3, n).

        Returns:
            Mean (3,) and covariance (3, 3).
        """
        near = np.minimum(np.clip(share, 0.0, None), self._share)
        k = self.walk[:, None] ** 2 * near  # (3, K)
        seen = np.einsum("ikl,il->ik", self._root, k)
        J = columns - np.einsum("ik,ikn->in", seen, self._whitened)
        open_walk = self.walk**2 * max(share, 0.0) - np.sum(seen**2, axis=1)
        mean = columns @ self.values + np.sum(k * self._weighed, axis=1)
        return mean, J @ self.covariance @ J.T + np.diag(np.maximum(open_walk, 0.0))


def fit_wandering(
    Y: Array, readings: Array, share: Array, mean: Array, C: Array, usual: tuple[float, float]
) -> WanderingFit:
    """Fit with a Gaussian prior of the parameters.

    Args:
        Y: Regressor of the three force or torque components at every posture, shape (K, 3, n).
        readings: Measured forces or torques at every posture, shape (K, 3).
        share: Time of each posture, scaled from 0 to 1, shape (K,).
        mean, C: Prior mean and covariance of the unknowns, shapes (n,) and (n, n).
        usual: Usual standard deviations of sensors' noise, and of their bias over the recording.
    """
    values, U = np.linalg.eigh(np.minimum(share[:, None], share[None]))
    values = np.maximum(values, 0.0)
    Y_U = np.einsum("kl,kin->iln", U, Y)  # (3, K, n), rows of an axis independent but for x
    r_U = np.einsum("kl,ki->il", U, readings - Y @ mean)
    prior = np.linalg.inv(np.linalg.cholesky(C))
    n, centre = len(mean), np.log(np.repeat(usual, 3))

    def solved(logs: Array) -> tuple[Array, Array, Array, Array]:
        """Square root of the precision matrix, right-hand side, standard deviations of the rows,
        and residual.
        """
        sd = np.sqrt(np.exp(2 * logs[:3, None]) + np.exp(2 * logs[3:, None]) * values)
        A = np.concatenate([(Y_U / sd[..., None]).reshape(-1, n), prior])
        b = np.concatenate([(r_U / sd).ravel(), np.zeros(n)])
        Q, R = np.linalg.qr(A)
        c = Q.T @ b
        return R, c, sd, b - Q @ c

    def cost(logs: Array) -> float:
        R, _, sd, left = solved(logs)
        evidence = 0.5 * left @ left + np.log(sd).sum() + np.log(np.abs(np.diag(R))).sum()
        return float(evidence + 0.5 * np.sum(((logs - centre) / _WIDTH) ** 2))

    bounds = [(x - _RANGE, x + _RANGE) for x in centre]
    logs = scipy.optimize.minimize(cost, centre, method="L-BFGS-B", bounds=bounds).x
    R, c, sd, _ = solved(logs)
    P = np.linalg.inv(R)
    x = mean + P @ c
    noise, walk = np.exp(logs[:3]), np.exp(logs[3:])
    left = r_U - (Y_U @ (x - mean))
    weighed = (left / sd**2) @ U.T
    residual = (left * (noise[:, None] / sd) ** 2) @ U.T  # noise^2 V^-1 (y - Y x)
    root = U.T[None] / sd[..., None]
    return WanderingFit(
        x, P @ P.T, noise, walk, residual.T, share, weighed, Y_U / sd[..., None], root
    )


def _entries(first: int, count: int) -> Array:
    """Matrix (3, count) that selects three unknowns, starting with the given one."""
    return np.eye(3, count, first)


_FORCE_BIAS, _FORCE_DRIFT = _entries(9, 17), _entries(12, 17)
_TORQUE_BIAS, _TORQUE_DRIFT = _entries(3, 9), _entries(6, 9)


@dataclass(frozen=True, eq=False)
class FullCalibration:
    """Calibration of a sensor from static postures, with standard deviations.

    Attributes:
        calibration: Resulting calibration: bias at the last posture, correction matrix, load.
        mass: Mass on the sensor, and its standard deviation [kg].
        gain: Symmetric force gains, reading per force, shape (3, 3); 1 for a perfect sensor.
        gain_sd: Standard deviations of the gains, shape (3, 3).
        mounting: Rotation vector from the sensor axes in the description to the true axes, shape
            (3,) [rad].
        mounting_sd: Standard deviations of the rotation vector, shape (3,) [rad].
        tilt: Tilt of gravity about the base's horizontal axes, shape (2,) [rad].
        tilt_sd: Standard deviations of the tilt, shape (2,) [rad].
        drift: Drift of the six readings from the first to the last posture, shape (6,) [N, N m].
        drift_sd: Standard deviations of the drift, shape (6,) [N, N m].
        confounded: Parameters that the postures do not separate, one sentence each.
        forces, torques: Fits of the forces and of the torques, each with the bias as a function of
            time.
        span: Times of the first and the last posture [s].
    """

    calibration: SensorCalibration
    mass: tuple[float, float]
    gain: Array
    gain_sd: Array
    mounting: Array
    mounting_sd: Array
    tilt: Array
    tilt_sd: Array
    drift: Array
    drift_sd: Array
    confounded: tuple[str, ...]
    forces: WanderingFit
    torques: WanderingFit
    span: tuple[float, float]

    def bias_at(self, time: ArrayLike) -> Array:
        """Return the bias of the sensor during the static postures, shape (S, 6), at times (S,)
        [s].
        """
        start, end = self.span
        share = (np.asarray(time, dtype=float) - start) / max(end - start, np.finfo(float).tiny)
        return np.array(
            [
                np.concatenate(
                    [
                        self.forces.course(s, _FORCE_BIAS + s * _FORCE_DRIFT)[0],
                        self.torques.course(s, _TORQUE_BIAS + s * _TORQUE_DRIFT)[0],
                    ]
                )
                for s in share
            ]
        )

    @classmethod
    def of(
        cls,
        wrench: ArrayLike,
        gravity_S: ArrayLike,
        R_WS: ArrayLike,
        time: ArrayLike,
        *,
        known_mass: float | None = None,
        frame: str = "",
        noise: ArrayLike | None = None,
        source: str = "",
    ) -> FullCalibration:
        """Estimate bias, gains, mounting, direction of gravity and drift from static postures.

        Args:
            wrench: Mean reading of each posture, shape (K, 6) [N, N m].
            gravity_S: Gravity in the axes of the sensor according to the model, shape (K, 3)
                [m/s^2].
            R_WS: Orientation of the sensor, shape (K, 3, 3).
            time: Time of each posture, shape (K,), increasing [s].
            known_mass: Known mass on the sensor [kg]; None: the mass is estimated, with a mean gain
                of one over the axes.
            frame: Name of the sensor's frame.
            noise: Standard deviation of a single sample per axis, shape (6,) [N, N m]; it is stored
                in the calibration.
            source: Name of the data source.

        Raises:
            SignalError: There are fewer than eight postures, or `StaticPostures.tare` refuses the data.
        """
        wrench, g, R_WS = (np.asarray(x, dtype=float) for x in (wrench, gravity_S, R_WS))
        _require_postures(wrench)
        plain = StaticPostures.tare(
            wrench, g, R_WS=R_WS, frame=frame, noise=noise, expected_mass=known_mass, source=source
        )
        s = _share(time)
        mass = known_mass or float(plain.tare_load[0])
        forces = fit_wandering(
            _force_columns(g, R_WS, s),
            wrench[:, :3],
            s,
            *_force_prior(mass, known_mass is not None),
            _USUAL_FORCE,
        )
        torques = _torques(wrench[:, 3:], g, s)
        x, P = forces.values, forces.covariance
        B, P_B = x[:9].reshape(3, 3), P[:9, :9]
        found = known_mass or float(np.trace(B) / 3.0)
        mean = np.eye(3).ravel() / 3.0
        mean_sd = float(np.sqrt(mean @ P_B @ mean))
        mass_sd = 0.0 if known_mass else mean_sd
        R, gain = scipy.linalg.polar(B / found, side="left")
        J = _skew_part()
        bias, covariance = _at_the_end(forces, torques)
        covariance[0, 0] = mass_sd**2 + (0.0 if known_mass else (GAIN_SD * found) ** 2 / 3.0)
        drift, drift_P = zip(
            forces.course(1.0, _FORCE_DRIFT), torques.course(1.0, _TORQUE_DRIFT), strict=True
        )
        matrix = np.eye(6)
        matrix[:3, :3] = np.linalg.inv(B / found)
        matrix[3:, 3:] = R.T  # a mounting turns torques as it turns forces
        gain_sd = np.sqrt(np.diag(P_B)).reshape(3, 3) / found
        mounting_sd = np.sqrt(np.diag(J @ P_B @ J.T)) / found
        tilt, tilt_sd = x[15:17] / found, np.sqrt(np.diag(P)[15:17]) / found
        calibration = replace(
            plain,
            bias=bias,
            tare_load=np.concatenate([[found], torques.values[:3]]),
            covariance=covariance,
            residual_rms=np.sqrt(
                np.mean(np.hstack([forces.residual, torques.residual]) ** 2, axis=0)
            ),
            matrix=matrix,
            # The skew part of crosstalk looks like a mounting.
            mounting_left=float(np.hypot(mounting_sd.max(), CROSSTALK_SD / np.sqrt(2.0))),
            tilt_left=float(np.hypot(tilt, tilt_sd).max()),
            gain_left=(mean_sd / found if known_mass else float("nan"), float(gain_sd.max())),
        )
        return cls(
            calibration=calibration,
            mass=(found, float(np.sqrt(covariance[0, 0]))),
            gain=gain,
            gain_sd=gain_sd,
            mounting=scipy.spatial.transform.Rotation.from_matrix(R).as_rotvec(),
            mounting_sd=mounting_sd,
            tilt=tilt,
            tilt_sd=tilt_sd,
            drift=np.concatenate(drift),
            drift_sd=np.sqrt(np.concatenate([np.diag(C) for C in drift_P])),
            confounded=_confounded(known_mass is not None),
            forces=forces,
            torques=torques,
            span=(float(np.min(time)), float(np.max(time))),
        )


def _share(time: ArrayLike) -> Array:
    """Time of each posture, scaled to 0 at the first and 1 at the last posture."""
    time = np.asarray(time, dtype=float)
    length = float(time[-1] - time[0])
    return (time - time[0]) / length if length > 0 else np.zeros(len(time))


def _force_columns(g: Array, R_WS: Array, share: Array) -> Array:
    """Columns of the nine entries of B, bias, drift, and mass times tilt, shape (K, 3, 17)."""
    K = len(g)
    B = -np.einsum("il,kj->kilj", np.eye(3), g).reshape(K, 3, 9)
    one = np.tile(np.eye(3), (K, 1, 1))
    g_W = np.einsum("kij,kj->ki", R_WS, g).mean(axis=0)
    size = float(np.linalg.norm(g_W))
    across = np.linalg.svd(g_W[None] / size)[2][1:]
    tilt = -size * np.einsum("kji,hj->kih", R_WS, across)
    return np.concatenate([B, one, share[:, None, None] * one, tilt], axis=2)


def _skew_part() -> Array:
    """Matrix from the entries of a 3 x 3 matrix to the rotation vector of its skew-symmetric part,
    shape (3, 9).
    """
    generators = np.asarray(skew(np.eye(3)))
    return 0.5 * generators.reshape(3, 9)


def _force_prior(mass: float, known: bool) -> tuple[Array, Array]:
    """Mean (17,) and covariance (17, 17) of the unknowns of the forces."""
    entries = np.full((3, 3), CROSSTALK_SD**2)
    np.fill_diagonal(entries, GAIN_SD**2)
    turns = 2.0 * _skew_part()
    C = np.zeros((17, 17))
    C[:9, :9] = mass**2 * (np.diag(entries.ravel()) + MOUNTING_SD**2 * turns.T @ turns)
    if not known:
        C[:9, :9] += (_FREE * mass) ** 2 * np.outer(np.eye(3), np.eye(3))
    C[9:12, 9:12] = _FREE**2 * np.eye(3)
    C[12:15, 12:15] = DRIFT_SD[0] ** 2 * np.eye(3)
    C[15:, 15:] = (mass * TILT_SD) ** 2 * np.eye(2)
    mean = np.zeros(17)
    mean[:9] = mass * np.eye(3).ravel()
    return mean, C


def _torques(torque: Array, g: Array, share: Array) -> WanderingFit:
    """First moments, bias and drift of the torques."""
    one = np.tile(np.eye(3), (len(g), 1, 1))
    Y = np.concatenate([skew(g), one, share[:, None, None] * one], axis=2)
    C = np.diag(np.repeat([_FREE, _FREE, DRIFT_SD[1]], 3) ** 2)
    return fit_wandering(Y, torque, share, np.zeros(9), C, _USUAL_TORQUE)


def _confounded(known: bool) -> tuple[str, ...]:
    confounded = (
        []
        if known
        else ["The mean force gain and the mass on the sensor: specify the mass (--expected-mass)."]
    )
    confounded.append(
        "A rotated mounting and antisymmetric crosstalk of the forces: both are attributed to the mounting."
    )
    confounded.append("The torque gains: they are not changed.")
    return tuple(confounded)


def _at_the_end(forces: WanderingFit, torques: WanderingFit) -> tuple[Array, Array]:
    """Bias at the last posture (6,), and covariance (10, 10) of load and bias, in which the entries
    of the mass are zero.
    """
    covariance = np.zeros((10, 10))
    covariance[1:4, 1:4] = torques.covariance[:3, :3]
    force, covariance[4:7, 4:7] = forces.course(1.0, _FORCE_BIAS + _FORCE_DRIFT)
    torque, covariance[7:, 7:] = torques.course(1.0, _TORQUE_BIAS + _TORQUE_DRIFT)
    return np.concatenate([force, torque]), covariance


def _require_postures(wrench: Array) -> None:
    if len(wrench) < MIN_POSTURES:
        raise SignalError(
            f"{len(wrench)} postures are too few to calibrate a sensor.",
            remedy=f"Hold still in {MIN_POSTURES} or more postures that tilt the sensor about all its axes;"
            " 20 are good.",
        )
