# SPDX-License-Identifier: Apache-2.0
"""What is known before a motion is planned: an estimate, a trajectory or a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sysid_core.errors import ExcitationError
from sysid_core.pipeline import load_recording

if TYPE_CHECKING:
    from sysid_core.excitation import Unknowns

RATE_HZ = 50.0  # of the samples whose information is counted
MAX_GAP = 0.2  # [s] between samples of a recording
MOVING = 0.01  # [rad/s or m/s], slower is standing still


def known_before(unknowns: Unknowns, path: Path, columns: Path | None = None) -> Unknowns:
    """The unknowns, once what a file tells is known.

    Args:
        unknowns: Before.
        path: `estimate.yaml` (its covariance counts), a trajectory that was played, or a recording
            (the information of the motion in it counts).
        columns: Column map, for recordings that are tables.

    Raises:
        ExcitationError: It is nothing of these, or about other parameters.
    """
    import numpy as np

    from sysid_core.estimation import Estimate
    from sysid_core.excitation import Trajectory
    from sysid_core.signals import ColumnMap, in_order
    from sysid_core.signals.filters import ZeroPhaseFilter, smooth_motion, split_at_gaps

    model = unknowns.model
    if path.suffix in (".yaml", ".yml") and not path.is_dir():
        estimate = Estimate.load(path)
        return unknowns.after(estimate.names, estimate.covariance)
    if path.suffix == ".npz":
        played = Trajectory.load(path)
        played.belongs_to(model)
        time = np.arange(played.time[0], played.time[-1], 1.0 / RATE_HZ)
        motion = np.array([played.at(t) for t in time])[
            :, :, model.columns_from(played.joint_names)
        ]
        q, v, a = motion[:, 0], motion[:, 1], motion[:, 2]
    else:
        run = load_recording(path, ColumnMap.load(columns) if columns else None)
        model.columns_from(run.joints.names)  # refuses another robot's recording
        spans = split_at_gaps(in_order(run.joints)[0], MAX_GAP)
        parts = [
            smooth_motion(span, RATE_HZ, ZeroPhaseFilter(8.0)).ordered(model.joint_names)
            for span in spans
            if len(span) > RATE_HZ
        ]
        q, v, a = (
            np.concatenate(
                [np.asarray(getattr(p, key)) for p in parts] or [np.empty((0, model.nv))]
            )
            for key in ("q", "v", "a")
        )
    moving = np.any(np.abs(v) > MOVING, axis=1)
    if not moving.any():
        raise ExcitationError(f"Nothing moves in '{path}'.", remedy="Leave it out of --after.")
    duration = float(np.count_nonzero(moving)) / RATE_HZ
    return unknowns.after_information(
        unknowns.information(q[moving], v[moving], a[moving], duration)
    )
