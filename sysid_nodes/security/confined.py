# SPDX-License-Identifier: Apache-2.0
"""Checks of paths received over the network: they must lie in permitted folders, and existing files
are never overwritten.

An absolute path is accepted if it lies below a permitted folder after links are followed, so that
the answer of one service (a bag's path) can be sent to another. This gives the caller no further
access; any other absolute path is refused.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Collection
from pathlib import Path

from sysid_core.errors import SysIdError

# Characters of a name, and of one of its parts; systems have 4096 and 255.
_LONGEST, _PART = 1000, 200


class PathError(SysIdError):
    """Error of a path that a service or an action may not use."""


def _is_sound(name: str) -> bool:
    """True if a name is valid for file systems and readable."""
    short = len(name) <= _LONGEST and all(len(part) <= _PART for part in Path(name).parts)
    return name.isprintable() and short


def _real(path: str | Path) -> Path:
    """Absolute path with its links followed; unlike `Path.resolve`, not an error for links in a circle."""
    return Path(os.path.realpath(path))


def inside(folder: str | Path, name: str, what: str) -> Path:
    """Return the path, which must lie below a permitted folder even after symbolic links are
    resolved.

    Args:
        folder: The configured folder.
        name: Requested path, relative to the folder.
        what: Kind of file, for the error message.

    Raises:
        PathError: The path is absolute, leaves the folder, or contains invalid characters.
    """
    root = _real(folder)
    bad = not name or name.startswith(("/", "-", "~")) or not _is_sound(name)
    path = root if bad else _real(root / name)
    if bad or ".." in Path(name).parts or path == root or not path.is_relative_to(root):
        raise PathError(
            f"{what} '{name[:200]}' is not permitted.",
            remedy=f"Give a name below '{root}', without '..'; the folder is a parameter of the node."
            "",
        )
    return path


def below(folder: str | Path, name: str) -> str:
    """Return the path relative to the folder; names that are not below the folder are returned
    unchanged.
    """
    root = _real(folder)
    if not name.startswith("/") or not _is_sound(name):
        return name
    full = _real(name)
    return str(full.relative_to(root)) if full.is_relative_to(root) and full != root else name


def _is_seen_below(folder: str | Path, name: str) -> bool:
    """True if a path relative to the working directory lies below a folder."""
    return below(folder, (seen := str(Path.cwd() / name))) != seen


def existing_inside(folders: str | Path | Collection[str], name: str, what: str) -> Path:
    """Return the existing regular file or folder below a permitted folder; absolute paths, and
    paths relative to the working directory of the node, are accepted.

    Args:
        folders: The permitted folder, or several of them.
        name: Requested path.
        what: Kind of file, for the error message.

    Raises:
        PathError: The path is not permitted, does not exist, or is a pipe or device.
    """
    if not folders:
        raise PathError(
            f"{what} '{name[:200]}' is not permitted, because no folder is permitted.",
            remedy="Set the parameter of the node that permits folders.",
        )
    several = [folders] if isinstance(folders, str | Path) else list(folders)
    folder = next((one for one in several if _may_lie_below(one, name)), several[0])
    path = inside(folder, below(folder, name), what)
    if not path.exists() and _is_seen_below(folder, name):
        path = inside(folder, below(folder, str(Path.cwd() / name)), what)
    if not (path.is_file() or path.is_dir()):
        raise PathError(
            f"{what} '{name[:200]}' is neither a file nor a folder below '{folder}'.",
            remedy="Check its name, and the node's parameter for that folder.",
        )
    return path


def _may_lie_below(folder: str | Path, name: str) -> bool:
    lies_below = below(folder, name) != name or _is_seen_below(folder, name)
    return lies_below or (_is_sound(name) and (Path(folder) / name).exists())


def new_inside(folder: str | Path, name: str, what: str) -> Path:
    """Return the new folder below a permitted folder; its default name is the date.

    An absolute path is accepted if it lies below the folder.

    Raises:
        PathError: The path is not permitted, or already exists.
    """
    path = inside(
        folder, below(folder, name) or f"{datetime.datetime.now():%Y%m%d_%H%M%S_%f}", what
    )
    if path.exists():
        raise PathError(
            f"{what} '{name[:200]}' exists and is not overwritten.", remedy="Give a new name."
        )
    return path
