# SPDX-License-Identifier: Apache-2.0
"""What recordings say of a force-torque sensor and of temperatures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin

from sysid_core.robot import RobotModel
from sysid_core.signals import Recording, interpolate_at
from sysid_core.signals.bags import build_typestore, message_decoder, open_bag
from sysid_core.signals.wrench import WRENCH_AXES, static_regressor

_SLOW = 0.05  # [rad/s]: slower, the load's weight is all that the sensor feels
_LEAST, _MOST = 50, 400  # samples
_LONGEST_GAP = 0.1  # [s]
_DISTINCT = 1e-3  # of the largest singular value: postures tell weight and bias apart
_TEMPERATURE = "sensor_msgs/msg/Temperature"


def sensor_values(
    model: RobotModel, run: Recording, mass: float | None
) -> dict[str, tuple[float, float, str, str]]:
    """Bias of every axis, and the gain by a known mass, from slow samples.

    Args:
        model: The robot, which has the sensor's frame.
        run: A recording.
        mass: On the sensor [kg]; None: no gain.

    Returns:
        Name to (value, deviation, unit, verdict); empty without sensor, or where the postures
        don't separate weight and bias.
    """
    if run.wrench is None or not model.pin_model.existFrame(run.wrench.frame):
        return {}
    stream = run.joints.ordered(model.joint_names)
    when = stream.stamps_ns
    wrench = run.wrench
    v = np.gradient(stream.q, stream.time, axis=0) if stream.v is None else stream.v
    inside = (when >= wrench.stamps_ns[0]) & (when <= wrench.stamps_ns[-1])
    slow = np.flatnonzero(np.all(np.abs(v) < _SLOW, axis=1) & inside)
    if len(slow) < _LEAST:
        return {}
    still = len(slow) * float(np.median(np.diff(stream.time)))  # [s]
    slow = slow[:: max(1, len(slow) // _MOST)]
    readings, near = interpolate_at(
        when[slow], wrench.stamps_ns, wrench.wrench, max_gap_s=_LONGEST_GAP
    )
    slow, readings = slow[near], readings[near]
    if len(slow) < _LEAST:
        return {}
    data, frame = model.pin_model.createData(), model.frame_id(wrench.frame)
    gravity = np.empty((len(slow), 3))
    for k, q in enumerate(stream.q[slow]):
        pin.framesForwardKinematics(model.pin_model, data, q)
        gravity[k] = data.oMf[frame].rotation.T @ model.gravity
    load = static_regressor(gravity)  # (K, 6, 4)
    A = np.concatenate([load, np.broadcast_to(np.eye(6), (len(slow), 6, 6))], axis=2)
    A = A.reshape(-1, 10)
    sizes = np.linalg.svd(A / np.linalg.norm(A, axis=0), compute_uv=False)
    if sizes[-1] < _DISTINCT * sizes[0]:
        return {}
    x, *_ = np.linalg.lstsq(A, readings.ravel(), rcond=None)
    left = (readings.ravel() - A @ x).reshape(-1, 6)
    repeats = max(1.0, len(slow) / still)  # samples within a second repeat each other
    rows = np.repeat(np.std(left, axis=0)[None, :], len(slow), axis=0).ravel() + 1e-12
    P = np.linalg.pinv((A / rows[:, None]).T @ (A / rows[:, None])) * repeats
    sd = np.sqrt(np.diag(P))
    out = {
        f"sensor.bias_{axis}": (float(x[4 + k]), float(sd[4 + k]), unit, "identifiable")
        for k, (axis, unit) in enumerate(zip(WRENCH_AXES, ["N"] * 3 + ["N m"] * 3, strict=True))
    }
    if mass:
        out["sensor.gain"] = (float(x[0]) / mass, float(sd[0]) / mass, "1", "identifiable")
    return out


def temperature_of(path: Path, topic: str) -> float | None:
    """Mean of a bag's `sensor_msgs/Temperature` topic [deg C]; None: no topic, or no message."""
    if not topic:
        return None
    decode = message_decoder(build_typestore({}), _TEMPERATURE)
    found = [
        float(decode(message.data).temperature) for message in open_bag(path).messages([topic])
    ]
    finite = [value for value in found if np.isfinite(value)]
    return float(np.mean(finite)) if finite else None
