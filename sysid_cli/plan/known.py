# SPDX-License-Identifier: Apache-2.0
"""What is known before a motion is planned: an estimate, a trajectory or a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sysid_core.errors import ExcitationError
from sysid_core.workflows import load_recording

if TYPE_CHECKING:
    from sysid_core.planning import Unknowns

RATE_HZ = 50.0  # of a trajectory's samples whose information is counted
MOVING = 0.01  # [rad/s or m/s], slower is standing still


def known_before(unknowns: Unknowns, path: Path, columns: Path | None = None) -> Unknowns:
    """The unknowns, once what a file shows is known.

    Args:
        unknowns: Before.
        path: `estimate.yaml` (its covariance counts), a trajectory that was played, or a recording
            (the information of the motion in it counts).
        columns: Column map, for recordings that are tables.

    Raises:
        ExcitationError: It is nothing of these, or about other parameters.
    """
    import numpy as np

    from sysid_core.diagnosis import RecordedMotion
    from sysid_core.estimation import Estimate
    from sysid_core.planning import Trajectory
    from sysid_core.signals import ColumnMap

    model = unknowns.model
    if path.suffix in (".yaml", ".yml") and not path.is_dir():
        estimate = Estimate.load(path)
        return unknowns.after(estimate.names, estimate.covariance)
    if path.suffix == ".npz":
        played = Trajectory.load(path)
        played.belongs_to(model)
        time = np.arange(played.time[0], played.time[-1], 1.0 / RATE_HZ)
        states = np.array([played.at(t) for t in time])
        states = states[:, :, model.columns_from(played.joint_names)]
        states = states[np.any(np.abs(states[:, 1]) > MOVING, axis=1)]
        q, v, a, duration = *np.moveaxis(states, 1, 0), len(states) / RATE_HZ
    else:
        run = load_recording(path, ColumnMap.load(columns) if columns else None)
        motion = RecordedMotion.of(model, run.joints)
        q, v, a, duration = motion.q, motion.v, motion.a, motion.duration
    if not len(q):
        raise ExcitationError(f"Nothing moves in '{path}'.", remedy="Leave it out of --after.")
    return unknowns.after_information(unknowns.information(q, v, a, duration))
