# SPDX-License-Identifier: Apache-2.0
"""Reading of recordings: a bag, or a table with its column map."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from sysid_core.diagnosis import require_joints
from sysid_core.errors import EstimationError, SignalError
from sysid_core.estimation.arm import Processing
from sysid_core.robot import DriveTrain, RobotModel
from sysid_core.robot.loops import ClosedChain, DrivenRobot
from sysid_core.signals import (
    ColumnMap,
    EffortKind,
    JointStream,
    Recording,
    interpolate_at,
    read_table,
)
from sysid_core.signals.bags import read_bag


def is_bag(path: Path) -> bool:
    """True if a path is a rosbag2 recording rather than a table."""
    if path.is_dir():  # a killed logger leaves no metadata.yaml
        return (path / "metadata.yaml").exists() or any(path.glob("*.mcap"))
    return path.suffix in (".mcap", ".db3")


def load_recording(
    path: Path, columns: ColumnMap | None, effort_kind: str = "", model: RobotModel | None = None
) -> Recording:
    """Load a recording from a bag or a table.

    Args:
        path: What the user gave.
        columns: Needed for tables; for bags it may declare what the efforts mean.
        effort_kind: Declared on the command line; wins for bags.
        model: The robot; of bags of a closed chain, its driven joints and encoders are read.

    Raises:
        SignalError: It can't be read.
    """
    if not path.exists():
        raise SignalError(f"There is no recording '{path}'.", remedy="Check the path.")
    if is_bag(path):
        kind: EffortKind | None = columns.effort_kind if columns else None
        if effort_kind:
            kind = _kind(effort_kind)
        if isinstance(model, DrivenRobot):
            return _read_loop_bag(path, model.chain, kind)
        run = read_bag(path, effort_kind=kind)
        return run if columns is None else replace(run, joints=columns.without_unused(run.joints))
    if columns is None:
        folder = path.is_dir()
        raise SignalError(
            f"'{path}' is a folder without a bag."
            if folder
            else f"'{path}' is a table and needs a column map.",
            remedy="Give a rosbag2 folder, a table, or a folder of tables with --columns MAP."
            if folder
            else "Give --columns MAP; `sysid init TABLE --robot URDF` writes one to start from.",
        )
    return read_table(path, columns)


def samples_key(run: Recording) -> str:
    """Hash of a recording's positions and efforts, independent of its file."""
    found = hashlib.sha256()
    for values in (run.joints.q, run.joints.effort):
        found.update(np.ascontiguousarray(0.0 if values is None else values + 0.0).tobytes())
    return found.hexdigest()


def require_unseen(judging: Iterable[Recording], fitted: Mapping[str, str]) -> None:
    """Raise an error if a recording for validation was fitted, whatever its file name.

    Args:
        judging: Recordings that are predicted.
        fitted: Sources of those that were fitted, by `samples_key`.

    Raises:
        EstimationError: With the first pair.
    """
    for run in judging:
        source = fitted.get(samples_key(run))
        if source is not None:
            raise EstimationError(
                f"'{run.source}' holds the samples of '{source}', which was fitted: it cannot be used for validation.",
                remedy="Give a recording of another motion, or omit it.",
            )


def _read_loop_bag(
    path: str | Path, chain: ClosedChain, effort_kind: EffortKind | None
) -> Recording:
    """A bag's driven joints, and those passive ones that have an encoder, mapped by name.

    What the bag says of the efforts of passive joints (NaN, zero, nothing) doesn't matter. Where
    other messages than the driven joints' carry them, they are interpolated.

    Args:
        path: rosbag2 folder or file.
        chain: The mechanism.
        effort_kind: As in `read_bag`.

    Raises:
        SignalError: No bag, or joints are missing.
    """
    driven = read_bag(path, joints=chain.actuated, effort_kind=effort_kind)
    if not chain.measured:
        return driven
    a, b = driven.joints, read_bag(path, joints=chain.measured, effort_kind=effort_kind).joints
    gap = Processing().max_gap_s
    q, known = interpolate_at(a.stamps_ns, b.stamps_ns, b.q, max_gap_s=gap)
    v = None
    if a.v is not None and b.v is not None:
        v = np.hstack([a.v, interpolate_at(a.stamps_ns, b.stamps_ns, b.v, max_gap_s=gap)[0]])
    joints = JointStream(
        names=(*chain.actuated, *chain.measured),
        stamps_ns=a.stamps_ns,
        q=np.hstack([a.q, q]),
        v=v,
        effort=None if a.effort is None else np.hstack([a.effort, np.zeros_like(q)]),
        effort_kind=a.effort_kind,
    )
    return replace(driven, joints=joints.select(known))


def drives_of(model: RobotModel, columns: ColumnMap | None, *, gains: bool = True) -> DriveTrain:
    """Drives in the order of the robot's joints; without a column map, efforts count as torques.

    Args:
        model: The robot.
        columns: What is known of the drives.
        gains: Whether they must be known.

    Raises:
        SignalError: Gains are unknown, or a sliding joint is measured in an angle.
        ModelError: A joint of the robot is missing.
    """
    if columns is None:
        return DriveTrain.direct(model.joint_names)
    require_joints(model, columns.joints, "the column map")
    if gains and not columns.gains_known:
        raise SignalError(
            "The column map says that the drives' gains are unknown.",
            remedy="Estimate them from runs with a known load: `sysid identify … --loaded"
            " RECORDING --load-mass KG --load-frame FRAME`.",
        )
    scales = np.broadcast_to(columns.position_scale, len(columns.joints))
    angles = [
        name
        for name in model.prismatic_joints
        if scales[columns.joints.index(name)] not in (1.0, 1e-3)
    ]
    if angles:
        raise SignalError(
            f"The prismatic joints {angles} have an angular unit in the column map.",
            remedy="Give `unit` as a list, such as [deg, deg, m], with one for each joint.",
        )
    return columns.drives.ordered(model.joint_names)


def _kind(text: str) -> EffortKind:
    try:
        return EffortKind(text)
    except ValueError as err:
        raise SignalError(
            f"Effort kind '{text}' is unknown.",
            remedy=f"One of {', '.join(k.value for k in EffortKind)}.",
        ) from err
