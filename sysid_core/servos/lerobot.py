# SPDX-License-Identifier: Apache-2.0
"""Episodes of LeRobot datasets, versions 2.0 to 3.0: `action` are commands, `observation.state` are
positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import SignalError
from sysid_core.files import FileKind, read_json
from sysid_core.servos.recording import ServoRecording

KIND = FileKind(
    "LeRobot dataset", "Give its folder, with meta/info.json and data/*.parquet.", SignalError
)
_COLUMNS = ["action", "observation.state", "timestamp", "episode_index"]
_POSITION = ".pos"  # behind the names of positions since version 2.1, beside velocities of a base
# A revolute joint's state beyond a turn is in degrees, LeRobot's unit (`use_degrees`, and all
# datasets before version 2.1).
_TURN = 2 * np.pi


def is_lerobot(folder: Path) -> bool:
    """True if a folder is a LeRobot dataset."""
    return (folder / "meta" / "info.json").is_file()


def read_lerobot(
    path: Path, wanted: frozenset[str], percent: bool = False
) -> Iterator[ServoRecording]:
    """Episodes of a LeRobot dataset, named `episode_000000` and so on.

    Args:
        path: The dataset's folder, or one of its Parquet files.
        wanted: Names of the episodes wanted; empty: all.
        percent: Whether the positions are shares of the joints' ranges, which stay as they are.

    Raises:
        SignalError: It can't be read, or pyarrow isn't installed.
    """
    info: dict[str, Any] = read_json(path / "meta" / "info.json", KIND) if path.is_dir() else {}
    features = info.get("features", {})
    commanded, seen = (_names(features.get(key, {}).get("names")) for key in _COLUMNS[:2])
    files = sorted((path / "data").rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise KIND.refusal(path, "there is no Parquet file in its folder data")
    for file in files:
        table = _table(file)
        for episode in np.unique(table["episode_index"]):
            name = f"episode_{int(episode):06d}"
            if wanted and name not in wanted:
                continue
            rows = table["episode_index"] == episode
            t = table["timestamp"][rows]
            joints, target, q = _both(
                commanded, seen, table["action"][rows], table["observation.state"][rows]
            )
            notes: tuple[str, ...] = ()
            full: tuple[tuple[float, float] | None, ...] = ()
            if not percent and max(np.abs(q).max(), np.abs(target).max()) > _TURN:
                notes = (
                    "The dataset's angles are beyond a turn: they were taken as degrees; if they are"
                    " LeRobot's -100 to 100, give --percent.",
                )
                full = tuple(GRIPPER if is_gripper(joint) else None for joint in joints)
                arm = [i for i, _ in enumerate(joints) if not full[i]] if joints else slice(None)
                q[:, arm], target[:, arm] = np.radians(q[:, arm]), np.radians(target[:, arm])
            yield ServoRecording(name, joints, t, q, t, target, notes, full)


GRIPPER = (0.0, 100.0)  # closed and open, in LeRobot's degrees as in its normalised values


def is_gripper(joint: str) -> bool:
    """True if LeRobot gives a joint in the range 0 to 100, as for all grippers."""
    return joint.split(".")[0].endswith("gripper")


def _both(
    commanded: tuple[str, ...], seen: tuple[str, ...], action: Any, state: Any
) -> tuple[tuple[str, ...], Any, Any]:
    """Names, commands and positions of the joints that have both, in the commands' order."""
    if not commanded or not seen or len(commanded) != action.shape[1]:
        return commanded, action, state
    only = any(name.endswith(_POSITION) for name in commanded)
    both = [j for j in commanded if j in seen and (j.endswith(_POSITION) or not only)]
    if not both:
        return commanded, action, state
    columns = [commanded.index(j) for j in both], [seen.index(j) for j in both]
    return tuple(both), action[:, columns[0]], state[:, columns[1]]


def _names(names: Any) -> tuple[str, ...]:
    """Names of the joints: a list, or a list behind one key (version 2)."""
    if isinstance(names, dict):
        names = next(iter(names.values()), None)
    return tuple(map(str, names)) if isinstance(names, list) else ()


def _table(file: Path) -> dict[str, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as err:
        raise SignalError(
            "LeRobot's datasets are Parquet files, and pyarrow isn't installed.",
            remedy="Install it: pip install 'robot_sysid[parquet]'.",
        ) from err
    try:
        there = set(pq.read_schema(file).names)
        missing = [name for name in _COLUMNS[:3] if name not in there]
        if missing:
            raise KIND.refusal(file, f"it has no column {', '.join(missing)}: {sorted(there)}")
        table = pq.read_table(file, columns=[name for name in _COLUMNS if name in there])
    except (pa.ArrowException, OSError) as err:
        raise KIND.refusal(file, f"it is damaged or no Parquet file ({err})") from err
    out: dict[str, Any] = {
        name: np.array(table.column(name).to_pylist(), dtype=float) for name in table.column_names
    }
    out.setdefault("episode_index", np.zeros(len(out["timestamp"])))
    return out
