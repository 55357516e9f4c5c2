# SPDX-License-Identifier: Apache-2.0
"""Recipes: descriptions of public recordings with contents, source and division into training and
test data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, StrictBool

from sysid_core.diagnosis import collect_samples, estimate_gravity
from sysid_core.errors import BatchError
from sysid_core.files import (
    FileKind,
    FileSchema,
    Name,
    NotNegative,
    Number,
    Positive,
    hash_of,
)
from sysid_core.robot import DriveTrain, RobotModel
from sysid_core.signals import ColumnMap, Recording
from sysid_core.workflows import ArmData, inputs_of

_KIND = FileKind("recipe", "See sysid_studies/bench/recipes for examples.", BatchError)


class Part(FileSchema):
    """Recording, or part of a recording.

    Attributes:
        path: File or folder below the folder of the recipe.
        begin: First sample, as a fraction of the recording.
        end: Last sample, as a fraction of the recording.
    """

    path: Name
    begin: NotNegative = 0.0
    end: NotNegative = 1.0


class Published(FileSchema):
    """Result that others published for the same recordings.

    Attributes:
        method: Name of the method.
        error: Relative held-out error; None if another measure was published.
        says: Description of the measure, and of training and test data.
        source: Publication, issue or file with the value.
    """

    method: Name
    error: Number | None = None
    says: str = ""
    source: Name


class _Source(FileSchema):
    repository: Name
    commit: str = ""
    licence: str = "none given: not to be redistributed"
    paper: str = ""


class _File(FileSchema):
    path: Name
    sha256: Name


class _Robot(FileSchema):
    description: Name
    lock: dict[str, Number] = Field(default_factory=dict)
    rename: dict[str, str] = Field(default_factory=dict)
    gravity: Literal["urdf", "estimate"] = "urdf"


class _PositionController(FileSchema):
    """Efforts of a PD position controller, `kp (target - q) - kd v`: commanded, not measured."""

    target: Name
    kp: Positive
    kd: NotNegative


class _Npz(FileSchema):
    time: Name
    position: Name
    velocity: str = ""
    effort: str = ""
    controller: _PositionController | None = None


class Recipe(FileSchema):
    """Description of one set of public recordings.

    Attributes:
        name: Short name.
        title: Name of the robot, and place of the recording.
        kind: `arm`, `sensor` (force-torque), or `described` (a recording that cannot be used yet,
            with the reason).
        source: Repository, commit, licence and publication.
        folder: Folder below `--data`.
        files: Paths relative to the folder, with their sha256 hashes.
        robot: Robot description (a file in the folder or next to the recipes, or a robot of
            example-robot-data), and locked joints.
        efforts: Description of the efforts.
        effort_kind: Kind of the efforts, for bags and arrays.
        negate: For sensors: True if the readings are the wrench of the sensor on the load instead
            of that of the load on the sensor.
        columns: Column map, as for `--columns`.
        npz: Names of the arrays in an NPZ file.
        every: Step between the samples used; 1: all samples.
        fit: Training data.
        judge: Test data.
        published: Results published by others.
        note: Peculiarities of the data, in words.
    """

    schema_: Literal["robot_sysid/bench/1"] = Field(alias="schema")
    name: Name
    title: Name
    kind: Literal["arm", "sensor", "described"] = "arm"
    source: _Source
    folder: Name
    files: tuple[_File, ...] = ()
    robot: _Robot | None = None
    efforts: str = ""
    effort_kind: str = ""
    negate: StrictBool = False
    columns: dict[str, Any] = Field(default_factory=dict)
    npz: _Npz | None = None
    every: int = 1
    fit: tuple[Part, ...] = ()
    judge: tuple[Part, ...] = ()
    published: tuple[Published, ...] = ()
    note: str = ""


def load_recipe(path: str | Path) -> Recipe:
    """Load a recipe from a file.

    Raises:
        BatchError: The file is invalid; the message contains file, key and remedy.
    """
    return _KIND.read_schema(path, Recipe)


def load_recipes(names: Sequence[str] = ()) -> list[Recipe]:
    """Load the given recipe files, or all recipes of this package.

    Args:
        names: Names of shipped recipes, or paths.

    Raises:
        BatchError: A recipe is unknown.
    """
    folder = Path(str(files("sysid_studies.bench") / "recipes"))
    shipped = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    unknown = [name for name in names if name not in shipped and not Path(name).is_file()]
    if unknown:
        raise BatchError(
            f"There are no recipes {unknown}.",
            remedy=f"Shipped: {', '.join(shipped)}; or give a YAML file.",
        )
    return [load_recipe(shipped.get(name, Path(name))) for name in names or shipped]


def missing_files(recipe: Recipe, data: Path) -> list[str]:
    """Return the files of a recipe that do not exist below `data`."""
    folder = data / recipe.folder
    return [file.path for file in recipe.files if not (folder / file.path).exists()]


def wrong_files(recipe: Recipe, data: Path) -> list[str]:
    """Return the files whose hash differs from that in the recipe."""
    folder = data / recipe.folder
    return [f.path for f in recipe.files if hash_of(folder / f.path) != f.sha256]


_NPZ = FileKind("recording", "Check the recipe.", BatchError)


@dataclass(frozen=True, eq=False)
class Split:
    """Robot with its training and test recordings.

    Attributes:
        model: Model of the mounted robot.
        drives: Gains and couplings of the drives.
        fitted: Training recordings.
        judged: Test recordings.
    """

    model: RobotModel
    drives: DriveTrain
    fitted: tuple[Recording, ...]
    judged: tuple[Recording, ...]


def read_split(recipe: Recipe, data: Path) -> Split:
    """Read the robot and the recordings of a recipe.

    Raises:
        SysIdError: A file cannot be read, or its contents are invalid.
    """
    if recipe.robot is None:
        raise BatchError(f"'{recipe.name}' names no robot.", remedy="Add `robot:` to the recipe.")
    folder = data / recipe.folder
    model = RobotModel.from_urdf(_description(recipe.robot, folder))
    model = model.with_locked(recipe.robot.lock)
    columns = ColumnMap.from_dict(recipe.columns, recipe.name) if recipe.columns else None
    if columns is not None and not columns.gains_known:
        columns = replace(columns, gains_known=True)  # all 1, which the recipe's note says
    fitted, judged = (
        tuple(_read(recipe, folder, part, columns, model) for part in parts)
        for parts in (recipe.fit, recipe.judge)
    )
    drives = ArmData.drives(model, columns)
    if columns is not None and columns.gravity is not None:
        model = model.with_gravity(columns.gravity)
    if recipe.robot.gravity == "estimate":
        found = estimate_gravity(collect_samples(model, fitted, drives, count=800))
        model = model.with_gravity(found.gravity)
    return Split(model, drives, fitted, judged)


def _description(robot: _Robot, folder: Path) -> str:
    """File of a robot description, or the name of the robot."""
    name = robot.description
    places = (folder / name, Path(str(files("sysid_studies.bench") / "recipes" / name)))
    return str(next((p for p in places if p.is_file()), name))


def recipe_key(recipe: Recipe, data: Path, peers: bool) -> str:
    """Return the key of the results of a recipe, which changes with data, settings and code."""
    robot = _description(recipe.robot, data / recipe.folder) if recipe.robot else ""
    options = {"recipe": recipe.model_dump(mode="json"), "peers": peers, "robot": robot}
    return str(inputs_of(options)["key"])  # the recordings' hashes are in the recipe


def _read(
    recipe: Recipe, folder: Path, part: Part, columns: ColumnMap | None, model: RobotModel
) -> Recording:
    if recipe.npz is not None:
        run = _read_arrays(recipe, folder / part.path, model.joint_names)
    else:
        run = ArmData.recording(folder / part.path, columns, recipe.effort_kind)
    n = len(run.joints)
    joints = run.joints.select(slice(int(part.begin * n), int(part.end * n), recipe.every))
    names = recipe.robot.rename if recipe.robot else {}
    renamed = []
    for joint in joints.names:
        for old, new in names.items():
            joint = joint.replace(old, new)
        renamed.append(joint)
    return replace(run, joints=replace(joints, names=tuple(renamed)))


def _read_arrays(recipe: Recipe, path: Path, joints: Sequence[str]) -> Recording:
    spec = recipe.npz
    assert spec is not None
    names = [spec.time, spec.position, spec.velocity, spec.effort]
    names += [spec.controller.target] if spec.controller else []
    arrays = _NPZ.read_npz(path, [name for name in names if name])
    time, q = (np.asarray(arrays[name], dtype=float) for name in (spec.time, spec.position))
    v = np.asarray(arrays[spec.velocity], dtype=float) if spec.velocity else None
    if spec.controller is not None:
        c = spec.controller
        speed = np.gradient(q, time, axis=0) if v is None else v
        effort = c.kp * (np.asarray(arrays[c.target], dtype=float) - q) - c.kd * speed
    else:
        effort = np.asarray(arrays[spec.effort], dtype=float)
    keep = np.concatenate([[True], np.diff(time) > 0.0])
    names_here = tuple(recipe.columns.get("joints", joints))
    return Recording.from_arrays(
        names_here,
        (time - time[0])[keep],
        q[keep],
        None if v is None else v[keep],
        effort=effort[keep],
        effort_kind=recipe.effort_kind,
        source=str(path),
    )
