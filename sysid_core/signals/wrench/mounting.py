# SPDX-License-Identifier: Apache-2.0
"""Check of the sensor's mounting against the model by the direction of gravity.

Static postures obey `f_k = -m R g_k + b`, where R is the rotation between the described and the
true axes of the sensor (the identity if the description is right). Subtraction of the means removes
the bias; R with m is then an orthogonal Procrustes problem (Kabsch 1976; Umeyama 1991). If instead
the direction of gravity in the base frame is wrong, `f_k = -m R_WS(k)^T g_W + b` is linear in `m
g_W`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sysid_core.errors import SignalError
from sysid_core.robot import RobotModel
from sysid_core.settings import Kind
from sysid_core.signals.recording import Array

_MIN_MASS = 0.02  # [kg], below it a sensor with a tool can't be
_MAX_MISALIGNMENT = np.deg2rad(15.0)  # between described and true axes of a correct mounting
_HALF_TURN_TOLERANCE = np.deg2rad(30.0)  # from upside down: so near, the fault is named a half turn


class MountingKind(Kind):
    """Kind of difference between the described and the true axes or gravity."""

    AS_DESCRIBED = "as described"
    UPSIDE_DOWN = "upside down"
    TURNED = "turned"
    SIGN_REVERSED = "sign reversed"
    GRAVITY_DIRECTION = "gravity direction"
    BASE_AXES = "axes of the base"


@dataclass(frozen=True)
class Mounting:
    """Orientation of axes and gravity, determined from the weight.

    Attributes:
        kind: Difference between described and true mounting.
        angle: Angle between the described and the measured axes (or gravity) [rad].
        text: Description of the finding, one sentence.
        remedy: Recommended action; "" if there is none.
    """

    kind: MountingKind
    angle: float
    text: str
    remedy: str = ""

    def require(self) -> None:
        """Raise an error if axes, sign or gravity are not as described.

        Raises:
            SignalError: They are not.
        """
        if self.kind is not MountingKind.AS_DESCRIBED:
            raise SignalError(self.text, remedy=self.remedy, kind=self.kind, angle=self.angle)


def procrustes(force: Array, gravity_S: Array, sign: float) -> tuple[Array, float, float]:
    """Return the rotation R (3, 3), the mass m and the RMS residual of the least-squares fit
    `force = -sign m R gravity + b` (Kabsch 1976), for forces and gravity (K, 3) and a sign of 1 or
    -1.
    """
    f = force - force.mean(axis=0)
    g = gravity_S - gravity_S.mean(axis=0)
    U, s, Vt = np.linalg.svd(-sign * f.T @ g)
    D = np.array([1.0, 1.0, np.sign(np.linalg.det(U @ Vt)) or 1.0])
    R = (U * D) @ Vt
    mass = float(s @ D) / float(np.sum(g**2))
    return R, mass, float(np.sqrt(np.mean((f + sign * mass * g @ R.T) ** 2)))


def _angle(R: Array) -> float:
    return float(scipy.spatial.transform.Rotation.from_matrix(R).magnitude())


def _half_turn_text(R: Array) -> tuple[MountingKind, str]:
    """Kind and description of a rotation: upside down if the z axis points in the opposite
    direction.
    """
    vector = scipy.spatial.transform.Rotation.from_matrix(R).as_rotvec()
    angle = float(np.linalg.norm(vector))
    axis = vector / max(angle, 1e-12)
    words = f"{np.rad2deg(angle):.0f} degrees about [{axis[0]:.2f} {axis[1]:.2f} {axis[2]:.2f}]"
    if R[2, 2] < -np.cos(_HALF_TURN_TOLERANCE):
        return (
            MountingKind.UPSIDE_DOWN,
            f"The sensor is mounted upside down: its axes are turned by {words}",
        )
    return MountingKind.TURNED, f"The sensor's axes are turned by {words}"


def check_mounting(
    force: ArrayLike,
    gravity_S: ArrayLike,
    R_WS: ArrayLike | None = None,
) -> Mounting:
    r"""Compare the described axes and gravity with those determined from the weight.

    Args:
        force: Force readings in static postures, shape (K, 3) [N].
        gravity_S: Gravity in the axes of the sensor according to the model, shape (K, 3) [m/s^2].
        R_WS: Orientations of the sensor according to the model, shape (K, 3, 3). If None, a wrong
            direction of gravity cannot be distinguished from a rotated sensor.
    """
    force, gravity_S = np.asarray(force, dtype=float), np.asarray(gravity_S, dtype=float)
    R, mass, rms = procrustes(force, gravity_S, 1.0)
    R_neg, _, rms_neg = procrustes(force, gravity_S, -1.0)
    scale = mass * float(np.linalg.norm(gravity_S[0]))
    # A planar set of directions fits a reversed sign and a half turn equally well.
    tie = 1e-3 * scale
    if _angle(R) <= _MAX_MISALIGNMENT and rms <= rms_neg + tie:
        return Mounting(MountingKind.AS_DESCRIBED, _angle(R), "The sensor's axes are as described.")
    if _angle(R_neg) <= _MAX_MISALIGNMENT and rms_neg <= rms + tie:
        also = " (or the sensor is turned by 180 degrees)" if rms <= rms_neg + tie else ""
        return Mounting(
            MountingKind.SIGN_REVERSED,
            np.pi,
            f"The wrench has the opposite sign{also}: a resting load must push against gravity,"
            " f = -m g.",
            "Give --wrench-sign load-on-sensor (the sign depends on the driver). If the robot"
            " hangs from a ceiling, reverse the gravity of the model instead.",
        )
    if R_WS is not None:
        R_WS, least = np.asarray(R_WS, dtype=float), 0.7 * min(rms, rms_neg)
        in_sensor = np.einsum("kji,kj->ki", R_WS, force)
        rms_base = min(procrustes(in_sensor, gravity_S, sign)[2] for sign in (1.0, -1.0))
        tilt, rms_g, g_W, _ = _gravity_in_base(force, R_WS, gravity_S)
        if rms_base < min(least, 0.7 * rms_g):
            return Mounting(
                MountingKind.BASE_AXES,
                float("nan"),
                "The wrench is expressed in the axes of the base, not of the sensor.",
                "Give --wrench-axes base, or record the raw wrench of the sensor.",
            )
        if rms_g < least and tilt > _MAX_MISALIGNMENT:
            return Mounting(
                MountingKind.GRAVITY_DIRECTION,
                tilt,
                f"The direction of gravity differs from that of the model: [{g_W[0]:.2f}"
                f" {g_W[1]:.2f} {g_W[2]:.2f}] m/s^2 in the base frame,"
                f" {np.rad2deg(tilt):.0f} degrees off.",
                "Is the robot on a wall, a ceiling or a slope? Give the model that gravity.",
            )
    kind, text = _half_turn_text(R)
    return Mounting(
        kind,
        _angle(R),
        text + " against the robot model.",
        "Correct the sensor's frame in the URDF (or name the right frame), then tare again.",
    )


def _gravity_in_base(
    force: Array, R_WS: Array, gravity_S: Array
) -> tuple[float, float, Array, float]:
    """Tilt against the model's gravity, RMS residual, gravity and weight of `f = -m R_WS^T g + b`."""
    R_SW = np.swapaxes(R_WS, -1, -2)
    claimed = np.einsum("kij,kj->ki", R_WS, gravity_S).mean(axis=0)
    Y = (-(R_SW - R_SW.mean(axis=0))).reshape(-1, 3)
    f = (force - force.mean(axis=0)).reshape(-1)
    weight = np.linalg.lstsq(Y, f, rcond=None)[0]
    norm = float(np.linalg.norm(weight))
    direction = weight / max(norm, 1e-12)
    claimed_norm = float(np.linalg.norm(claimed)) or float(
        np.linalg.norm(RobotModel.STANDARD_GRAVITY)
    )
    tilt = float(np.arccos(np.clip(direction @ claimed / claimed_norm, -1.0, 1.0)))
    rms = float(np.sqrt(np.mean((f - Y @ weight) ** 2)))
    return tilt, rms, direction * claimed_norm, norm


