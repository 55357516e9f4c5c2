# SPDX-License-Identifier: Apache-2.0
"""From a recipe and its files to a robot with recordings to fit and others to judge by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np

from sysid_core.diagnosis import collect_samples, estimate_gravity
from sysid_core.errors import BatchError
from sysid_core.files import FileKind, read_npz
from sysid_core.robot import DriveTrain, RobotModel, with_gravity
from sysid_core.signals import ColumnMap, EffortKind, JointStream, Recording
from sysid_core.workflows import drives_of, load_recording
from sysid_studies.bench.recipe import Part, Recipe

_NPZ = FileKind("recording", "Check the recipe.", BatchError)


@dataclass(frozen=True, eq=False)
class Split:
    """A robot and its recordings.

    Attributes:
        model: As it is mounted.
        drives: Gains and couplings.
        fitted: Recordings to fit.
        judged: Recordings that nothing is fitted to.
    """

    model: RobotModel
    drives: DriveTrain
    fitted: tuple[Recording, ...]
    judged: tuple[Recording, ...]


def read_split(recipe: Recipe, data: Path) -> Split:
    """Read what a recipe describes.

    Raises:
        SysIdError: A file that can't be read or used.
    """
    if recipe.robot is None:
        raise BatchError(f"'{recipe.name}' names no robot.", remedy="Add `robot:` to the recipe.")
    folder = data / recipe.folder
    name = recipe.robot.description
    places = (folder / name, Path(str(files("sysid_studies.bench") / "recipes" / name)))
    model = RobotModel.from_urdf(next((p for p in places if p.is_file()), name))
    model = model.with_locked(recipe.robot.lock)
    columns = ColumnMap.from_dict(recipe.columns, recipe.name) if recipe.columns else None
    if columns is not None and not columns.gains_known:
        columns = replace(columns, gains_known=True)  # all 1, which the recipe's note says
    fitted, judged = (
        tuple(_read(recipe, folder, part, columns, model) for part in parts)
        for parts in (recipe.fit, recipe.judge)
    )
    drives = drives_of(model, columns)
    if columns is not None and columns.gravity is not None:
        model = with_gravity(model, columns.gravity)
    if recipe.robot.gravity == "estimate":
        found = estimate_gravity(collect_samples(model, fitted, drives, count=800))
        model = with_gravity(model, found.gravity)
    return Split(model, drives, fitted, judged)


def _read(
    recipe: Recipe, folder: Path, part: Part, columns: ColumnMap | None, model: RobotModel
) -> Recording:
    if recipe.npz is not None:
        run = _read_arrays(recipe, folder / part.path, model.joint_names)
    else:
        run = load_recording(folder / part.path, columns, recipe.effort_kind)
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
    arrays = read_npz(path, _NPZ, [name for name in names if name])
    time, q = (np.asarray(arrays[name], dtype=float) for name in (spec.time, spec.position))
    v = np.asarray(arrays[spec.velocity], dtype=float) if spec.velocity else None
    if spec.controller is not None:
        c = spec.controller
        speed = np.gradient(q, time, axis=0) if v is None else v
        effort = c.kp * (np.asarray(arrays[c.target], dtype=float) - q) - c.kd * speed
    else:
        effort = np.asarray(arrays[spec.effort], dtype=float)
    keep = np.concatenate([[True], np.diff(time) > 0.0])
    stamps = np.round((time - time[0]) * 1e9).astype(np.int64)
    names_here = tuple(recipe.columns.get("joints", joints))
    stream = JointStream(
        names_here, stamps, q, v, effort=effort, effort_kind=EffortKind(recipe.effort_kind)
    )
    return Recording(stream.select(keep), source=str(path))
