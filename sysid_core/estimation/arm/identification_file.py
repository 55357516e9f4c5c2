# SPDX-License-Identifier: Apache-2.0
"""File of an identified robot, with which predictions can be repeated."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, field_validator

from sysid_core.errors import EstimationError, SysIdError
from sysid_core.estimation.arm.identify import Identification
from sysid_core.estimation.arm.recordings import Processing
from sysid_core.estimation.estimate import Estimate
from sysid_core.files import (
    FileKind,
    FileSchema,
    Name,
    Number,
    Positive,
    Vector3,
    read_schema,
    write_yaml,
)
from sysid_core.robot import (
    DriveTrain,
    FrictionModel,
    FrictionTerm,
    RobotModel,
    Spring,
    SpringLaw,
    inertial_parameter_names,
    with_gravity,
)

SCHEMA = "robot_sysid/identified_robot/1"
_FILE = FileKind(
    "identified robot", "Give the folder that `sysid identify` wrote.", EstimationError
)


def save_identification(identification: Identification, path: str | Path) -> None:
    """Write `parameters.yaml`: all parameters, friction terms, drives and processing.

    The estimate with its covariance has a file of its own (`Estimate.save`).
    """
    friction, drives = identification.friction, identification.friction.drives
    raw = {
        "schema": SCHEMA,
        "robot": identification.model.name,
        "urdf_hash": identification.model.urdf_hash,
        "gravity": identification.model.gravity.tolist(),
        "locked": {name: float(q) for name, q in identification.model.locked.items()},
        "method": identification.estimate.method,
        "parameters": dict(
            zip(identification.names, identification.parameters.tolist(), strict=True)
        ),
        "friction": {
            "terms": [term.value for term in friction.terms],
            "own_terms": {a: [t.value for t in ts] for a, ts in friction.own_terms.items()},
            "coulomb_velocity": friction.coulomb_velocity,
            "stribeck_velocity": friction.stribeck_velocity,
            "play_width": friction.play_width,
            "breakaway_width": friction.breakaway_width,
        },
        "drives": {
            "joints": list(drives.joint_names),
            "gain": drives.gains.tolist(),
            "springs": [
                {**dataclasses.asdict(spring), "law": spring.law.value} for spring in drives.springs
            ],
            "couplings": {axis: dict(f) for axis, f in drives.couplings.items()},
            "waves": {
                kind: {axis: list(waves) for axis, waves in axes.items()}
                for kind, axes in drives.waves.items()
            },
        },
        "processing": dataclasses.asdict(identification.processing),
    }
    write_yaml(path, raw)


def load_identification(path: str | Path, model: RobotModel, estimate: Estimate) -> Identification:
    """Read an identification written by `save_identification`.

    Args:
        path: `parameters.yaml`.
        model: The robot that was identified, from the same URDF. Joints that were locked then are
            locked in the result.
        estimate: What `estimate.yaml` beside it holds.

    Raises:
        EstimationError: Another kind of file, or another robot.
    """
    file = read_schema(path, _File, _FILE)
    if model.urdf_hash and file.urdf_hash and file.urdf_hash != model.urdf_hash:
        raise EstimationError(
            f"'{path}' was identified with another URDF ({file.urdf_hash}) than this one"
            f" ({model.urdf_hash}).",
            remedy="Give the URDF that was used for the identification.",
        )
    try:
        model = model.with_locked({j: q for j, q in file.locked.items() if j in model.joint_names})
        if file.gravity is not None:
            model = with_gravity(model, file.gravity)
        drives = DriveTrain(
            file.drives.joints,
            np.array(file.drives.gain),
            file.drives.couplings,
            file.drives.waves,
            tuple(Spring(**dict(spring)) for spring in file.drives.springs),
        )
        friction = FrictionModel(drives, **dict(file.friction))
    except SysIdError as err:
        raise _FILE.refusal(path, err.message, err.remedy) from err
    names = (*inertial_parameter_names(model), *friction.names)
    missing = [name for name in names if name not in file.parameters]
    unknown = [name for name in file.parameters if name not in names]
    if missing or unknown:
        raise _FILE.refusal(
            path,
            f"`parameters` lacks {missing} and has {unknown}, which '{model.name}' has not"
            if unknown
            else f"`parameters` lacks {missing}",
        )
    values = np.array([file.parameters[name] for name in names])
    return Identification(model, friction, file.processing, estimate, values, names)


class _Friction(FileSchema):
    terms: tuple[FrictionTerm, ...]
    own_terms: dict[str, tuple[FrictionTerm, ...]]
    coulomb_velocity: Positive
    stribeck_velocity: Positive
    play_width: Positive
    breakaway_width: Positive


class _Spring(FileSchema):
    axis: Name
    law: SpringLaw
    preload: Number
    stiffness: Number
    stroke: Number
    exponent: Number
    anchors: tuple[Positive, Positive] | None
    zero: Number
    identified: bool


class _Drives(FileSchema):
    joints: tuple[Name, ...]
    gain: list[Number]
    couplings: dict[str, dict[str, Number]]
    waves: dict[str, dict[str, list[Number]]]
    springs: tuple[_Spring, ...] = ()


class _File(FileSchema):
    schema_: Literal["robot_sysid/identified_robot/1"] = Field(alias="schema")
    robot: str
    urdf_hash: str
    gravity: Vector3 | None = None
    locked: dict[str, Number] = Field(default_factory=dict)
    method: str
    parameters: dict[str, Number]
    friction: _Friction
    drives: _Drives
    processing: Processing

    @field_validator("processing", mode="before")
    @classmethod
    def _named_as_today(cls, raw: object) -> object:
        """Rename the key `max_gap` of older files to `max_gap_s`."""
        if isinstance(raw, dict) and "max_gap" in raw:
            return {("max_gap_s" if key == "max_gap" else key): x for key, x in raw.items()}
        return raw
