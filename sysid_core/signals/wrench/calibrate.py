# SPDX-License-Identifier: Apache-2.0
r"""Calibrating a force-torque sensor in still postures: more than its bias.

    f_k = -G m (1 + [delta]x) (g_k + R_k^T t) + b_f + d_f s_k,     tau_k = g_k x (m c) + b_t + d_t s_k

with the force gains G = 1 + E, the mounting error delta, the tilt t of gravity in the base and a linear
drift d over the recording. Linear in `B = G m (1 + [delta]x)`; Gaussian priors say what sensors are
like, so that few postures don't fit noise. What stays confounded is said: gains and mass, unless the
mass is known; mounting and skew crosstalk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.robot import Array, skew
from sysid_core.signals.wrench.sensor import SensorCalibration
from sysid_core.signals.wrench.tare import tare_static

GAIN_SD, CROSSTALK_SD = 0.05, 0.02
MOUNTING_SD, TILT_SD = 0.0175, 0.0175  # [rad]
DRIFT_SD = (3.0, 0.03)  # [N], [N m] over the whole recording
MIN_POSTURES = 8
_FREE = 1e3


@dataclass(frozen=True, eq=False)
class FullCalibration:
    """Everything that still postures say of a sensor; deviations beside the values.

    Attributes:
        calibration: To be kept and used: bias at the last posture, correction matrix, load.
        mass: On the sensor, and its sd [kg].
        gain: Symmetric force gains, reading per force, shape (3, 3); 1 for a perfect sensor.
        gain_sd: Shape (3, 3).
        mounting: Rotation vector of the true axes against the described, shape (3,) [rad].
        mounting_sd: Shape (3,) [rad].
        tilt: Tilt of gravity about the base's horizontal axes, shape (2,) [rad].
        tilt_sd: Shape (2,) [rad].
        drift: Drift of the six readings from the first to the last posture, shape (6,) [N, N m].
        drift_sd: Shape (6,).
        confounded: What these postures can't separate, one sentence each.
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


