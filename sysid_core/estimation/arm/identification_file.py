"""The file that keeps an identified robot, so that it can predict again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sysid_core.errors import EstimationError
from sysid_core.estimation.arm.identify import Identification
from sysid_core.estimation.arm.recordings import Processing
from sysid_core.estimation.estimate import Estimate
from sysid_core.robot import DriveTrain, FrictionModel, FrictionTerm, RobotModel

SCHEMA = "robot_sysid/identified_robot/1"


def save_identification(identification: Identification, path: str | Path) -> None:
    """Write `parameters.yaml`: all parameters, friction terms, drives and processing.

    The estimate with its covariance has a file of its own (`Estimate.save`).
    """
    friction, drives = identification.friction, identification.friction.drives
    raw = {
        "schema": SCHEMA,
        "robot": identification.model.name,
        "urdf_hash": identification.model.urdf_hash,
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
            "couplings": {axis: dict(f) for axis, f in drives.couplings.items()},
            "waves": {
                kind: {axis: list(waves) for axis, waves in axes.items()}
                for kind, axes in drives.waves.items()
            },
        },
        "processing": dataclasses.asdict(identification.processing),
    }
    Path(path).write_text(yaml.safe_dump(raw, sort_keys=False, width=100), encoding="utf-8")


def load_identification(path: str | Path, model: RobotModel, estimate: Estimate) -> Identification:
    """Read what `save_identification` wrote.

    Args:
        path: Of `parameters.yaml`.
        model: The robot that was identified, from the same URDF. Joints that were locked then are
            locked in the result.
        estimate: From `estimate.yaml` beside it.

    Raises:
        EstimationError: Another kind of file, or another robot.
    """
    try:
        raw: Any = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as err:
        raise EstimationError(
            f"Can't read '{path}': {err}.", remedy="Give the folder that `sysid identify` wrote."
        ) from err
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        raise EstimationError(
            f"'{path}' is not an identified robot of schema {SCHEMA}.",
            remedy="Give the folder that `sysid identify` wrote.",
        )
    if model.urdf_hash and raw["urdf_hash"] and raw["urdf_hash"] != model.urdf_hash:
        raise EstimationError(
            f"'{path}' was identified with another URDF ({raw['urdf_hash']}) than this one"
            f" ({model.urdf_hash}).",
            remedy="Give the URDF that was used then.",
        )
    still_free = {name: q for name, q in raw.get("locked", {}).items() if name in model.joint_names}
    model = model.with_locked(still_free)
    f, d = raw["friction"], raw["drives"]
    drives = DriveTrain(
        tuple(d["joints"]),
        np.array(d["gain"]),
        d["couplings"],
        d["waves"],
    )
    friction = FrictionModel(
        drives,
        tuple(FrictionTerm(t) for t in f["terms"]),
        {a: tuple(FrictionTerm(t) for t in ts) for a, ts in f["own_terms"].items()},
        coulomb_velocity=f["coulomb_velocity"],
        stribeck_velocity=f["stribeck_velocity"],
        play_width=f["play_width"],
        breakaway_width=f["breakaway_width"],
    )
    return Identification(
        model,
        friction,
        Processing(**raw["processing"]),
        estimate,
        np.array(list(raw["parameters"].values()), dtype=float),
        tuple(raw["parameters"]),
    )
