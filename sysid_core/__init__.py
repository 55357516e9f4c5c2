# SPDX-License-Identifier: Apache-2.0
"""Identification of robots and payloads: pure Python, no ROS.

Rooms, in the order in which data flow (a room imports only those before it):
files, batch, robot, controller_payload, identifiability, planning, execution, signals, estimation, diagnosis,
simulation, control, validation, export, report, servos, workflows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sysid_core.servos import ServoModel

__version__ = "0.1.0"


def load(folder: str | Path) -> ServoModel:
    """The model that a command wrote into a folder: `load(folder).simulate(t_target, target, t, q0)`.

    Args:
        folder: The command's `--out`.

    Raises:
        ModelError: There is none, or it is damaged.
    """
    from sysid_core.servos import load_servos  # numba, pinocchio: a second that not all need

    return load_servos(folder)
