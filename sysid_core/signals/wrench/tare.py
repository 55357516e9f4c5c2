# SPDX-License-Identifier: Apache-2.0
"""Tare of a force-torque sensor from static postures.

The bias is constant in the axes of the sensor, and the weight turns with gravity. Several tilted
postures determine both; a single posture determines the bias if the load is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.signals.recording import Array, JointStream, Recording, WrenchStream
from sysid_core.signals.wrench.checks import WrenchCheck
from sysid_core.signals.wrench.convention import WrenchSign
from sysid_core.signals.wrench.dress_pack import fit_dress_pack
from sysid_core.signals.wrench.mounting import MountingKind, check_mounting, require_weight
from sysid_core.signals.wrench.sensor import SensorCalibration

# Tilt between postures below which bias and weight can't be told apart (about 3 degrees).
_MIN_TILT = 0.05
_MOST_DRIFT = (2.0, 0.1)  # [N], [N m]: more is an object in the gripper, or a new sensor
_SPREAD = 5.0  # standard deviations between postures
_STILL_RANGE = 2e-3  # range within which every joint must stay during the window [rad or m]
_STILL_WINDOW = 0.3  # length of the sliding window [s]
_SHORTEST_STILL = 0.5  # shortest span that counts, settling included [s]
_SETTLE = 0.2  # left out at the start of each span, where the arm still swings [s]


@dataclass(frozen=True, eq=False)
class StaticPostures:
    """Static postures of a recording, one row each.

    Attributes:
        wrench: Mean readings, force then torque, shape (K, 6) [N, N m].
        gravity_S: Gravity in the sensor's axes, shape (K, 3) [m/s^2].
        R_WS: Orientation of the sensor, shape (K, 3, 3).
        p_WS: Position of the sensor, shape (K, 3) [m].
        noise: Standard deviation of a single sample, pooled over the postures, shape (6,) [N, N m].
        n_samples: Number of wrench samples of each posture, shape (K,).
        start_ns: Stamp at which each posture begins (without the settling time), shape (K,) [ns].
        notes: Remarks on the readings, one sentence each.
    """

    wrench: Array
    gravity_S: Array
    R_WS: Array
    p_WS: Array
    noise: Array
    n_samples: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.wrench)

    @classmethod
    def find(
        cls,
        recording: Recording,
        model: RobotModel,
        frame: str,
        *,
        spans: Sequence[tuple[int, int]] | None = None,
    ) -> StaticPostures:
        """Find the static postures in a recording, and average the wrench in each.

        Args:
            recording: Joint positions and wrench, each with its own stamps (same clock).
            model: Robot with the sensor's frame.
            frame: Name of the sensor's frame.
            spans: Stamps of the first and last sample of each posture [ns]; None: found from the
                motion.

        Raises:
            SignalError: There is no wrench, or the robot is never at rest.
        """
        stream, joints = _to_tare(recording, model, frame)
        if spans is None:
            spans = _still_spans(joints)
        found: list[_StillSpan] = []
        for first, last in spans:
            start = first + round(_SETTLE * 1e9)
            samples = stream.wrench[(stream.stamps_ns >= start) & (stream.stamps_ns <= last)]
            samples = samples[np.isfinite(samples).all(axis=1)]
            samples = samples[~WrenchCheck.single_spikes(samples)]
            held = joints.q[(joints.stamps_ns >= start) & (joints.stamps_ns <= last)]
            if len(samples) >= 2 and len(held):
                found.append(_StillSpan(samples, start, held.mean(axis=0)))
        if not found:
            raise SignalError(
                f"The robot is never at rest for {_SHORTEST_STILL:.1f} s in '{recording.source}'.",
                remedy="Hold each tare posture for about a second.",
            )
        return _postures(found, model, frame)

    @classmethod
    def of_rows(cls, recording: Recording, model: RobotModel, frame: str) -> StaticPostures:
        """Return the postures of a recording in which each joint state is one static posture, with
        the wrench of the same stamp; the noise of a sample is unknown (0).

        Args:
            recording: Joint positions and wrench.
            model: Robot with the sensor's frame.
            frame: Name of the sensor's frame.

        Raises:
            SignalError: There is no wrench.
        """
        stream, joints = _to_tare(recording, model, frame)
        _, rows, readings = np.intersect1d(joints.stamps_ns, stream.stamps_ns, return_indices=True)
        pairs = zip(rows.tolist(), readings.tolist(), strict=True)
        spans = [
            _StillSpan(stream.wrench[[j, j]], int(joints.stamps_ns[k]), joints.q[k])
            for k, j in pairs
        ]
        return _postures(spans, model, frame)

    def with_dress_pack(self, kept: SensorCalibration) -> SensorCalibration:
        """Return the calibration with the tool, bias and dress pack estimated on the arm without a
        payload.

        The standard deviation of the bias is replaced by that of the prediction errors in postures
        that were not used in the fit.

        Args:
            kept: Calibration from the same postures: gains, sign and axes are taken from it.

        Raises:
            SignalError: There are too few postures, or all are near the same position.
        """
        readings = self.wrench @ kept.matrix.T
        pack, load, bias, left = fit_dress_pack(readings, self.gravity_S, self.R_WS, self.p_WS)
        covariance = np.array(kept.covariance)
        covariance[4:, 4:] = np.diag(left)
        found = replace(
            kept,
            bias=np.linalg.solve(kept.matrix, bias),
            tare_load=load,
            covariance=covariance,
            dress_pack=pack,
        )
        return found.with_load_as_tool()

    def retare(
        self, kept: SensorCalibration, *, temperature: float = float("nan")
    ) -> tuple[SensorCalibration, Array]:
        """Return a copy of a stored calibration with the current bias, measured with only the known
        tool on the sensor.

        Args:
            kept: Calibration from an earlier tare.
            temperature: Present temperature of the sensor [°C]; NaN: unknown.

        Returns:
            Calibration, and change of the bias, shape (6,) [N, N m].

        Raises:
            SignalError: The readings changed by more than the usual drift, or differ between
                postures.
        """
        weight = SensorCalibration.static_regressor(self.gravity_S) @ kept.tool_pi[:4]
        left = kept.net(self.wrench, self.R_WS, self.p_WS) - weight
        each = kept.bias + left @ np.linalg.inv(kept.matrix).T
        change = each.mean(axis=0) - kept.bias
        most = np.repeat(_MOST_DRIFT, 3)
        sd = np.maximum(self.noise / np.sqrt(self.n_samples.min()), 0.01 * most)
        spread = np.abs(each - each.mean(axis=0)).max(axis=0)
        if np.any(np.abs(change) > most) or np.any(spread > np.maximum(_SPREAD * sd, 0.1 * most)):
            force, torque = np.abs(change[:3]).max(), np.abs(change[3:]).max()
            raise SignalError(
                f"The readings differ from the tare by {force:.2g} N and {torque:.2g} N m, or depend on the"
                " posture: this is not a drift of the bias.",
                remedy="Open the gripper; without a load, tare again in three tilted postures.",
            )
        covariance = np.array(kept.covariance)
        covariance[4:, 4:] += np.diag(sd**2) / max(len(each), 1)
        renewed = replace(
            kept,
            bias=kept.bias + change,
            covariance=covariance,
            stamp_ns=int(self.start_ns.max()),
            temperature=temperature,
            notes=(*kept.notes, *self.notes),
        )
        return renewed, change

    @staticmethod
    def tare(
        wrench: ArrayLike,
        gravity_S: ArrayLike,
        *,
        R_WS: ArrayLike | None = None,
        frame: str = "",
        noise: ArrayLike | None = None,
        expected_mass: float | None = None,
        allow_bare: bool = False,
        sign: WrenchSign = WrenchSign.AUTO,
        source: str = "",
    ) -> SensorCalibration:
        r"""Estimate the bias, and mass and first moments of the load, from several static postures.

        Least squares of `w_k = G(g_k) [m, h] + b`; forces and torques share no unknowns, so that each
        has its own noise level. At least three postures, tilted about two axes, are necessary.

        Args:
            wrench: Mean reading of each posture, shape (K, 6) [N, N m].
            gravity_S: Gravity in the sensor's axes in each posture, shape (K, 3) [m/s^2].
            R_WS: Orientation of the sensor, shape (K, 3, 3), with which a wrong direction of gravity
                can be distinguished from a wrongly described sensor.
            frame: Name of the sensor's frame.
            noise: Standard deviation of a single sample per axis, shape (6,) [N, N m]; it is stored in
                the calibration.
            expected_mass: Expected mass on the sensor [kg]; a much smaller weight indicates that the
                controller or driver compensates a load.
            allow_bare: True to accept readings without any weight.
            sign: Sign of the readings, kept in the calibration's `matrix`; AUTO: found from the weight.
            source: Name of the data source.

        Raises:
            SignalError: There are too few directions of gravity, the wrench is probably compensated
                already, the sensor is upside down or rotated, or gravity differs from that of the
                model.
        """
        wrench, gravity_S = np.asarray(wrench, dtype=float), np.asarray(gravity_S, dtype=float)
        _require_postures(wrench, gravity_S)
        misalignment = float("nan")
        if not allow_bare:
            require_weight(wrench[:, :3], gravity_S, expected_mass, R_WS)
            kind = check_mounting(wrench[:, :3], gravity_S, R_WS).kind
            if sign is WrenchSign.AUTO and kind is MountingKind.SIGN_REVERSED:
                sign = WrenchSign.LOAD_ON_SENSOR
        reversed_sign = sign is WrenchSign.LOAD_ON_SENSOR
        wrench = -wrench if reversed_sign else wrench
        if not allow_bare:
            mounting = check_mounting(wrench[:, :3], gravity_S, R_WS)
            mounting.require()
            misalignment = mounting.angle
        values, covariance, rms = _load_and_bias(wrench, gravity_S)
        found = SensorCalibration(
            frame=frame,
            bias=values[4:],
            tare_load=values[:4],
            covariance=covariance,
            noise=np.zeros(6) if noise is None else np.asarray(noise, dtype=float),
            residual_rms=rms,
            misalignment=misalignment,
            n_postures=len(wrench),
            source=source,
        )
        return found.of_opposite_sign() if reversed_sign else found


def _to_tare(
    recording: Recording, model: RobotModel, frame: str
) -> tuple[WrenchStream, JointStream]:
    """Wrench, and joint states in the order of time.

    Raises:
        SignalError: One of them is missing, or the wrench is in another frame.
    """
    stream = recording.wrench
    if stream is None or len(stream) == 0 or len(recording.joints) < 3:
        raise SignalError(
            f"'{recording.source}' has no wrench and joint states to tare with.",
            remedy="Record the raw wrench topic and the joint states together.",
        )
    WrenchCheck.require_frame(stream.frame, frame, f"The wrench of '{recording.source}'")
    order = np.argsort(recording.joints.stamps_ns, kind="stable")
    return stream, recording.joints.ordered(model.joint_names).select(order)


def _still_spans(joints: JointStream) -> list[tuple[int, int]]:
    """First and last stamp of each standstill [ns]."""
    time = joints.time
    size = max(round(_STILL_WINDOW / max(float(np.median(np.diff(time))), 1e-9)), 2)
    swing = scipy.ndimage.maximum_filter1d(joints.q, size, axis=0) - scipy.ndimage.minimum_filter1d(
        joints.q, size, axis=0
    )
    still = np.all(swing < _STILL_RANGE, axis=1)
    edges = np.flatnonzero(np.diff(np.r_[False, still, False].astype(int)))
    return [
        (int(joints.stamps_ns[first]), int(joints.stamps_ns[last]))
        for first, last in zip(edges[::2], edges[1::2] - 1, strict=True)
        if time[last] - time[first] >= _SHORTEST_STILL
    ]


@dataclass(frozen=True, eq=False)
class _StillSpan:
    """Readings during a standstill (K, 6), its first stamp, and the mean joint positions (n,)."""

    samples: Array
    start_ns: int
    q: Array


def _postures(spans: Sequence[_StillSpan], model: RobotModel, frame: str) -> StaticPostures:
    """Mean wrench of each posture, with gravity in the axes of the sensor."""
    q = np.array([span.q for span in spans])
    motion = model.frame_motion(frame, q, np.zeros_like(q), np.zeros_like(q))
    counts = np.array([len(span.samples) for span in spans], dtype=np.int64)
    variances = [span.samples.var(axis=0, ddof=1) for span in spans]
    assert motion.p_WF is not None
    return StaticPostures(
        wrench=np.array([span.samples.mean(axis=0) for span in spans]),
        gravity_S=motion.gravity,
        R_WS=motion.R_WF,
        p_WS=motion.p_WF,
        noise=np.sqrt(np.average(variances, axis=0, weights=counts - 1)),
        n_samples=counts,
        start_ns=np.array([span.start_ns for span in spans], dtype=np.int64),
        notes=WrenchCheck.slow_note([span.samples for span in spans]),
    )


def _require_postures(wrench: Array, gravity_S: Array) -> None:
    if wrench.ndim != 2 or wrench.shape[1] != 6 or gravity_S.shape != (len(wrench), 3):
        raise SignalError(
            f"Postures have wrenches {wrench.shape} and gravity {gravity_S.shape}, expected"
            " (K, 6) and (K, 3).",
            remedy="Give the mean reading and gravity in sensor axes of each posture.",
        )
    if not (np.all(np.isfinite(wrench)) and np.all(np.isfinite(gravity_S))):
        raise SignalError(
            "The tare postures hold values that are not finite.",
            remedy="Remove the posture, or check the driver of the sensor.",
        )
    directions = gravity_S / np.maximum(np.linalg.norm(gravity_S, axis=1, keepdims=True), 1e-9)
    spread = np.linalg.svd(directions - directions.mean(axis=0), compute_uv=False)
    tilt = spread[1] / np.sqrt(len(wrench)) if len(spread) > 1 else 0.0
    if len(wrench) < 3 or tilt < _MIN_TILT:
        raise SignalError(
            f"{len(wrench)} static posture(s) have too few directions of gravity to separate bias"
            f" and weight (the RMS tilt about a second axis is {np.rad2deg(tilt):.1f} degrees, and"
            f" {np.rad2deg(_MIN_TILT):.0f} are needed; the inclination of the sensor's"
            f" {'xyz'[int(np.argmin(np.ptp(directions, axis=0)))]} axis changed least).",
            remedy="Hold still in at least three postures, the sensor tilted by 30 degrees or more"
            " about two different axes; six (each axis up and down) are best.",
            tilt=float(tilt),
        )


def _load_and_bias(wrench: Array, gravity_S: Array) -> tuple[Array, Array, Array]:
    """Least squares of `w_k = G(g_k) [m, h] + b`, separately for forces and torques.

    Returns:
        Mass, first moments and bias, shape (10,); their covariance; residual per axis, (6,).
    """
    K, G = len(wrench), SensorCalibration.static_regressor(gravity_S)
    values, covariance, rms = np.zeros(10), np.zeros((10, 10)), np.zeros(6)
    for rows, columns in ((slice(0, 3), [0, 4, 5, 6]), (slice(3, 6), [1, 2, 3, 7, 8, 9])):
        loads = G[:, rows, :1] if len(columns) == 4 else G[:, rows, 1:]
        Y = np.concatenate([loads, np.tile(np.eye(3), (K, 1, 1))], axis=2).reshape(3 * K, -1)
        b = wrench[:, rows].reshape(-1)
        solution = np.linalg.lstsq(Y, b, rcond=None)[0]
        residual = b - Y @ solution
        variance = float(residual @ residual) / (3 * K - len(columns))
        values[columns] = solution
        covariance[np.ix_(columns, columns)] = variance * np.linalg.inv(Y.T @ Y)
        rms[rows] = np.sqrt(np.mean(residual.reshape(K, 3) ** 2, axis=0))
    return values, covariance, rms
