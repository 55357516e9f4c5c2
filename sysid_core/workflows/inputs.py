# SPDX-License-Identifier: Apache-2.0
"""Provenance of a result: input files with their hashes, settings, and result.json."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sysid_core.errors import EstimationError, ModelError, SysIdError
from sysid_core.files import FileKind, hash_of
from sysid_core.robot import RobotModel, example_robots
from sysid_core.settings import Settings, build_settings, plain_settings

_MAY_NAME_FILES = ("robot", "description", "loops", "columns", "shape")  # options that are text


def inputs_of(settings: Any, **more: Sequence[Path]) -> dict[str, Any]:
    """Return the entry `inputs` of result.json: files with hashes, options, and the key that
    identifies the computation.

    Args:
        settings: Settings of a workflow, as a dataclass or plain data.
        more: Further files by role; they replace files of the settings with the same role.
    """
    options = dict(settings) if isinstance(settings, Mapping) else plain_settings(settings)
    options = {name: _placed(name, value) for name, value in options.items()}
    roles = {name: _files_in(name, value) for name, value in options.items()} | more
    files = [file for role, paths in roles.items() for file in hashed(role, paths)]
    return {
        "robot": options.get("robot", ""),
        "files": files,
        "options": options,
        "key": work_key(options, files),
    }


def _words(name: str, value: Any) -> list[str]:
    """Words of an option that may be file names; a path with blanks is one word."""
    if name not in _MAY_NAME_FILES or not isinstance(value, str):
        return []
    return [value] if Path(value).is_file() else value.split()


def _placed(name: str, value: Any) -> Any:
    """Option with absolute paths, so that it is valid in another folder too."""
    words = _words(name, value)
    if not any(Path(word).is_file() for word in words):
        return value
    return " ".join(str(Path(w).resolve()) if Path(w).is_file() else w for w in words)


def _files_in(name: str, value: Any) -> list[Path]:
    """Files given by an option."""
    if isinstance(value, list):
        return [path for one in value for path in _files_in(name, one)]
    if isinstance(value, Mapping):
        return [Path(value["path"])] if set(value) == {"path"} else []
    return [path for path in map(Path, _words(name, value)) if path.is_file()]


def _without_files(value: Any, paths: Collection[str]) -> Any:
    """Option without the paths of its files, whose content is hashed instead."""
    if isinstance(value, list):
        return [_without_files(one, paths) for one in value]
    if isinstance(value, Mapping):
        return {} if set(value) == {"path"} else value
    if not isinstance(value, str):
        return value
    words = [value] if value in paths else value.split()
    rest = [word for word in words if word not in paths]
    return value if len(rest) == len(words) else " ".join(rest)


def work_key(options: Mapping[str, Any], files: Sequence[Mapping[str, str]]) -> str:
    """Return the key that identifies a computation; it changes with its data, settings or code.

    Files contribute to the key by their content, independently of path and date; robots of
    example-robot-data by their description.

    Args:
        options: Settings as plain data, as in `inputs_of`.
        files: Role, path and sha256 of each file, in order.
    """
    paths = {file["path"] for file in files if "path" in file}
    kept = {name: _without_files(value, paths) for name, value in options.items()}
    content = {
        "options": kept
        | {name: _described(kept[name]) for name in ("robot", "description") if name in kept},
        "files": [[file["role"], file["sha256"]] for file in files],
        "code": code_hash(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _described(robot: str) -> str:
    try:
        return RobotModel.from_urdf(robot).urdf_hash if robot else ""
    except ModelError:  # it is told where it is read
        return robot


@cache
def code_hash() -> str:
    """Return the SHA-256 of the source code of this version, on which results depend besides data
    and settings.
    """
    whole = hashlib.sha256()
    for package in ("sysid_core", "sysid_fleet", "sysid_studies"):
        spec = find_spec(package)
        for place in (spec and spec.submodule_search_locations) or ():
            for file in sorted(Path(place).rglob("*.py")):
                whole.update(f"{package}/{file.relative_to(place).as_posix()}\0".encode())
                whole.update(file.read_bytes())
    return whole.hexdigest()


def hashed(role: str, paths: Sequence[Path]) -> list[dict[str, str]]:
    """Return the files with their SHA-256, as entries of result.json."""
    # realpath, since Path.resolve raises for links in a circle, which hash_of refuses
    return [{"role": role, "path": os.path.realpath(p), "sha256": hash_of(p)} for p in paths]


def paths_by_role(listed: Sequence[Mapping[str, str]]) -> dict[str, list[Path]]:
    """Return the paths of the entries by role."""
    out: dict[str, list[Path]] = {}
    for file in listed:
        out.setdefault(file["role"], []).append(Path(file["path"]))
    return out


RESULT = FileKind(
    "result", "Give the folder that `sysid identify` wrote with this version.", EstimationError
)


def mesh_places(robot: str) -> tuple[Path, ...]:
    """Return the folders that may contain the meshes of a robot: that of its description, if this
    is a file.
    """
    description = Path(example_robots().get(robot, robot))
    return (description.resolve().parent,) if description.is_file() else ()


def recorded_settings(
    folder: Path, kind: type[Settings], data: Path | None = None
) -> tuple[Settings, tuple[Mapping[str, str], ...]]:
    """Return the settings of a stored result, with the present paths of its files, and the files.

    Args:
        folder: Result folder with result.json.
        kind: Class of the settings.
        data: Folder to search for files that are not at their stored path; None: none.

    Raises:
        SysIdError: The file is not a result, or inputs are missing or have changed.
    """
    result = RESULT.read_json(folder / "result.json")
    inputs = result.get("inputs") if isinstance(result, dict) else None
    if not (isinstance(inputs, dict) and inputs.get("options") and inputs.get("files")):
        raise RESULT.refusal(folder / "result.json", "does not list its input files")
    try:
        files = tuple(_found(file, data) for file in inputs["files"])
        places = {
            file["path"]: Path(now["path"])
            for file, now in zip(inputs["files"], files, strict=True)
        }
    except (KeyError, TypeError, AttributeError) as err:
        raise _other_form(folder, err) from err
    try:
        return build_settings(kind, inputs["options"], places), files
    except (SysIdError, KeyError, TypeError, AttributeError) as err:
        raise _other_form(folder, err) from err


def _other_form(folder: Path, err: Exception) -> SysIdError:
    return RESULT.refusal(
        folder / "result.json", f"lists its input files in another form than this version ({err})"
    )


def _found(file: Mapping[str, str], data: Path | None) -> Mapping[str, str]:
    """Path of the file: the stated one, or below the folder with data; its content must be the
    same.
    """
    path = Path(file["path"])
    places = [path, *(sorted(data.rglob(path.name)) if data is not None else [])]
    here = next((place for place in places if place.exists()), None)
    if here is None:
        raise EstimationError(
            f"'{path}', an input of the result, was not found.",
            remedy="Give its present folder: --data FOLDER.",
        )
    if hash_of(here) != file["sha256"]:
        raise EstimationError(
            f"'{here}' has changed since the result was computed.",
            remedy="Identify again, or give the folder with the original file: --data FOLDER.",
        )
    return {**file, "path": str(here.resolve())}
