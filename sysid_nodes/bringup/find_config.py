# SPDX-License-Identifier: Apache-2.0
"""Bringup files that come with the package."""

from __future__ import annotations

from pathlib import Path


def find_config(name: str | Path) -> Path:
    """A bringup file: a path, or the name of one that comes with the package."""
    path = Path(name)
    if path.is_file() or path.is_absolute():
        return path
    for folder in (_share() / "config", Path(__file__).resolve().parents[2] / "config"):
        if (folder / path.name).is_file():
            return folder / path.name
    return path


def _share() -> Path:
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        return Path(get_package_share_directory("robot_sysid"))
    except PackageNotFoundError:
        return Path()
