# SPDX-License-Identifier: Apache-2.0
"""Renewal of a stored tare: a new bias from one static posture, all else unchanged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.robot import Array
from sysid_core.signals.wrench.sensor import SensorCalibration, static_regressor
from sysid_core.signals.wrench.tare import StaticPostures

_MOST_DRIFT = (2.0, 0.1)  # [N], [N m]: more is an object in the gripper, or a new sensor
_SPREAD = 5.0  # standard deviations between postures


def retare(
    kept: SensorCalibration, postures: StaticPostures, *, temperature: float = float("nan")
) -> tuple[SensorCalibration, Array]:
    """Copy of a stored calibration with the current bias, measured with only the known tool on the
    sensor.

    Args:
        kept: From an earlier tare.
        postures: One still posture or more.
        temperature: Temperature of the sensor now [°C].

    Returns:
        The calibration, and by how much the bias has changed, shape (6,) [N, N m].

    Raises:
        SignalError: The readings changed by more than drift does, or differ between postures.
    """
    weight = static_regressor(postures.gravity_S) @ kept.tool_pi[:4]
    left = kept.net(postures.wrench, postures.R_WS, postures.p_WS) - weight
    each = kept.bias + left @ np.linalg.inv(kept.matrix).T
    change = each.mean(axis=0) - kept.bias
    most = np.repeat(_MOST_DRIFT, 3)
    sd = np.maximum(postures.noise / np.sqrt(postures.n_samples.min()), 0.01 * most)
    spread = np.abs(each - each.mean(axis=0)).max(axis=0)
    if np.any(np.abs(change) > most) or np.any(spread > np.maximum(_SPREAD * sd, 0.1 * most)):
        force, torque = np.abs(change[:3]).max(), np.abs(change[3:]).max()
        raise SignalError(
            f"The sensor reads {force:.2g} N and {torque:.2g} N m different from the tare, or depending on the posture: this is not a drift."
            "",
            remedy="Open the gripper; without a load, tare again in three tilted postures.",
        )
    covariance = np.array(kept.covariance)
    covariance[4:, 4:] += np.diag(sd**2) / max(len(each), 1)
    renewed = replace(
        kept,
        bias=kept.bias + change,
        covariance=covariance,
        stamp_ns=int(postures.start_ns.max()),
        temperature=temperature,
        notes=(*kept.notes, *postures.notes),
    )
    return renewed, change