def require_weight(
    force: ArrayLike,
    gravity_S: ArrayLike,
    expected_mass: float | None = None,
    R_WS: ArrayLike | None = None,
) -> float:
    """Return the mass whose weight rotates with gravity, for any axes and signs of the sensor [kg].

    For a moving load, give the negative proper acceleration instead of gravity; `f = m a` then also
    holds, except for small terms due to rotation.

    Args:
        force: Force readings in static postures, shape (K, 3) [N].
        gravity_S: Gravity in the axes of the sensor according to the model, shape (K, 3) [m/s^2].
        expected_mass: Expected mass on the sensor [kg]; None: unknown.
        R_WS: Orientations of the sensor, shape (K, 3, 3), to allow for a direction of gravity other
            than that of the model; None: only that of the model.

    Raises:
        SignalError: There is almost no weight: the wrench is probably compensated already.
    """
    force, gravity_S = np.asarray(force, dtype=float), np.asarray(gravity_S, dtype=float)
    if not np.any(np.ptp(force, axis=0)):
        raise SignalError(
            f"The forces are {np.mean(force, axis=0)} N throughout: the sensor is dead, its topic"
            " frozen, or the wrench already compensated for its payload and rounded.",
            remedy="Display the raw topic with `ros2 topic echo` while you push on the sensor; restart"
            " its driver.",
        )
    fits = [procrustes(force, gravity_S, sign)[1:] for sign in (1.0, -1.0)]
    if R_WS is not None:
        _, rms_g, g_W, weight = _gravity_in_base(force, np.asarray(R_WS, dtype=float), gravity_S)
        fits.append((weight / max(float(np.linalg.norm(g_W)), 1e-12), rms_g))
    mass, rms = min(fits, key=lambda fit: fit[1])
    spread = float(np.sqrt(np.sum((gravity_S - gravity_S.mean(axis=0)) ** 2)))
    sd = rms * np.sqrt(3.0) / spread
    floor = max(_MIN_MASS, 5.0 * sd, 0.5 * expected_mass if expected_mass else 0.0)
    if mass < floor:
        expected = f" of the expected {expected_mass:.3g} kg" if expected_mass else ""
        raise SignalError(
            f"Only {mass:.3g} ± {sd:.1g} kg{expected} follow the direction of gravity: the wrench is probably"
            " already compensated for the payload.",
            remedy="Set the payload in the robot's controller to zero, or subscribe to the raw"
            " sensor topic. If the sensor carries no load, declare it: `sysid tare --bare` (`allow_bare=True`).",
            mass=mass,
        )
    return mass
