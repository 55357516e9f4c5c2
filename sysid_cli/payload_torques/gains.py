# SPDX-License-Identifier: Apache-2.0
"""Drive gains of an arm without force-torque sensor, and how well they are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.robot import Array, RobotModel
    from sysid_core.signals import ColumnMap


def gain_deviations(model: RobotModel, columns: ColumnMap | None, given: float | None) -> Array:
    """Relative standard deviation of each gain, (n,): as given, of the column map, or 5 %."""
    import numpy as np

    if given is None and columns is not None and columns.gain_sd is not None:
        return np.array([columns.gain_sd[columns.joints.index(j)] for j in model.joint_names])
    return np.full(model.nv, 0.05 if given is None else given)


def target_gains(
    model: RobotModel,
    recordings: list[Path],
    columns: ColumnMap | None,
    current: str,
    torque: str,
) -> Array:
    """Drive gains that the controller itself uses, from the first recording, robot's order."""
    from dataclasses import replace

    from sysid_core.estimation.loaded_arm import drive_gains_from_targets
    from sysid_core.signals import read_table

    if columns is None or not (current and torque):
        raise SignalError(
            "Gains from the controller's targets need a table, a column map and both"
            " --target-current and --target-torque.",
            remedy="For the UR10e tables: --target-current 19-24 --target-torque 25-30.",
        )
    streams = [
        read_table(
            recordings[0], replace(columns, effort=column_range(text, len(columns.joints)))
        ).joints.ordered(model.joint_names)
        for text in (current, torque)
    ]
    (desired, v), torques = (streams[0].effort, streams[0].v), streams[1].effort
    if desired is None or torques is None or v is None:
        raise SignalError(
            f"'{recordings[0]}' has no velocities.",
            remedy="They separate the controller's friction compensation from its model torque.",
        )
    return drive_gains_from_targets(desired, torques, v).gains


def column_range(text: str, n: int) -> tuple[int, ...]:
    """Columns `19-24`, both ends included."""
    try:
        first, last = (int(part) for part in text.split("-"))
    except ValueError as err:
        raise SignalError(
            f"'{text}' is not a range of columns.", remedy="Write FIRST-LAST, such as 19-24."
        ) from err
    if last - first + 1 != n:
        raise SignalError(
            f"Columns {text} are {last - first + 1}, the robot has {n} joints.",
            remedy="Columns are counted from 0; both ends belong to the range.",
        )
    return tuple(range(first, last + 1))
