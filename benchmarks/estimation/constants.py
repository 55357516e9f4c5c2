# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of the error on unseen motion to halving or doubling each number of the fit.

Physically consistent least squares with the friction of geared arms; the error is that of raw efforts
in motion, on the recordings' last third. Writes constants.json beside this file.

    python benchmarks/estimation/constants.py [FOLDER WITH dvrk_psm]
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sysid_core.estimation.arm import Identification, Processing
from sysid_core.estimation.fit import ConsistentLeastSquares, Weighting
from sysid_core.robot import FrictionModel, FrictionTerm, RobotModel
from sysid_core.robot.friction import GEARED_ARM_TERMS
from sysid_core.robot.loops import DrivenRobot, load_closed_chain
from sysid_core.signals import ColumnMap, Recording, read_table
from sysid_core.validation import Prediction

ROOT = Path(__file__).resolve().parents[2]
TERMS = (*GEARED_ARM_TERMS, FrictionTerm.BREAKAWAY)
FRICTION = ("coulomb_velocity", "stribeck_velocity", "play_width", "breakaway_width")
PROCESSING = ("rate_hz", "motion_cutoff_hz", "torque_cutoff_hz", "moving", "end_trim")


def data_sets(folder: Path | None) -> dict[str, tuple[RobotModel, ColumnMap, Recording]]:
    """A simulated UR5, and a surgical manipulator with closed loops if its data are available."""
    ur5 = ROOT / "examples" / "ur5"
    columns = ColumnMap.load(ur5 / "columns.yaml")
    model = RobotModel.from_urdf("ur5")
    out = {"UR5, simulated": (model, columns, read_table(ur5 / "train.csv", columns))}
    if folder is not None:
        psm = folder / "dvrk_psm"
        columns = ColumnMap.load(psm / "psm_spring.yaml")
        model = DrivenRobot.of(load_closed_chain(psm / "psm_loops.yaml"))
        out["dVRK PSM"] = (model, columns, read_table(psm / "one.csv", columns))
    return out


def error(
    model: RobotModel, columns: ColumnMap, run: Recording, changed: dict[str, float]
) -> float:
    """Relative error on the last third of a recording of a model fitted to the first two thirds."""
    first = run.joints.time < 2.0 / 3.0 * run.joints.time[-1]
    fitted, unseen = (replace(run, joints=run.joints.select(rows)) for rows in (first, ~first))
    drives = columns.drives.ordered(model.joint_names)
    friction = FrictionModel(drives, TERMS, **{k: changed[k] for k in FRICTION if k in changed})
    processing = Processing(**{k: changed[k] for k in PROCESSING if k in changed})
    estimator = ConsistentLeastSquares(weighting=Weighting.JOINT, prior_weight=10.0)
    found = Identification.of(model, [fitted], friction, estimator, processing)
    return Prediction.of(found, unseen).relative_error()


def main(folder: Annotated[Path | None, typer.Argument()] = None) -> None:
    """Vary every number on every data set."""
    sets = data_sets(folder)
    usual = {name: error(*data, {}) for name, data in sets.items()}
    table: dict[str, dict[str, object]] = {}
    for owner, keys in ((FrictionModel, FRICTION), (Processing, PROCESSING)):
        for key in keys:
            value = float(getattr(owner, key))
            effects = {
                name: [error(*data, {key: by * value}) / usual[name] - 1.0 for by in (0.5, 2.0)]
                for name, data in sets.items()
            }
            table[f"{owner.__name__}.{key}"] = {"value": value, "effects": effects}
    result = {"usual": usual, "numbers": table}
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
