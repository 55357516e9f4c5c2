# SPDX-License-Identifier: Apache-2.0
"""A payload in the words of the vendors' own settings, and what their rounding leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.controller_payload.payload import ControllerPayload
from sysid_core.kinds import Kind
from sysid_core.robot import Array

_G = 9.80665  # [m/s^2]
_ALPHA = 1.0  # [rad/s^2], of the motion for which an inertia that isn't set is counted


class Make(Kind):
    """Makes of robots whose controllers take a payload."""

    UR = "UR"
    FRANKA = "Franka"
    XARM = "xArm"


@dataclass(frozen=True, eq=False)
class ControllerSetting:
    """What to type, or to send, for one vendor.

    Attributes:
        vendor: Make of the robot.
        text: The call, with numbers as the controller keeps them.
        kept: What the controller then believes.
        error_torque: Largest torque about the flange that the rest leaves: weight in any posture,
            and the inertia that isn't set, at 1 rad/s^2 [N m].
    """

    vendor: Make
    text: str
    kept: ControllerPayload
    error_torque: float


def controller_settings(payload: ControllerPayload) -> tuple[ControllerSetting, ...]:
    """The payload for UR, Franka and xArm.

    Args:
        payload: On the flange, in its axes.
    """
    m, c, inertia = payload.mass, payload.com, payload.inertia
    tensor = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    column = inertia.T.ravel()  # column by column
    mm = 1e3 * c
    texts = {
        Make.UR: (
            f"set_target_payload({m:.3f}, [{_row(c, 4)}], [{_row(np.array(tensor), 6)}])",
            ControllerPayload(round(m, 3), c.round(4), inertia.round(6)),
        ),
        Make.FRANKA: (
            f"SetLoad(mass={m:.3f}, F_x_center_load=[{_row(c, 4)}],"
            f" load_inertia=[{_row(column, 6)}])",
            ControllerPayload(round(m, 3), c.round(4), inertia.round(6)),
        ),
        Make.XARM: (
            f"set_tcp_load({m:.3f}, [{_row(mm, 1)}])  # kg, mm; no inertia",
            ControllerPayload(round(m, 3), mm.round(1) * 1e-3, np.zeros((3, 3))),
        ),
    }
    return tuple(
        ControllerSetting(vendor, text, kept, remaining_torque(payload, kept))
        for vendor, (text, kept) in texts.items()
    )


def remaining_torque(payload: ControllerPayload, kept: ControllerPayload) -> float:
    """Torque about the flange that a controller's payload leaves uncompensated [N m].

    `g |m c - m' c'|` in the worst posture, and `|I - I'| 1 rad/s^2` where the inertia differs.
    """
    weight = _G * float(np.linalg.norm(payload.pi[1:4] - kept.pi[1:4]))
    return weight + _ALPHA * float(np.linalg.norm(payload.inertia - kept.inertia, 2))


def _row(values: Array, digits: int) -> str:
    return ", ".join(f"{x + 0.0:.{digits}f}" for x in np.asarray(values))