def calibrate_static(
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
    """Bias, gains, mounting, gravity's direction and drift from still postures.

    Args:
        wrench: Mean reading of each posture, shape (K, 6) [N, N m].
        gravity_S: Gravity in the sensor's axes as the model says, shape (K, 3) [m/s^2].
        R_WS: Orientation of the sensor, shape (K, 3, 3).
        time: When each was held, shape (K,), increasing [s].
        known_mass: On the sensor [kg]; None: the mass is found from the mean gain of the axes.
        frame: Name of the sensor's frame.
        noise: Standard deviation of a single sample per axis, shape (6,), kept for later.
        source: Where the data came from.

    Raises:
        SignalError: Fewer than eight postures, or what `tare_static` refuses.
    """
    wrench, g, R_WS = (np.asarray(x, dtype=float) for x in (wrench, gravity_S, R_WS))
    _require_postures(wrench)
    plain = tare_static(
        wrench, g, R_WS=R_WS, frame=frame, noise=noise, expected_mass=known_mass, source=source
    )
    s = _share(time)
    mass = known_mass or float(plain.tare_load[0])
    Y = _force_columns(g, R_WS, s)
    x, P, rms = _regularised(Y, wrench[:, :3], *_force_prior(mass, known_mass is not None))
    B, P_B = x[:9].reshape(3, 3), P[:9, :9]
    found = known_mass or float(np.trace(B) / 3.0)
    mean = np.eye(3).ravel() / 3.0
    mass_sd = 0.0 if known_mass else float(np.sqrt(mean @ P_B @ mean))
    R, gain = scipy.linalg.polar(B / found, side="left")
    J = _skew_part()
    linear, torque_bias, torque_drift, torque_P, torque_rms = _torques(wrench[:, 3:], g, s)
    covariance = _covariance_at_the_end(P, torque_P)
    covariance[0, 0] = mass_sd**2 + (0.0 if known_mass else (GAIN_SD * found) ** 2 / 3.0)
    matrix = np.eye(6)
    matrix[:3, :3] = np.linalg.inv(B / found)
    calibration = replace(
        plain,
        bias=np.concatenate([x[9:12] + x[12:15], torque_bias + torque_drift]),
        tare_load=np.concatenate([[found], linear]),
        covariance=covariance,
        residual_rms=np.concatenate([np.full(3, rms), np.full(3, torque_rms)]),
        matrix=matrix,
    )
    return FullCalibration(
        calibration=calibration,
        mass=(found, float(np.sqrt(covariance[0, 0]))),
        gain=gain,
        gain_sd=np.sqrt(np.diag(P_B)).reshape(3, 3) / found,
        mounting=scipy.spatial.transform.Rotation.from_matrix(R).as_rotvec(),
        mounting_sd=np.sqrt(np.diag(J @ P_B @ J.T)) / found,
        tilt=x[15:17] / found,
        tilt_sd=np.sqrt(np.diag(P)[15:17]) / found,
        drift=np.concatenate([x[12:15], torque_drift]),
        drift_sd=np.sqrt(np.concatenate([np.diag(P)[12:15], np.diag(torque_P)[6:9]])),
        confounded=_confounded(known_mass is not None),
    )


def _share(time: ArrayLike) -> Array:
    """From 0 at the first posture to 1 at the last."""
    time = np.asarray(time, dtype=float)
    length = float(time[-1] - time[0])
    return (time - time[0]) / length if length > 0 else np.zeros(len(time))


def _force_columns(g: Array, R_WS: Array, share: Array) -> Array:
    """Columns of the nine entries of B, bias, drift, and mass times tilt, shape (3 K, 17)."""
    K = len(g)
    B = -np.einsum("il,kj->kilj", np.eye(3), g).reshape(K, 3, 9)
    one = np.tile(np.eye(3), (K, 1, 1))
    g_W = np.einsum("kij,kj->ki", R_WS, g).mean(axis=0)
    size = float(np.linalg.norm(g_W))
    across = np.linalg.svd(g_W[None] / size)[2][1:]
    tilt = -size * np.einsum("kji,hj->kih", R_WS, across)
    return np.concatenate([B, one, share[:, None, None] * one, tilt], axis=2).reshape(3 * K, 17)


def _skew_part() -> Array:
    """From the entries of a matrix to the rotation vector of its skew part, shape (3, 9)."""
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


def _torques(torque: Array, g: Array, share: Array) -> tuple[Array, Array, Array, Array, float]:
    """First moments, bias and drift of the torques, their covariance (9, 9), and the residual."""
    one = np.tile(np.eye(3), (len(g), 1, 1))
    Y = np.concatenate([skew(g), one, share[:, None, None] * one], axis=2).reshape(-1, 9)
    C = np.diag(np.repeat([_FREE, _FREE, DRIFT_SD[1]], 3) ** 2)
    x, P, rms = _regularised(Y, torque, np.zeros(9), C)
    return x[:3], x[3:6], x[6:], P, rms


def _regularised(Y: Array, b: Array, mean: Array, C: Array) -> tuple[Array, Array, float]:
    """Maximum a posteriori, its covariance, and the residual's RMS; noise from the residual."""
    target = b.reshape(-1)
    precision = np.linalg.inv(C)
    sd = float(np.std(target - Y @ np.linalg.lstsq(Y, target, rcond=None)[0])) + 1e-9
    for _ in range(5):
        P = np.linalg.inv(Y.T @ Y / sd**2 + precision)
        x = P @ (Y.T @ target / sd**2 + precision @ mean)
        used = float(np.trace(Y @ P @ Y.T)) / sd**2  # unknowns that the data settle
        left = target - Y @ x
        sd = float(np.sqrt(left @ left / max(len(target) - used, 1.0))) + 1e-9
    return x, P, float(np.sqrt(np.mean(left**2)))


def _confounded(known: bool) -> tuple[str, ...]:
    confounded = (
        [] if known else ["The mean gain of the axes and the mass: say the mass that hangs there."]
    )
    confounded.append("A turned mounting and skew crosstalk of the forces: both count as mounting.")
    confounded.append("Gains of the torques: they are left as they are.")
    return tuple(confounded)


def _covariance_at_the_end(P: Array, torque_P: Array) -> Array:
    """Covariance of load and bias at the last posture, `b + d`, shape (10, 10); no mass."""
    covariance = np.zeros((10, 10))
    covariance[1:4, 1:4] = torque_P[:3, :3]
    to_end = np.hstack([np.eye(3), np.eye(3)])
    covariance[4:7, 4:7] = to_end @ P[9:15, 9:15] @ to_end.T
    covariance[7:, 7:] = to_end @ torque_P[3:, 3:] @ to_end.T
    return covariance


def _require_postures(wrench: Array) -> None:
    if len(wrench) < MIN_POSTURES:
        raise SignalError(
            f"{len(wrench)} postures are too few to calibrate a sensor.",
            remedy=f"Hold still in {MIN_POSTURES} or more, tilted about all axes; 20 are good.",
        )
