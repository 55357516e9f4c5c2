"""How commands find recordings: a bag, or a table with its column map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sysid_core.errors import SignalError

if TYPE_CHECKING:
    from sysid_core.robot import Drives, RobotModel
    from sysid_core.signals import ColumnMap, EffortKind, Recording


def is_bag(path: Path) -> bool:
    """Whether a path is a rosbag2 recording rather than a table."""
    if path.is_dir():  # a killed logger leaves no metadata.yaml
        return (path / "metadata.yaml").exists() or any(path.glob("*.mcap"))
    return path.suffix in (".mcap", ".db3")


def load_recording(path: Path, columns: ColumnMap | None, effort_kind: str = "") -> Recording:
    """Read a bag or a table.

    Args:
        path: What the user gave.
        columns: Needed for tables; for bags it may declare what the efforts mean.
        effort_kind: Declared on the command line; wins for bags.

    Raises:
        SignalError: It can't be read.
    """
    from sysid_core.signals import read_bag, read_table

    if not path.exists():
        raise SignalError(f"There is no recording '{path}'.", remedy="Check the path.")
    if is_bag(path):
        kind: EffortKind | None = columns.effort_kind if columns else None
        if effort_kind:
            kind = _kind(effort_kind)
        return read_bag(path, effort_kind=kind)
    if columns is None:
        raise SignalError(
            f"'{path}' is a table: a column map has to say what is in it.",
            remedy="Give --columns; start from one of config/columns/*.yaml.",
        )
    return read_table(path, columns)


def drives_of(model: RobotModel, columns: ColumnMap | None) -> Drives:
    """Drives in the robot's order of joints; without a column map, efforts are torques."""
    from sysid_core.robot import Drives

    return (
        columns.drives.ordered(model.joint_names) if columns else Drives.direct(model.joint_names)
    )


def _kind(text: str) -> EffortKind:
    from sysid_core.signals import EffortKind

    try:
        return EffortKind(text)
    except ValueError as err:
        raise SignalError(
            f"Effort kind '{text}' is unknown.",
            remedy=f"One of {', '.join(k.value for k in EffortKind)}.",
        ) from err
